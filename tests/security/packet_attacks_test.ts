// Attacks with RADIUS packets: floods, unsigned packets and requests, and replies that are larger than their question.

import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { randomBytes } from "node:crypto";
import { buildRequest, CODES, type RequestParts } from "../support/radius_packets.ts";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { PROGRAM_FLAGS, type RunningProgram, startProgram } from "../support/program.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { runProgram } from "../support/child.ts";
import { openSession } from "./attack_world.ts";

// Findings 6 and 17: a flood of small unsigned datagrams evicted the login in progress, filled memory, log and disk,
// and made the gateway send ten times as many octets to an invented source address.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const FLOOD = 20_000;
/**
 * The limits of a source that does not prove the secret: a burst, and a rate per second
 * (radius/server/unsigned_requests.ts).
 */
const BURST = 100;
const PER_SECOND = 50;
/** Datagrams that the kernel may lose. */
const MAX_LOST = FLOOD * 0.1;
const MIB = 1024 * 1024;

Deno.test("06: a flood of unsigned logins is refused for its source, and does not affect a login in progress", async () => {
  const pairings = [["alice", { kind: "device", id: "pairing-of-alice", totpLength: 6 }]] as const;
  await using world = await startProgramWithServices({ pairings });
  const { gateway } = world;
  using alice = openSession(gateway, { userName: "alice", nasPort: 7 });
  assertEquals((await alice.login()).step, DEVICE);

  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort };
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  using barrier = gateway.client();
  const startedMs = performance.now();
  for (let count = 0; count < FLOOD; count++) {
    const userName = `u${count.toString(36).padStart(4, "0")}`;
    const identifier = count & 255;
    await socket.send(
      buildRequest("unknown", { userName, identifier, messageAuthenticator: "none" }).bytes,
      to,
    );
    // The kernel drops datagrams that do not fit into its buffer, but the flood must arrive.
    if (count % 200 === 199) await barrier.ask({ code: 12 });
  }
  socket.close();
  // A slow machine needs longer for the flood, so more of it is within the limit.
  const allowed = BURST + PER_SECOND * Math.ceil((performance.now() - startedMs) / 1000);
  const limited = await gateway.metric('dropped_total{reason="rate_limited"}');
  assert(limited >= FLOOD - allowed - MAX_LOST, `${limited} of ${FLOOD} were refused, ${allowed} may pass`);
  assert(await gateway.metric("conversations_live") <= allowed + 1, "and the login of alice");
  assert(await gateway.metric("resident_memory_bytes") < 300 * MIB);
  assert(gateway.logLines().length < 5 * allowed, `${gateway.logLines().length} lines, ${allowed} may pass`);
  await gateway.logged("too many unsigned requests came from this source address");

  world.secondFactor.decide(world.secondFactor.initiated()[0]?.id ?? "", { granted: true });
  assertEquals((await alice.answer("")).kind, "accept");
  // A client with the secret is served at once, also unsigned.
  using bob = openSession(gateway, { userName: "bob", nasPort: 9, messageAuthenticator: "none" });
  assertEquals((await bob.login("open sesame")).kind, "challenge");
});

Deno.test("17: a reply to an invented source address is small, and few replies are sent to it", async () => {
  await using world = await startProgramWithServices();
  const { gateway } = world;
  // A packet with a password comes first: its proof does not apply to the next one.
  using known = openSession(gateway, { userName: "known", messageAuthenticator: "none" });
  assertEquals((await known.login("open sesame")).kind, "challenge");
  using reflected = gateway.client();
  const packets = Array.from(
    { length: 256 },
    (_, identifier) =>
      buildRequest("unknown", { userName: "a", identifier, messageAuthenticator: "none" }).bytes,
  );
  using heard = reflected.listen();
  let sentOctets = 0;
  for (let round = 0; round < 8; round++) {
    for (const bytes of packets) {
      await reflected.sendRaw(bytes);
      sentOctets += bytes.length;
    }
    await eventually("the round arrived", async () => {
      const arrived = await gateway.metric('dropped_total{reason="rate_limited"}') +
        await gateway.metric("requests_total");
      return arrived >= (round + 1) * packets.length * 0.9;
    });
  }
  // A challenge is sent after its commit, which a slow disk delays.
  await eventually("a reply to an invented address", () => Promise.resolve(heard.datagrams.length > 0));
  using barrier = gateway.client();
  await barrier.ask({ code: 12 });
  const replies = heard.datagrams;
  const largest = Math.max(...replies.map(({ length }) => length));
  assertEquals([replies.length > 0, packets[0]?.length], [true, 23]);
  assert(largest <= 23 * 6.6, `${largest} octets for 23`);
  const octets = replies.reduce((sum, reply) => sum + reply.length, 0);
  assert(octets < sentOctets, `${octets} octets were sent for ${sentOctets}`);
  console.log(
    `17: one reply has ${largest} octets for 23; in all ${sentOctets} octets in, ${octets} out`,
  );
});

// Finding 17: a short question without a signature, which anyone can send with an invented source address, got a reply of six times its size.

const MAX_FACTOR = 3;
const NAS_IP_ADDRESS = 4;
const STATE = 24;
const PROXY_STATE = 33;
const text = (value: string) => new TextEncoder().encode(value);
const state = (value: string) => ({ type: STATE, value: text(value) });

/** Requests without a signature and without a password, with what they get. */
const QUESTIONS: readonly (readonly [string, Partial<RequestParts>, "challenge" | "no text" | "reject"])[] = [
  ["nothing", {}, "reject"],
  ["a name of one octet", { userName: "a" }, "reject"],
  ["a name of ten octets", { userName: "abcdefghij" }, "no text"],
  ["a name and the address of a NAS", {
    userName: "alice",
    more: [{ type: NAS_IP_ADDRESS, value: Uint8Array.of(192, 0, 2, 9) }],
  }, "no text"],
  ["a name and a Proxy-State", { userName: "a", more: [{ type: PROXY_STATE, value: text("p") }] }, "reject"],
  ["a name and an unknown State", { userName: "a", more: [state("x")] }, "reject"],
  ["a name and the State of a menu", { userName: "a", more: [state("CHOOSE_WHICH_MULTIFACTOR")] }, "reject"],
  ["a name and a port", { userName: "alice", nasPort: 1 }, "challenge"],
  ["a long name", { userName: "a".repeat(64) }, "challenge"],
  ["what a client sends", { userName: "alice", nasPort: 2, callingStationId: "198.51.100.7" }, "challenge"],
];

const CLIENTS = {
  "any address": "",
  "a network": clientAt('"0.0.0.0/0"'),
  "an address and a network": clientAt('"192.0.2.1", "127.0.0.0/29"'),
};

function clientAt(addresses: string): string {
  return `[[radius.client]]\nname = "vpn"\naddress = [${addresses}]\nsecret = "a-secret-of-the-tests"\n`;
}

for (const [who, toml] of Object.entries(CLIENTS)) {
  Deno.test(`the reply to an unsigned question has at most three times its octets, and a real one still gets the menu: ${who}`, () =>
    askAll(toml));
}

async function askAll(toml: string): Promise<void> {
  await using gateway = await startProgram({ toml });
  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort };
  for (const [at, [what, parts, expected]] of QUESTIONS.entries()) {
    const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
    const request = { userName: undefined, identifier: at, messageAuthenticator: "none", ...parts } as const;
    const { bytes } = buildRequest("unknown", request);
    await socket.send(bytes, to);
    const [reply] = await socket.receive();
    socket.close();
    assert(reply.length <= MAX_FACTOR * bytes.length, `${what}: ${reply.length} for ${bytes.length}`);
    const code = expected === "reject" ? CODES.accessReject : CODES.accessChallenge;
    assertEquals(reply[0], code, what);
    if (expected === "challenge") {
      assertMatch(new TextDecoder().decode(reply), /S phone, T text, P call, D code/);
    }
    if (what === "what a client sends") {
      assertMatch(new TextDecoder().decode(reply), /Type cancel to start over\. /);
    }
  }
}

// Finding 3: packets of which anyone can make as many as they like locked users, used up their pushes, and ended their
// logins.

const SEED = "JBSWY3DPEHPK3PXP";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const GARBLED_PACKETS = 15;
const unsigned = { messageAuthenticator: "none" } as const;
const pairings = [
  ["alice", { kind: "totp", seed: fromBase32(SEED) }],
  ["bob", { kind: "device", id: "pairing-of-bob", totpLength: 6 }],
  ["carol", { kind: "sms", number: "+14155550123" }],
] as const;
const code = () => totpCode(fromBase32(SEED), Date.now());

Deno.test("03: a garbled password locks no user, sends nothing, and ends no login", async () => {
  await using world = await startProgramWithServices({ pairings });
  const { gateway } = world;
  const place = { nasPort: 7 };
  using alice = openSession(gateway, { userName: "alice", ...place });
  assertEquals((await alice.login()).step, CODE);
  using attacker = gateway.client();
  const refused = () => gateway.metric('refused_total{reason="garbled_password"}');
  const send = async (userName: string, state?: string) => {
    // Without the secret the revealed password is garbled. The few that are text by chance are omitted: two octets 0xff
    // are no UTF-8, and with the last one, a random zero is not more padding.
    const password = new Uint8Array(randomBytes(15));
    password[0] = password[14] = 0xff;
    const more = state === undefined ? {} : { state: new TextEncoder().encode(state) };
    await attacker.sendRaw(attacker.build({ userName, password, ...place, ...unsigned, ...more }).bytes);
  };
  for (let count = 0; count < GARBLED_PACKETS; count++) {
    for (const user of ["alice", "bob", "carol"]) await send(user);
    await send("alice", CODE);
  }
  await eventually("all of it is refused", async () => await refused() === GARBLED_PACKETS * 4);
  assertEquals([world.secondFactor.initiated().length, world.telephony.requests.length], [0, 0]);
  assertEquals((await alice.answer(code())).kind, "accept");
});

Deno.test("03: an unsigned packet cannot answer, join or replace a login that began with a signed one", async () => {
  await using world = await startProgramWithServices({ pairings });
  const place = { userName: "alice", nasPort: 7 };
  using alice = openSession(world.gateway, place);
  using attacker = openSession(world.gateway, { ...place, ...unsigned });
  assertEquals((await alice.login()).step, CODE);
  // The name is known, so ten wrong codes would lock the user.
  const answers = await Promise.all(Array.from({ length: 12 }, () => attacker.forge(CODE, "000000")));
  assertEquals(new Set(answers.map(({ kind }) => kind)), new Set(["reject"]));
  const own = await attacker.login("open sesame");
  assertEquals(own.step, CODE);
  assertNotEquals(own.token, "");
  assertEquals((await alice.answer(code())).kind, "accept");
});

Deno.test("03: an unsigned login with a readable password is served as before", async () => {
  await using world = await startProgramWithServices({ pairings });
  using alice = openSession(world.gateway, { userName: "alice", nasPort: 8, ...unsigned });
  const challenge = await alice.login("pässword");
  assertEquals([challenge.step, challenge.token], [CODE, ""]);
  assertEquals((await alice.answer(code())).kind, "accept");
});

Deno.test("03: a packet that does not prove the secret ends no login that began unsigned, and voids no passcode", async () => {
  await using world = await startProgramWithServices({ pairings });
  const place = { userName: "alice", nasPort: 7, ...unsigned };
  using alice = openSession(world.gateway, place);
  using attacker = world.gateway.client();
  assertEquals((await alice.login()).step, CODE);
  const state = new TextEncoder().encode(CODE);
  const answer = await attacker.ask({ ...place, state });
  // The prompt is repeated, and the login is unchanged.
  assertEquals([answer.code, answer.state], [CODES.accessChallenge, state]);
  assertEquals((await alice.answer(code())).kind, "accept");
});

Deno.test("03: a password that is readable by chance does not help to hide others under the same Request Authenticator", async () => {
  await using world = await startProgramWithServices({ pairings });
  const place = { userName: "bob", nasPort: 9, ...unsigned };
  using client = world.gateway.client();
  const authenticator = new Uint8Array(randomBytes(16));
  const garbled = new Uint8Array(16).fill(0xff);
  const readable = await client.ask({ ...place, authenticator, password: "readable" });
  assertEquals(readable.code, CODES.accessChallenge);
  // An attacker who guesses the key stream soon sends an unreadable password; from then on nothing is read under this
  // authenticator.
  assertEquals((await client.ask({ ...place, authenticator, password: garbled })).code, CODES.accessReject);
  assertEquals((await client.ask({ ...place, authenticator, password: "other" })).code, CODES.accessReject);
  assertEquals(
    (await client.ask({ ...place, nasPort: 10, password: "another authenticator" })).code,
    CODES.accessChallenge,
  );
});

// Attack: unsigned requests from the address of a client that signs; and requests that must not make the gateway refuse
// unsigned logins.

const STATUS_SERVER = 12;
const ACCESS_ACCEPT = 2;
const EAP_MESSAGE = 79;
const DROPPED = 'dropped_total{reason="missing_message_authenticator"}';
const ROOT = new URL("../../", import.meta.url).pathname;
const TOML = `
[[radius.client]]
name = "net"
address = ["127.0.0.0/8", "::1"]
secret = "a-secret-of-the-attack"
`;
let nasPorts = 1;

/** The result of a request: the code of its reply, or "dropped" when the gateway has counted that. */
async function ask(gateway: RunningProgram, parts: RequestParts): Promise<number | "dropped"> {
  using builder = gateway.client();
  const before = await gateway.metric(DROPPED);
  const { bytes } = builder.build({ userName: "alice", nasPort: nasPorts++, ...parts });
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  let code: number | null = null;
  const received = socket.receive().then(([reply]) => void (code = reply[0] ?? 0), (fault: unknown) => {
    // The socket is closed when the gateway has counted the drop.
    if (!(fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted)) throw fault;
  });
  try {
    await socket.send(bytes, { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort });
    for (const end = performance.now() + 60_000; performance.now() < end;) {
      if (code !== null) return code;
      if (await gateway.metric(DROPPED) > before) return "dropped";
    }
    throw new Error("The request was neither answered nor dropped");
  } finally {
    socket.close();
    await received;
  }
}

const SIGNED: RequestParts = { password: "" };
const UNSIGNED: RequestParts = { password: "", messageAuthenticator: "none" };

Deno.test("an address of a network that signs cannot be used without a signature, also after kill -9; the command resets it", async () => {
  await using gateway = await startProgram({ toml: TOML });
  assertStringIncludes(gateway.logLines().join("\n"), "unsigned requests of net are accepted");

  // Status-Server and EAP are always signed: they must not lock out unsigned logins.
  const eap = { type: EAP_MESSAGE, value: Uint8Array.of(2, 1, 0, 5, 1) };
  assertEquals(await ask(gateway, { more: [eap] }), CODES.accessReject);
  assertEquals(await ask(gateway, { code: STATUS_SERVER, userName: undefined }), ACCESS_ACCEPT);
  assertEquals(await ask(gateway, UNSIGNED), CODES.accessChallenge);

  assertEquals(await ask(gateway, SIGNED), CODES.accessChallenge);
  assertStringIncludes(
    await gateway.logged("this address signs its requests"),
    "deno task client forget net",
  );
  assertEquals(await ask(gateway, UNSIGNED), "dropped");
  await gateway.kill9();
  await gateway.restart();
  assertEquals(await ask(gateway, UNSIGNED), "dropped");

  const { code, stdout } = await runProgram(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      ...PROGRAM_FLAGS,
      `${ROOT}cli/client.ts`,
      "forget",
      "net",
    ],
    cwd: ROOT,
    env: { COUNTERSIGN_CONFIG: gateway.configPath, NO_COLOR: "1" },
  });
  assertEquals(code, 0);
  assertStringIncludes(stdout, 'Client "net" can send unsigned requests again');
  assertEquals(await ask(gateway, UNSIGNED), CODES.accessChallenge);
});
