// Measures the CPU time of a relayed EAP round beside that of a password at a first-factor server (`deno task bench relay`).

import { parseArgs } from "node:util";
import { createHash, createHmac } from "node:crypto";
import { startProgram } from "../support/program.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { CODES, TYPES } from "../support/radius_numbers.ts";
import { addTotpUsers, BENCH_DISK, BENCH_PASSWORD, BENCH_SECRET } from "./gateway.ts";
import { cpuSeconds } from "./process_figures.ts";
import { formatNumber, median, readRounds, ROUND_WORDS } from "./report.ts";

const HELP =
  `Measures the CPU time that the gateway needs for a relayed EAP round, and for a password that a RADIUS server checks.

  deno task bench relay [--rounds <n>] [--quick]

  --rounds <n>   Rounds with both measurements, 1 to 50 (default: 5).
  --quick        Run two short rounds, to check that the benchmark works.
  --help         Show this help.

The client and the first-factor server are part of this program and do not count.`;

const MAX_RATIO = 1.5;
const EAP_MESSAGE = 79;
const [EAP_REQUEST, EAP_RESPONSE] = [1, 2];
const [IDENTITY, PEAP] = [1, 25];
/** Rounds of a login, as PEAP with a certificate has. */
const ROUNDS_PER_LOGIN = 8;
/** A fragment of a TLS handshake: FreeRADIUS sends 1024 octets. */
const FRAGMENT_OCTETS = 1000;
const AT_ONCE = 32;

const settings = (port: number) => `
[server]
log_level = "warn"
[[radius.client]]
name = "bench"
address = ["127.0.0.1"]
secret = "${BENCH_SECRET}"
first_factor = "radius"
first_factor_server = { address = "127.0.0.1:${port}", secret = "${BENCH_SECRET}", timeout_ms = 10000 }
unknown_users = "allow"
eap_outer_identity = "reply"
`;

interface AuthServer extends Disposable {
  readonly port: number;
}

/** Accepts each password, and answers EAP with the next fragment. */
function startAuthServer(): AuthServer {
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const serve = async () => {
    for await (const [request, from] of socket) await socket.send(answerOf(request), from);
  };
  void serve();
  return { port: (socket.addr as Deno.NetAddr).port, [Symbol.dispose]: () => socket.close() };
}

function answerOf(request: Uint8Array): Uint8Array {
  let eapId = -1;
  for (let at = 20; at + 2 <= request.length; at += request[at + 1] || request.length) {
    if (request[at] === EAP_MESSAGE && eapId < 0) eapId = request[at + 3] ?? 0;
  }
  const attributes = [80, 18, ...new Array<number>(16).fill(0)];
  if (eapId >= 0) {
    attributes.push(TYPES.state, 18, ...crypto.getRandomValues(new Uint8Array(16)));
    for (const part of split(eapPacket(EAP_REQUEST, eapId + 1, PEAP, FRAGMENT_OCTETS))) {
      attributes.push(EAP_MESSAGE, part.length + 2, ...part);
    }
  }
  const bytes = new Uint8Array(20 + attributes.length);
  bytes.set([eapId < 0 ? CODES.accessAccept : CODES.accessChallenge, request[1] ?? 0]);
  new DataView(bytes.buffer).setUint16(2, bytes.length);
  bytes.set(request.subarray(4, 20), 4);
  bytes.set(attributes, 20);
  bytes.set(createHmac("md5", BENCH_SECRET).update(bytes).digest(), 22);
  bytes.set(createHash("md5").update(bytes).update(BENCH_SECRET).digest(), 4);
  return bytes;
}

function eapPacket(code: number, id: number, type: number, data: number | Uint8Array): Uint8Array {
  const octets = typeof data === "number" ? new Uint8Array(data) : data;
  const length = 5 + octets.length;
  return Uint8Array.of(code, id & 0xff, length >>> 8, length & 0xff, type, ...octets);
}

function split(octets: Uint8Array): Uint8Array[] {
  const parts = Math.ceil(octets.length / 253);
  return Array.from({ length: parts }, (_, at) => octets.subarray(at * 253, at * 253 + 253));
}

/** The requests of one login. Throws if one is not answered with an Access-Challenge. */
type Login = (client: ReturnType<typeof openRadiusClient>, at: number) => Promise<void>;

function nameOf(at: number): string {
  return `user${String(at).padStart(5, "0")}`;
}

/** The password is right, and the gateway asks for the code. */
const passwordLogin: Login = async (client, at) => {
  const { code } = await client.ask({ userName: nameOf(at), password: BENCH_PASSWORD, nasPort: at + 1 });
  if (code !== CODES.accessChallenge) throw new Error(`A password was answered with the code ${code}`);
};

const eapLogin: Login = async (client, at) => {
  const userName = nameOf(at);
  let eap = eapPacket(EAP_RESPONSE, 1, IDENTITY, new TextEncoder().encode(userName));
  let state: Uint8Array | null = null;
  for (let round = 0; round < ROUNDS_PER_LOGIN; round++) {
    const more = split(eap).map((value) => ({ type: EAP_MESSAGE, value }));
    const reply = await client.ask({ userName, nasPort: at + 1, more, ...state === null ? {} : { state } });
    const first = reply.attributes.find(({ type }) => type === EAP_MESSAGE)?.value;
    if (reply.code !== CODES.accessChallenge || first === undefined) {
      throw new Error(`An EAP round was answered with the code ${reply.code}`);
    }
    state = reply.state;
    // An acknowledgement: flags without data.
    eap = eapPacket(EAP_RESPONSE, first[1] ?? 0, PEAP, 1);
  }
};

/** The gateway's CPU time for each request, in microseconds. */
async function cpuOf(
  login: Login,
  { logins, requests }: { logins: number; requests: number },
): Promise<number> {
  using server = startAuthServer();
  const dataDir = await Deno.makeTempDir({ dir: BENCH_DISK, prefix: "countersign-bench-" });
  await addTotpUsers(dataDir, { users: logins });
  const gateway = await startProgram({ toml: settings(server.port), dataDir });
  try {
    const run = async (from: number, to: number) => {
      let next = from;
      const work = async () => {
        using client = openRadiusClient({ port: gateway.radiusPort, secret: BENCH_SECRET });
        while (next < to) await login(client, next++);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    };
    const warmUp = Math.round(logins / 5);
    await run(0, warmUp);
    const before = await cpuSeconds(gateway.pid);
    await run(warmUp, logins);
    return (await cpuSeconds(gateway.pid) - before) * 1e6 / ((logins - warmUp) * requests);
  } finally {
    await gateway.dispose();
    await Deno.remove(dataDir, { recursive: true });
  }
}

export async function runRelayBench(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: ROUND_WORDS });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const { rounds } = readRounds(values, { quickRounds: 2 });
  const logins = values.quick === true ? 1000 : 5000;
  const results: { readonly password: number; readonly relayed: number }[] = [];
  for (let round = 1; round <= rounds; round++) {
    const password = await cpuOf(passwordLogin, { logins, requests: 1 });
    const relayed = await cpuOf(eapLogin, { logins, requests: ROUNDS_PER_LOGIN });
    results.push({ password, relayed });
    console.log(
      `round ${round}/${rounds}  password ${formatNumber(password, 0)} µs  round ${
        formatNumber(relayed, 0)
      } µs`,
    );
  }
  const [password, relayed] = [
    median(results.map((one) => one.password)),
    median(results.map((one) => one.relayed)),
  ];
  const ratio = relayed / password;
  console.log(`\nCPU of a password at a first-factor server  ${formatNumber(password, 0)} µs`);
  console.log(`CPU of a relayed EAP round                  ${formatNumber(relayed, 0)} µs`);
  const met = ratio <= MAX_RATIO ? "met" : "not met";
  console.log(
    `ratio                                       ${formatNumber(ratio, 2)} (at most ${MAX_RATIO}: ${met})`,
  );
  return 0;
}
