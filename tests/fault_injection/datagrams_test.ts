// The real program and senders of datagrams: from port 0, from unknown addresses, with a wrong secret, and ten thousand
// altered ones. It stays silent where it must, logs it once, counts all of it, and keeps running.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { buildRequest, CODES, readReply } from "../support/radius_packets.ts";
import { createMutator, isValid, type Mutated } from "./mutations.ts";
import { unhandledLines } from "./unhandled_lines.ts";

let gateway: RunningProgram;
let nasPort = 0;

const SECRET = "the-secret-of-this-file";

Deno.test.beforeAll(async () => {
  gateway = await startProgram({
    toml: `
[[radius.client]]
name = "loop"
address = ["127.0.0.1"]
secret = "${SECRET}"
[[radius.client]]
name = "strict"
address = ["127.0.0.3"]
secret = "${SECRET}"
message_authenticator = "require"
`,
  });
});
Deno.test.afterAll(() => gateway.dispose());

async function assertGoesOn(): Promise<void> {
  using client = gateway.client();
  const reply = await client.ask({ userName: "ada", password: "x", nasPort: ++nasPort });
  assertEquals([reply.code, reply.problems], [CODES.accessChallenge, []]);
}

/** A socket on another address of this host. */
function socketOn(hostname: string): Deno.DatagramConn {
  return Deno.listenDatagram({ transport: "udp", hostname, port: 0 });
}

const linesWith = (text: string) => gateway.logLines().filter((line) => line.includes(text)).length;

/** Sends one datagram to 127.0.0.1 from port 0, which an ordinary socket cannot. */
const FROM_PORT_ZERO = `
use Socket;
socket(my $raw, PF_INET, SOCK_RAW, 17) or die "socket: $!";
my $payload = pack("H*", $ARGV[1]);
my $datagram = pack("nnnn", 0, $ARGV[0], 8 + length($payload), 0) . $payload;
defined(send($raw, $datagram, 0, pack_sockaddr_in(0, inet_aton("127.0.0.1")))) or die "send: $!";
`;

testNeeding(
  { peers: [], root: true },
  "a datagram from source port 0 is dropped and counted, without further harm",
  async () => {
    using client = gateway.client();
    const { bytes } = client.build({ userName: "ada", password: "x", nasPort: ++nasPort });
    const before = await gateway.metric("dropped_source_port_zero_total");
    for (let i = 0; i < 3; i++) {
      const args = ["-e", FROM_PORT_ZERO, String(gateway.radiusPort), bytes.toHex()];
      const { code, stderr } = await runProgram("perl", { args });
      assertEquals(code, 0, stderr);
    }
    await assertGoesOn();
    await gateway.logged("source port 0");
    assertEquals([await gateway.metric("dropped_source_port_zero_total"), linesWith("source port 0")], [
      before + 3,
      1,
    ]);
  },
);

Deno.test("an unknown client gets no answer, one line in the log, and a count", async () => {
  using client = openRadiusClient({ port: gateway.radiusPort, secret: SECRET });
  const stranger = socketOn("127.0.0.2");
  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort };
  const before = await gateway.metric("dropped_unknown_client_total");
  let answered = false;
  const answer = stranger.receive().then(() => answered = true).catch(() => undefined);
  for (let i = 0; i < 5; i++) await stranger.send(client.build({ userName: "ada", password: "x" }).bytes, to);
  await client.ask({ code: CODES.statusServer });
  const line = await gateway.logged("no configured client");
  stranger.close();
  await answer;
  assertEquals([answered, await gateway.metric("dropped_unknown_client_total")], [false, before + 5]);
  assertEquals(linesWith("no configured client"), 1);
  assertStringIncludes(line, "source=127.0.0.2");
});

Deno.test("a wrong secret gets no answer, and the log reports that the secrets differ", async () => {
  using client = gateway.client();
  using heard = client.listen();
  const wrong = "another secret";
  await client.sendRaw(buildRequest(wrong, { userName: "ada", password: "x", nasPort: ++nasPort }).bytes);
  await client.sendRaw(buildRequest(wrong, { code: CODES.statusServer }).bytes);
  // The program reads datagrams in order: its reply to this one comes after any reply to the earlier ones.
  const { bytes } = await client.ask({ code: CODES.statusServer });
  assertEquals(heard.datagrams.filter((octets) => octets.toHex() !== bytes.toHex()), []);
  const line = await gateway.logged("the shared secret of this client differs");
  assertStringIncludes(line, "client=loop");
  assertEquals(await gateway.metric("dropped_wrong_message_authenticator_total"), 2);
  await assertGoesOn();
});

Deno.test("of ten thousand altered datagrams only the valid ones get replies, and the program is unchanged", async () => {
  const socket = socketOn("127.0.0.3");
  const to: Deno.NetAddr = { transport: "udp", hostname: "127.0.0.1", port: gateway.radiusPort };
  const sent: Mutated[] = [];
  const replies: Uint8Array[] = [];
  const statusWaits = new Set<(reply: Uint8Array) => void>();
  const pump = (async () => {
    for await (const [octets] of socket) {
      replies.push(octets);
      for (const wake of statusWaits) wake(octets);
    }
  })();
  const mutator = createMutator({ secret: SECRET, seed: 20_261_121 });
  /** Whether a Status-Server is answered. It is repeated like by any client, because full buffers lose datagrams. */
  const isAnswered = async (): Promise<boolean> => {
    const status = mutator.statusServer();
    sent.push(status);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // An identifier is not enough: a late reply to an altered request of the same identifier does not answer this one.
    const wake = (reply: Uint8Array) => {
      if (readReply(reply, status.request, SECRET).problems.length === 0) resolve(true);
    };
    statusWaits.add(wake);
    const timer = setTimeout(() => resolve(false), 2000);
    await socket.send(status.octets, to);
    const answered = await promise;
    clearTimeout(timer);
    statusWaits.delete(wake);
    return answered;
  };
  const barrier = async () => assert(await isAnswered() || await isAnswered() || await isAnswered());
  const residentBefore = await gateway.metric("resident_memory_bytes");
  for (let i = 0; i < 10_000; i++) {
    const mutated = mutator.next();
    sent.push(mutated);
    // The kernel accepts an empty datagram, and at most 65,507 octets.
    await socket.send(mutated.octets, to);
    if (i % 50 === 49) await barrier();
  }
  await barrier();
  socket.close();
  await pump;

  const valid = sent.filter(({ octets }) => isValid(octets, SECRET));
  const byIdentifier = Map.groupBy(valid, ({ request }) => request.identifier);
  const owners = replies.map((reply) =>
    byIdentifier.get(reply[1] ?? 0)?.find(({ request }) =>
      readReply(reply, request, SECRET).problems.length === 0
    )
  );
  assertEquals(
    owners.filter((owner) => owner === undefined).length,
    0,
    "a reply that no valid request explains",
  );
  const statuses = owners.filter((owner) => owner?.title === "Status-Server").length;
  assert(statuses >= 201, `the barrier was answered ${statuses} times`);
  assert(valid.length > 400 && valid.length < 5000, `${valid.length} valid ones prove little`);
  assert(replies.length > 300, `${replies.length} replies`);
  assert(await gateway.metric("resident_memory_bytes") - residentBefore < 64 * 1024 * 1024);
  const bad = unhandledLines(gateway.logLines(), ["could not be written", "could not be recorded"]);
  assertEquals(bad, []);
  await assertGoesOn();
});

Deno.test("/healthz, /readyz and /metrics report a healthy program after that", async () => {
  const [health, ready, metrics] = await Promise.all(
    ["healthz", "readyz", "metrics"].map((path) => fetch(`${gateway.httpUrl}/${path}`)),
  );
  assertEquals([health?.status, await health?.text()], [200, "ok\n"]);
  assertEquals(ready?.status, 200);
  assertEquals((await ready?.json()).parts, { radius: "listening", store: "answers", http: "listening" });
  const text = await metrics?.text() ?? "";
  for (const line of text.trim().split("\n")) {
    assert(/^# TYPE countersign_[a-z_]+ (counter|gauge)$|^countersign_[a-z_]+ [0-9.e+]+$/.test(line), line);
  }
  assertStringIncludes(text, "\ncountersign_ready 1\n");
  assert(!text.includes(SECRET) && !text.includes("ada"));
});
