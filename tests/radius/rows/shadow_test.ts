// Shadow mode: each request goes to the present server, and its answer to the client. Nothing else happens.

import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import {
  type Attribute,
  type BuiltRequest,
  CODES,
  readReply,
  type Reply,
  type RequestParts,
  TYPES,
} from "../../support/radius_packets.ts";
import {
  eapMessages,
  eapPacket,
  microsoft,
  microsoftOf,
  MPPE_KEYS,
  type RelayAnswer,
  type RelayedRequest,
  type RelayServer,
  RIGHT,
  startRelayServer,
  valuesOf,
} from "../../support/relay_server.ts";
import { type InProcess, saveSettings, SECRET, startInProcess } from "./in_process.ts";
import { becomes, jump, pass, whileTimePasses } from "./passing_time.ts";
import { giveDevice } from "./people.ts";
import { startTwoNodes } from "./two_nodes.ts";

const PATIENCE = { timeoutMs: 20_000, tries: 1 };
const text = (value: string) => new TextEncoder().encode(value);
const CHAP_CHALLENGE = 60;

const ask = (world: InProcess, request: BuiltRequest): Promise<Reply> =>
  whileTimePasses(world.clock, world.client.exchange(request, PATIENCE));

const startShadow = (server: RelayServer, options: Parameters<typeof startInProcess>[0] = {}) =>
  startInProcess({ toml: server.toml, ...options });
const startServer = () => startRelayServer({ more: 'mode = "shadow"' });

/** The attributes that pass unchanged. */
const passed = (attributes: readonly Attribute[]) =>
  attributes.filter(({ type }) => type !== TYPES.messageAuthenticator && type !== TYPES.proxyState);

interface MethodRow {
  readonly title: string;
  readonly parts: RequestParts;
  /** The kind that is learnt. */
  readonly kind: string;
}

const EAP_IDENTITY = eapMessages(eapPacket(2, 1, 1, text("anna")));
const EAP_LONG = eapMessages(eapPacket(2, 9, 25, [...new Uint8Array(400), RIGHT]));

const METHODS: readonly MethodRow[] = [
  { title: "PAP", parts: { password: "open sesame" }, kind: "PAP" },
  { title: "an empty password", parts: { password: "" }, kind: "PAP" },
  {
    title: "a prompt that is answered",
    parts: { password: "123456", state: text("of the server") },
    kind: "PAP+prompted",
  },
  {
    title: "PAP without a signature",
    parts: { password: "x", messageAuthenticator: "none" },
    kind: "PAP+unsigned",
  },
  {
    title: "CHAP with its challenge",
    parts: {
      more: [{ type: 3, value: new Uint8Array(17).fill(5) }, {
        type: CHAP_CHALLENGE,
        value: new Uint8Array(16).fill(6),
      }],
    },
    kind: "CHAP",
  },
  {
    title: "MS-CHAPv2",
    parts: { more: [microsoft(11, new Uint8Array(16)), microsoft(25, new Uint8Array(50).fill(RIGHT))] },
    kind: "MS-CHAPv2",
  },
  {
    title: "MS-CHAP",
    parts: { more: [microsoft(11, new Uint8Array(8)), microsoft(1, new Uint8Array(50).fill(RIGHT))] },
    kind: "MS-CHAPv1",
  },
  { title: "EAP-Identity", parts: { more: EAP_IDENTITY }, kind: "EAP" },
  { title: "a fragment of PEAP", parts: { more: EAP_LONG, state: text("round 7") }, kind: "PEAP+prompted" },
];

const ANSWER: readonly Attribute[] = [
  { type: 25, value: text("class") },
  { type: 11, value: text("staff") },
  microsoft(1, text("any attribute of a vendor")),
  { type: 11, value: text("second filter") },
];

for (const { title, parts, kind } of METHODS) {
  Deno.test(`shadow: ${title} passes unchanged, and so does the Accept`, async () => {
    using server = startServer();
    server.judge = () => ({ code: CODES.accessAccept, attributes: ANSWER, hasKeys: true });
    await using world = await startShadow(server);
    const more = [
      ...parts.more ?? [],
      { type: 4, value: Uint8Array.of(192, 0, 2, 1) },
      { type: TYPES.proxyState, value: text("of a proxy") },
    ];
    const request = world.client.build({ userName: "CORP\\Anna", nasPort: 7, ...parts, more });
    const reply = await ask(world, request);
    assertEquals([reply.code, reply.problems], [CODES.accessAccept, []]);
    const { isSigned, attributes, authenticator } = server.requests[0] as RelayedRequest;
    assert(isSigned);
    assertEquals(
      clear(attributes, { secret: server.secret, authenticator }),
      clear(readReply(request.bytes, request, SECRET).attributes, { secret: SECRET, ...request }),
    );
    assertEquals(passed(reply.attributes).slice(0, ANSWER.length), ANSWER);
    const key = { secret: SECRET, authenticator: request.authenticator };
    const [sent = new Uint8Array(0)] = microsoftOf(reply.attributes, 16);
    assertEquals(revealKey(sent, key), MPPE_KEYS.send);
    const { learner } = world.radius.shadow;
    assertEquals(learner.total("any", 0)?.kinds, { [kind]: 1 });
    assertEquals(learner.users("any", 0).map(({ user, shown, kinds }) => [user, shown, kinds]), [
      ["corp\\anna", "CORP\\Anna", { [kind]: 1 }],
    ]);
  });
}

Deno.test("shadow: CHAP without CHAP-Challenge gets that of its Request Authenticator", async () => {
  using server = startServer();
  server.judge = () => ({ code: CODES.accessAccept, attributes: [] });
  await using world = await startShadow(server);
  const request = world.client.build({ userName: "anna", more: [{ type: 3, value: new Uint8Array(17) }] });
  assertEquals((await ask(world, request)).code, CODES.accessAccept);
  assertEquals(valuesOf(server.requests[0]?.attributes ?? [], CHAP_CHALLENGE), [request.authenticator]);
});

Deno.test("shadow: a challenge and a Reject pass with all attributes, and only an Accept is learnt with its user", async () => {
  using server = startServer();
  await using world = await startShadow(server);
  const prompt = [
    { type: 18, value: text("Passcode or option:") },
    { type: 24, value: text("state of the server") },
    { type: 27, value: Uint8Array.of(0, 0, 0, 60) },
  ];
  server.judge = () => ({ code: CODES.accessChallenge, attributes: prompt });
  const challenge = await ask(world, world.client.build({ userName: "anna", password: "x" }));
  assertEquals([challenge.code, passed(challenge.attributes)], [CODES.accessChallenge, prompt]);
  server.judge = () => ({ code: CODES.accessReject, attributes: [{ type: 18, value: text("No.") }] });
  const state = challenge.state ?? new Uint8Array(0);
  const reject = await ask(world, world.client.build({ userName: "anna", password: "1", state }));
  assertEquals([reject.code, reject.message], [CODES.accessReject, "No."]);
  const { learner } = world.radius.shadow;
  const { accepted, rejected, challenged, kinds } = learner.total("any", 0) ?? {};
  assertEquals([accepted, rejected, challenged, kinds], [0, 1, 1, {}]);
  assertEquals(learner.users("any", 0), []);
});

Deno.test("shadow: nothing happens to users: no push, no conversation, no failure, no record", async () => {
  using server = startServer();
  await using world = await startShadow(server);
  await giveDevice(world, "anna");
  for (const code of [CODES.accessReject, CODES.accessReject, CODES.accessAccept]) {
    server.judge = () => ({ code, attributes: [] });
    assertEquals((await ask(world, world.client.build({ userName: "anna", password: "x" }))).code, code);
  }
  assertEquals(world.secondFactor.initiated(), []);
  assertEquals(world.radius.monitor.conversations(10), []);
  assertEquals(world.radius.limits.failures("anna").total, 0);
  assertEquals(world.radius.monitor.strays(10), []);
  const kept = await Array.fromAsync(world.store.list([]));
  const tables = new Set(kept.map(({ key }) => String(key[0])));
  for (const table of ["journal", "conversation", "history", "limit", "audit"]) {
    assert(!tables.has(table), table);
  }
});

Deno.test("shadow: the User-Name of the Accept is the user of a method whose outer name is free", async () => {
  using server = startServer();
  server.judge = () => ({ code: CODES.accessAccept, attributes: [{ type: 1, value: text("Inner") }] });
  await using world = await startShadow(server);
  const parts = { userName: "anonymous", state: text("s"), more: EAP_LONG };
  await ask(world, world.client.build(parts));
  assertEquals(world.radius.shadow.learner.users("any", 0).map(({ user, kinds }) => [user, kinds]), [
    ["inner", { "PEAP+prompted+named": 1 }],
  ]);
});

Deno.test("shadow: without an answer of the server there is none, and the next try is forwarded again", async () => {
  using server = startServer();
  server.judge = () => null;
  await using world = await startShadow(server);
  const request = world.client.build({ userName: "anna", password: "x" });
  using heard = world.client.listen();
  for (let copy = 0; copy < 3; copy++) {
    await world.client.sendRaw(request.bytes);
    await pass(world.clock, 5000);
  }
  await becomes("the request at the server", () => server.requests.length > 0);
  await jump(world.clock, 120_000);
  const { learner } = world.radius.shadow;
  await becomes("the end of the wait", () => learner.total("any", 0)?.unanswered === 1);
  assertEquals(heard.datagrams.length, 0);
  const { gaps, tries, gaveUp, patienceMs } = learner.total("any", 0) ?? {};
  assertEquals([gaps, tries, gaveUp, patienceMs], [{ 5: 2 }, 3, 1, 15_000]);
  server.judge = () => ({ code: CODES.accessAccept, attributes: [] });
  assertEquals((await ask(world, request)).code, CODES.accessAccept);
});

Deno.test("shadow: an Accept that arrives after the client was moved over is dropped; its next try needs a factor", async () => {
  using server = startServer();
  const { promise, resolve } = Promise.withResolvers<RelayAnswer>();
  server.judge = () => promise;
  await using world = await startShadow(server, { stored: true });
  await giveDevice(world, "anna");
  const request = world.client.build({ userName: "anna", password: "x" });
  using heard = world.client.listen();
  await world.client.sendRaw(request.bytes);
  await becomes("the request at the server", () => server.requests.length === 1);
  await saveSettings(world.settings, { "radius.mode": "enforce", "radius.device": "challenge" });
  resolve({ code: CODES.accessAccept, attributes: [] });
  await becomes("the drop", () => (world.radius.monitor.counters().dropped_overtaken ?? 0) > 0);
  assertEquals(heard.datagrams.length, 0);
  server.judge = () => ({ code: CODES.accessAccept, attributes: [] });
  assertEquals((await ask(world, request)).code, CODES.accessChallenge);
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("shadow: a prompt of the present server is not answered after the move, and ours not after the move back", async () => {
  using server = startServer();
  server.judge = () => ({
    code: CODES.accessChallenge,
    attributes: [{ type: 24, value: text("theirs") }, { type: 18, value: text("?") }],
  });
  await using world = await startShadow(server, { stored: true });
  await giveDevice(world, "anna");
  const theirs = await ask(world, world.client.build({ userName: "anna", password: "x" }));
  await saveSettings(world.settings, { "radius.mode": "enforce", "radius.device": "challenge" });
  const state = theirs.state ?? new Uint8Array(0);
  assertEquals(
    (await ask(world, world.client.build({ userName: "anna", password: "1", state }))).code,
    CODES.accessReject,
  );
  server.judge = () => ({ code: CODES.accessAccept, attributes: [] });
  const ours = await ask(world, world.client.build({ userName: "anna", password: "x" }));
  assertEquals(ours.code, CODES.accessChallenge);
  await saveSettings(world.settings, { "radius.mode": "shadow" });
  server.judge = ({ attributes }) => ({
    code: valuesOf(attributes, 24).length > 0 ? CODES.accessReject : CODES.accessAccept,
    attributes: [],
  });
  const answer = { userName: "anna", password: "", state: ours.state ?? new Uint8Array(0) };
  assertEquals((await ask(world, world.client.build(answer))).code, CODES.accessReject);
});

Deno.test("shadow: a copy after half a minute is the same login for the present server, and gets its answer", async () => {
  using server = startServer();
  const { promise, resolve } = Promise.withResolvers<RelayAnswer>();
  const isOfAnna = ({ attributes }: RelayedRequest) =>
    new TextDecoder().decode(valuesOf(attributes, TYPES.userName)[0]) === "anna";
  server.judge = (request) => isOfAnna(request) ? promise : { code: CODES.accessReject, attributes: [] };
  await using world = await startShadow(server);
  const request = world.client.build({ userName: "anna", password: "x" });
  await world.client.sendRaw(request.bytes);
  await becomes("the request at the server", () => server.requests.length === 1);
  await jump(world.clock, 31_000);
  // The duplicate cache forgets what is old when it learns something new.
  for (let count = 0; count < 2; count++) {
    await ask(world, world.client.build({ userName: "bert", password: "x" }));
  }
  const before = server.requests.length;
  const answered = world.client.exchange(request, PATIENCE);
  await becomes("the copy at the server", () => server.requests.length > before);
  resolve({ code: CODES.accessAccept, attributes: [] });
  assertEquals((await whileTimePasses(world.clock, answered)).code, CODES.accessAccept);
  const ofAnna = server.requests.filter(isOfAnna).map(({ authenticator }) => authenticator.toHex());
  assertEquals(new Set(ofAnna).size, 1);
});

Deno.test("shadow: both nodes forward, and the sums of both are one", async () => {
  using server = startServer();
  server.judge = () => ({ code: CODES.accessAccept, attributes: [] });
  await using nodes = await startTwoNodes({ toml: server.toml });
  for (const world of [nodes.a, nodes.b]) {
    assertEquals(
      (await ask(world, world.client.build({ userName: "anna", password: "x" }))).code,
      CODES.accessAccept,
    );
    await world.radius.shadow.learner.flush();
  }
  await nodes.a.store.catchUp();
  assertEquals(nodes.a.radius.shadow.learner.total("any", 0)?.accepted, 2);
  assertEquals(nodes.a.radius.shadow.learner.users("any", 0).map(({ kinds }) => kinds), [{ PAP: 2 }]);
});

/** Attributes without those of a hop, and with the password in clear. */
function clear(
  attributes: readonly Attribute[],
  key: { secret: string; authenticator: Uint8Array },
): Attribute[] {
  return passed(attributes).map(({ type, value }) =>
    type === TYPES.userPassword ? { type, value: revealPassword(value, key) } : { type, value }
  );
}

/** RFC 2865 §5.2. */
function revealPassword(
  hidden: Uint8Array,
  { secret, authenticator }: { secret: string; authenticator: Uint8Array },
): Uint8Array {
  const plain = hidden.slice();
  for (let at = 0; at < plain.length; at += 16) {
    const before = at === 0 ? authenticator : hidden.subarray(at - 16, at);
    const mask = createHash("md5").update(secret).update(before).digest();
    for (let i = 0; i < 16; i++) plain[at + i] = (plain[at + i] ?? 0) ^ (mask[i] ?? 0);
  }
  return plain;
}

Deno.test("shadow: an answer to a prompt goes to the server that asked, also if another one is preferred", async () => {
  using first = startServer();
  using second = startServer();
  first.judge = () => null;
  second.judge = () => ({
    code: CODES.accessChallenge,
    attributes: [{ type: 24, value: text("of the second") }, { type: 18, value: text("?") }],
  });
  const address = `["127.0.0.1:${first.port}", "127.0.0.1:${second.port}"]`;
  const toml = first.toml.replace(/address = "[^"]*"/, `address = ${address}`);
  await using world = await startInProcess({ toml });
  const challenge = await ask(world, world.client.build({ userName: "anna", password: "x" }));
  assertEquals(challenge.code, CODES.accessChallenge);
  first.judge = () => ({ code: CODES.accessReject, attributes: [] });
  second.judge = () => ({ code: CODES.accessAccept, attributes: [] });
  const state = challenge.state ?? new Uint8Array(0);
  const before = first.requests.length;
  assertEquals(
    (await ask(world, world.client.build({ userName: "anna", password: "1", state }))).code,
    CODES.accessAccept,
  );
  assertEquals(first.requests.length, before);
});

/** Reveals a key (RFC 2548 §2.4.2). @param hidden the salt and the hidden octets */
function revealKey(
  hidden: Uint8Array,
  { secret, authenticator }: { secret: string; authenticator: Uint8Array },
) {
  const first = Uint8Array.of(...authenticator, ...hidden.subarray(0, 2));
  const plain = hidden.slice(2);
  for (let at = 0; at < plain.length; at += 16) {
    const before = at === 0 ? first : hidden.subarray(at - 14, at + 2);
    const mask = createHash("md5").update(secret).update(before).digest();
    for (let i = 0; i < 16; i++) plain[at + i] = (plain[at + i] ?? 0) ^ (mask[i] ?? 0);
  }
  return plain.subarray(1, 1 + (plain[0] ?? 0));
}
