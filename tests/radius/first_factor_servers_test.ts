// The list of RADIUS servers for the first factor: which one is asked, when the next one, and what counts as down.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHmac } from "node:crypto";
import { CODES } from "../support/radius_numbers.ts";
import { openMemoryServers, SERVER_SECRET, type ServerConduct } from "./memory_servers.ts";

const [FIRST, SECOND, THIRD] = ["192.0.2.1:1812", "192.0.2.2:1812", "[2001:db8::3]:1812"] as const;
const octets = (text: string) => new TextEncoder().encode(text);
const isLogin = ({ code }: { code: number }) => code === CODES.accessRequest;

interface ExchangeRow {
  readonly title: string;
  readonly conduct: readonly ServerConduct[];
  readonly pinned?: string;
  readonly code?: string;
  readonly kind?: string;
  /** Which of the servers answers. */
  readonly from?: string;
  /** The wait for the answer, within 100 ms. */
  readonly tookMs: number;
  readonly messageAuthenticator?: "auto";
}

const EXCHANGES: readonly ExchangeRow[] = [
  {
    title: "the first server answers",
    conduct: ["accept", "reject"],
    code: "Access-Accept",
    from: FIRST,
    tookMs: 0,
  },
  {
    title: "a Reject is an answer",
    conduct: ["reject", "accept"],
    code: "Access-Reject",
    from: FIRST,
    tookMs: 0,
  },
  {
    title: "a Challenge is an answer",
    conduct: ["challenge"],
    code: "Access-Challenge",
    from: FIRST,
    tookMs: 0,
  },
  {
    title: "the second server is asked after its share of the time",
    conduct: ["silent", "accept"],
    ...{ code: "Access-Accept", from: SECOND, tookMs: 1500 },
  },
  {
    title: "three servers have a third of the time each",
    conduct: ["silent", "silent", "accept"],
    ...{ code: "Access-Accept", from: THIRD, tookMs: 2000 },
  },
  { title: "no server answers", conduct: ["silent", "silent"], kind: "unavailable", tookMs: 3000 },
  { title: "one server has all the time", conduct: ["silent"], kind: "unavailable", tookMs: 3000 },
  {
    title: "a login that began at a server stays there",
    conduct: ["accept", "accept"],
    pinned: SECOND,
    ...{ code: "Access-Accept", from: SECOND, tookMs: 0 },
  },
  {
    title: "a login that began at a server is not continued at another one",
    conduct: ["accept", "silent"],
    pinned: SECOND,
    ...{ kind: "unavailable", tookMs: 3000 },
  },
  {
    title: "a server that the settings do not have any more is not asked",
    conduct: ["accept"],
    pinned: "192.0.2.9:1812",
    ...{ kind: "unavailable", tookMs: 0 },
  },
  {
    title: "an answer with another secret is none",
    conduct: ["wrong_secret", "accept"],
    ...{ code: "Access-Accept", from: SECOND, tookMs: 1500 },
  },
  {
    title: "an unsigned answer is none",
    conduct: ["unsigned", "accept"],
    ...{ code: "Access-Accept", from: SECOND, tookMs: 1500 },
  },
  {
    title: "an unsigned answer is one in the mode auto",
    conduct: ["unsigned"],
    messageAuthenticator: "auto",
    ...{ code: "Access-Accept", from: FIRST, tookMs: 0 },
  },
  {
    title: "unsigned EAP is none in the mode auto either",
    conduct: ["eap", "accept"],
    messageAuthenticator: "auto",
    ...{ code: "Access-Accept", from: SECOND, tookMs: 1500 },
  },
  {
    title: "a packet of another code is no answer",
    conduct: ["accounting_response", "accept"],
    ...{ code: "Access-Accept", from: SECOND, tookMs: 1500 },
  },
  {
    title: "a signed answer that cannot be read fails at once",
    conduct: ["malformed", "accept"],
    ...{ kind: "unavailable", tookMs: 0 },
  },
];

for (const row of EXCHANGES) {
  Deno.test(`FirstFactorServers.exchange(): ${row.title}`, async () => {
    const { messageAuthenticator = "require" } = row;
    const conduct = Object.fromEntries(row.conduct.map((one, at) => [[FIRST, SECOND, THIRD][at] ?? "", one]));
    using world = openMemoryServers(conduct, { messageAuthenticator });
    const outcome = await world.exchange({ server: row.pinned });
    assertEquals(outcome.kind, row.kind ?? "answer");
    if (outcome.kind === "answer") assertEquals([outcome.code, outcome.server], [row.code, row.from]);
    assert(Math.abs(outcome.tookMs - row.tookMs) <= 100, `${outcome.tookMs} ms`);
  });
}

Deno.test("FirstFactorServers.exchange() signs, leaves out Proxy-State, names the gateway, and returns the attributes of the answer", async () => {
  using world = openMemoryServers({ [FIRST]: "accept" });
  const outcome = await world.exchange({
    attributes: [
      { type: 80, value: new Uint8Array(16).fill(7) },
      { type: 1, value: octets("anna") },
      { type: 33, value: octets("hop") },
      { type: 24, value: octets("state") },
    ],
  });
  const packet = world.seen[0]?.packet ?? new Uint8Array(0);
  const types = [];
  for (let at = 20; at < packet.length; at += packet[at + 1] ?? 255) types.push(packet[at]);
  assertEquals(types, [80, 1, 24, 32]);
  const signed = packet.slice();
  signed.fill(0, 22, 38);
  assertEquals(packet.slice(22, 38).toHex(), createHmac("md5", SERVER_SECRET).update(signed).digest("hex"));
  assertEquals(
    outcome.kind === "answer" ? outcome.attributes.filter(({ type }) => type !== 80) : [],
    [{ type: 11, value: octets("vpn") }],
  );
});

Deno.test("FirstFactorServers.exchange() sends the same packet three times to a server, and another one to the next", async () => {
  using world = openMemoryServers({ [FIRST]: "silent", [SECOND]: "silent" });
  await world.exchange();
  const packets = (server: string) =>
    world.seen.filter((one) => one.server === server && isLogin(one)).map(({ packet }) => packet.toHex());
  assertEquals([packets(FIRST).length, new Set(packets(FIRST)).size], [3, 1]);
  assertEquals([packets(SECOND).length, new Set([...packets(FIRST), ...packets(SECOND)]).size], [3, 2]);
});

Deno.test("FirstFactorServers.exchange() takes the late answer of a server while the next one is asked", async () => {
  using world = openMemoryServers({ [FIRST]: "late", [SECOND]: "silent" });
  const outcome = world.servers.exchange({ client: "vpn", attributes: [] });
  await world.pass(2000);
  assert(world.seen.some(({ server }) => server === SECOND));
  world.answerLate();
  await world.pass(100);
  const { kind, server } = await outcome as { kind: string; server?: string };
  assertEquals([kind, server], ["answer", FIRST]);
  assertEquals(world.servers.status()[0]?.state, "answers");
});

Deno.test("FirstFactorServers.exchange() refuses attributes that do not fit into a packet, without blaming the server", async () => {
  using world = openMemoryServers({ [FIRST]: "accept" });
  const attributes = new Array(17).fill({ type: 79, value: new Uint8Array(253) });
  assertEquals((await world.exchange({ attributes })).kind, "unavailable");
  assertEquals([world.seen.length, world.lines.length], [0, 0]);
});

/** Three logins that no server answers. */
async function threeSilent(world: ReturnType<typeof openMemoryServers>): Promise<void> {
  for (let login = 0; login < 3; login++) await world.exchange();
}

Deno.test("a server that was silent three times is skipped, and one log line says so", async () => {
  using world = openMemoryServers({ [FIRST]: "silent", [SECOND]: "accept" });
  await threeSilent(world);
  await world.pass(6500);
  world.seen.length = 0;
  const { tookMs } = await world.exchange();
  assertEquals(tookMs, 0);
  assertEquals(world.seen.filter(isLogin).map(({ server }) => server), [SECOND]);
  assertEquals(world.servers.status().map(({ state }) => state), ["down", "answers"]);
  const lines = world.lines.filter((line) => line.includes("does not answer"));
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0] ?? "", FIRST);
});

Deno.test("a server that is down is probed with Status-Server, then with a login of no user, and is used again when it answers", async () => {
  using world = openMemoryServers({ [FIRST]: "silent", [SECOND]: "accept" });
  await threeSilent(world);
  world.seen.length = 0;
  await world.pass(30_000);
  const probes = world.seen.filter(({ server }) => server === FIRST);
  assert(probes.length >= 3, `${probes.length} probes`);
  assertEquals(new Set(probes.map(({ code }) => code)), new Set([CODES.statusServer, CODES.accessRequest]));
  for (const { code, packet } of probes) {
    const isNamed = new TextDecoder().decode(packet).includes("countersign-test");
    assertEquals(isNamed, code === CODES.accessRequest);
  }
  // RFC 5997: a new packet instead of a retransmission.
  assertEquals(new Set(probes.map(({ packet }) => packet.toHex())).size, probes.length);
  world.conduct[FIRST] = "accept";
  await world.pass(14_000);
  assertEquals(world.servers.status()[0]?.state, "answers");
  assertEquals((await world.exchange() as { server?: string }).server, FIRST);
  assertEquals(world.lines.filter((line) => line.includes("answers again")).length, 1);
});

Deno.test("a server that answers no Status-Server is probed with the login of no user, and is not down", async () => {
  using world = openMemoryServers({ [FIRST]: "accept", [SECOND]: "logins_only" });
  await world.exchange();
  await world.pass(70_000);
  world.seen.length = 0;
  await world.pass(70_000);
  const probes = world.seen.filter(({ server }) => server === SECOND);
  assertEquals(new Set(probes.map(({ code }) => code)), new Set([CODES.accessRequest]));
  assertEquals(world.servers.status().map(({ state }) => state), ["answers", "answers"]);
});

Deno.test("a standby without requests is known to be down before it is needed", async () => {
  using world = openMemoryServers({ [FIRST]: "accept", [SECOND]: "silent" });
  assertEquals(world.servers.status().map(({ state }) => state), ["unknown", "unknown"]);
  for (let minutes = 0; minutes < 3; minutes++) {
    await world.exchange();
    await world.pass(60_000);
  }
  assertEquals(world.servers.status().map(({ state }) => state), ["answers", "down"]);
});

Deno.test("a single idle server is not probed", async () => {
  using world = openMemoryServers({ [FIRST]: "accept" });
  await world.exchange();
  await world.pass(200_000);
  assertEquals(world.seen.length, 1);
});

Deno.test("a server that answers other logins is not down because it ignores some", async () => {
  using world = openMemoryServers({ [FIRST]: "picky", [SECOND]: "silent" });
  const attributes = [{ type: 1, value: octets("ignored") }];
  const ignored = Array.from({ length: 4 }, () => world.servers.exchange({ client: "vpn", attributes }));
  await world.pass(1000);
  assertEquals((await world.exchange()).kind, "answer");
  await world.pass(2500);
  assertEquals(new Set((await Promise.all(ignored)).map(({ kind }) => kind)), new Set(["unavailable"]));
  assertEquals((await world.exchange() as { server?: string }).server, FIRST);
});

Deno.test("when all servers are down, logins ask all of them, and the states say so", async () => {
  using world = openMemoryServers({ [FIRST]: "silent", [SECOND]: "silent" });
  await threeSilent(world);
  await world.pass(7000);
  assertEquals(world.servers.status().map(({ state }) => state), ["all_down", "all_down"]);
  world.conduct[SECOND] = "accept";
  assertEquals((await world.exchange() as { server?: string }).server, SECOND);
  assertEquals(world.servers.status().map(({ state }) => state), ["down", "answers"]);
});

Deno.test("more than 256 logins use more sockets, and one client leaves Identifiers for the others", async () => {
  using world = openMemoryServers({ [FIRST]: "late" });
  const ask = (client: string) => world.servers.exchange({ client, attributes: [] });
  const outcomes = Array.from({ length: 3072 }, () => ask("vpn"));
  assertEquals([world.sockets(), world.seen.length], [12, 3072]);
  assertEquals((await ask("vpn")).kind, "busy");
  const others = Array.from({ length: 1024 }, () => ask("wifi"));
  assertEquals(world.sockets(), 16);
  assertEquals((await ask("wifi")).kind, "busy");
  assertEquals(new Set(world.seen.map(({ packet }) => packet.slice(4, 20).toHex())).size, 4096);
  world.answerLate();
  const kinds = new Set((await Promise.all([...outcomes, ...others])).map(({ kind }) => kind));
  assertEquals(kinds, new Set(["answer"]));
  world.conduct[FIRST] = "accept";
  assertEquals((await world.exchange()).kind, "answer");
  assertEquals(world.sockets(), 16);
});

Deno.test("a host without another socket answers with busy, and continues those that are open", async () => {
  using world = openMemoryServers({ [FIRST]: "silent" }, { maxSockets: 1 });
  const outcomes = Array.from(
    { length: 256 },
    () => world.servers.exchange({ client: "vpn", attributes: [] }),
  );
  assertEquals((await world.servers.exchange({ client: "vpn", attributes: [] })).kind, "busy");
  await world.pass(3100);
  assertEquals(new Set((await Promise.all(outcomes)).map(({ kind }) => kind)), new Set(["unavailable"]));
});

Deno.test("servers that left the settings are closed and not shown, and a new secret has a state of its own", async () => {
  using world = openMemoryServers({ [FIRST]: "silent", [SECOND]: "accept" });
  await threeSilent(world);
  await world.pass(7000);
  assertEquals(world.servers.status()[0]?.state, "down");
  world.change({ secret: "another secret of the servers" });
  assertEquals(world.servers.status().map(({ state }) => state), ["unknown", "unknown"]);
  world.change({ address: [{ hostname: "192.0.2.2", port: 1812 }], secret: SERVER_SECRET });
  await world.pass(2100);
  world.seen.length = 0;
  await world.pass(60_000);
  assertEquals(world.seen.filter(({ server }) => server === FIRST), []);
  assertEquals(world.servers.status().map(({ server }) => server), [SECOND]);
});

Deno.test("FirstFactorServers.probe() names the servers without an answer, or with another secret", async () => {
  const conduct = { [FIRST]: "reject", [SECOND]: "wrong_secret", [THIRD]: "silent" } as const;
  using world = openMemoryServers(conduct);
  const settings = {
    address: [
      { hostname: "192.0.2.1", port: 1812 },
      { hostname: "192.0.2.2", port: 1812 },
      { hostname: "2001:db8::3", port: 1812 },
    ],
    ...{ secret: SERVER_SECRET, timeoutMs: 900, messageAuthenticator: "require" as const },
  };
  const silent = world.servers.probe(settings);
  await world.pass(1000);
  assertEquals(await silent, [SECOND, THIRD]);
});

Deno.test("FirstFactorServers.test() notes that a server answers", async () => {
  using world = openMemoryServers({ [FIRST]: "accept" });
  const tested = world.servers.test(FIRST);
  await world.pass(100);
  await tested;
  assertEquals(world.servers.status()[0]?.state, "answers");
});

// Requests whose answer may wait for a person (shadow mode).

const WAIT_MS = 120_000;

/** Begins a login that may wait. `took()` is the time of its outcome. */
function beginPatient(world: ReturnType<typeof openMemoryServers>) {
  const startedMs = world.clock.nowMs();
  let repeat = () => {};
  let told: { kind: string; server?: string; tookMs: number } | null = null;
  const wait = { waitMs: WAIT_MS, onSent: (again: () => void) => void (repeat = again) };
  void world.servers.exchange({ client: "vpn", attributes: [], wait })
    .then((outcome) => told = { ...outcome, tookMs: world.clock.nowMs() - startedMs });
  return {
    repeat: () => repeat(),
    outcome: () => told === null ? null : [told.kind, told.server, told.tookMs],
  };
}
const loginsOf = (world: ReturnType<typeof openMemoryServers>, server: string) =>
  world.seen.filter((one) =>
    one.server === server && isLogin(one) &&
    !new TextDecoder().decode(one.packet).includes("countersign-test")
  );

Deno.test("a patient request: the second server answers soon after the first one is dead, and later logins ask it at once", async () => {
  using world = openMemoryServers({ [FIRST]: "silent", [SECOND]: "accept" });
  const first = beginPatient(world);
  await world.pass(6000);
  assertEquals(first.outcome(), ["answer", SECOND, 5500]);
  const next = beginPatient(world);
  await world.pass(100);
  assertEquals(next.outcome(), ["answer", SECOND, 0]);
  assertEquals(world.servers.status().map(({ state }) => state), ["down", "answers"]);
  world.conduct[FIRST] = "accept";
  await world.pass(14_000);
  const later = beginPatient(world);
  await world.pass(100);
  assertEquals(later.outcome(), ["answer", FIRST, 0]);
});

Deno.test("a patient request stays at a server that waits for a person, also if it answers no Status-Server", async () => {
  using world = openMemoryServers({ [FIRST]: "person", [SECOND]: "accept" });
  const login = beginPatient(world);
  await world.pass(100_000);
  assertEquals([login.outcome(), loginsOf(world, SECOND).length], [null, 0]);
  // At most one probe in each of the looks.
  assert(world.seen.length - loginsOf(world, FIRST).length < 25, `${world.seen.length} packets`);
  world.answerLate();
  await world.pass(100);
  assertEquals(login.outcome()?.slice(0, 2), ["answer", FIRST]);
  assertEquals(new Set(loginsOf(world, FIRST).map(({ packet }) => packet.toHex())).size, 1);
});

Deno.test("a patient request takes the late answer of a server that was given up", async () => {
  using world = openMemoryServers({ [FIRST]: "late", [SECOND]: "person" });
  const login = beginPatient(world);
  await world.pass(8000);
  assertEquals([login.outcome(), loginsOf(world, SECOND).length > 0], [null, true]);
  world.answerLate();
  await world.pass(100);
  assertEquals(login.outcome()?.slice(0, 2), ["answer", FIRST]);
});

Deno.test("a patient request without an answer ends, and is not sent after an outage unless the client repeats it", async () => {
  using world = openMemoryServers({ [FIRST]: "silent", [SECOND]: "silent" });
  const login = beginPatient(world);
  await world.pass(30_000);
  const [sent, sentNext] = [loginsOf(world, FIRST).length, loginsOf(world, SECOND).length];
  world.conduct[FIRST] = world.conduct[SECOND] = "person";
  await world.pass(60_000);
  assertEquals([loginsOf(world, FIRST).length, loginsOf(world, SECOND).length], [sent, sentNext]);
  assert(sent <= 3 && sentNext <= 3, `${sent} and ${sentNext} copies`);
  await world.pass(40_000);
  assertEquals(login.outcome(), ["unavailable", undefined, WAIT_MS]);
});

Deno.test("a patient request is sent again when the client repeats it: at once, and to all servers while they are down", async () => {
  using world = openMemoryServers({ [FIRST]: "silent", [SECOND]: "silent" });
  const login = beginPatient(world);
  await world.pass(1000);
  login.repeat();
  assertEquals(loginsOf(world, FIRST).length, 2);
  // A flood of copies is not passed on.
  for (let copy = 0; copy < 10; copy++) login.repeat();
  assertEquals(loginsOf(world, FIRST).length, 2);
  await world.pass(20_000);
  world.conduct[FIRST] = "accept";
  login.repeat();
  await world.pass(100);
  assertEquals(login.outcome()?.slice(0, 2), ["answer", FIRST]);
});
