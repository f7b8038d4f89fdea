// Relayed logins: CHAP, MS-CHAP and EAP at a first-factor server, and the approval on a phone.

import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  eapOf,
  type EapScript,
  microsoftOf,
  MPPE_KEYS,
  startRelayServer,
  valuesOf,
} from "../../support/relay_server.ts";
import { becomes, jump, whileTimePasses } from "../rows/passing_time.ts";
import { openRecorder } from "../rows/recorder.ts";
import { SECRET } from "../rows/in_process.ts";
import { chapParts, EapPeer, keysOf, msChapParts, relayOnce } from "./relayed_peer.ts";
import { decideOnPush, openRelay } from "./relay_world.ts";

const text = (value: string) => new TextEncoder().encode(value);
const CLASS = { type: 25, value: text("staff") };
const BOTH_KEYS = [MPPE_KEYS.send, MPPE_KEYS.receive];
const errorOf = (answer: { attributes: Parameters<typeof microsoftOf>[0] }) =>
  microsoftOf(answer.attributes, 2).map((value) => [value[0], new TextDecoder().decode(value.subarray(1))]);

for (const version of [1, 2] as const) {
  Deno.test(`MS-CHAPv${version}: the Access-Accept waits for the phone, and its keys are those of the server`, async () => {
    using server = startRelayServer();
    server.attributes = [CLASS];
    await using relay = await openRelay(server);
    const { world } = relay;
    decideOnPush(relay, true);
    const { request, answer } = await relayOnce(world, {
      userName: "anna",
      ...msChapParts(true, { version }),
    });
    assertEquals(answer.kind, "accept");
    assert(answer.tookMs >= 2000, `${answer.tookMs} ms`);
    assertEquals(keysOf(answer, request), BOTH_KEYS);
    assertEquals(valuesOf(answer.attributes, 25), [CLASS.value]);
    assertEquals(microsoftOf(answer.attributes, 26).length, 1);
    assertEquals(server.requests.map(({ isSigned }) => isSigned), [true]);
    assertEquals(world.secondFactor.initiated().length, 1);
  });

  Deno.test(`MS-CHAPv${version}: a denial is an Access-Reject with MS-CHAP-Error for the Ident of the response`, async () => {
    using server = startRelayServer();
    await using relay = await openRelay(server);
    decideOnPush(relay, false);
    const { answer } = await relayOnce(relay.world, {
      userName: "anna",
      ...msChapParts(true, { version, ident: 77 }),
    });
    assertEquals([answer.kind, answer.message], ["reject", "Device approval was not given."]);
    const [[ident, error] = []] = errorOf(answer);
    assertEquals(ident, 77);
    assertMatch(String(error), new RegExp(`^E=691 R=0 C=[0-9A-F]{${version * 16}} V=${version + 1} M=`));
  });
}

Deno.test("MS-CHAPv2: without a decision, the Access-Reject comes at the end of hold_s, and the request is cancelled", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const { answer } = await relayOnce(relay.world, { userName: "anna", ...msChapParts(true) });
  assertEquals(answer.kind, "reject");
  assert(answer.tookMs >= 20_000 && answer.tookMs < 23_000, `${answer.tookMs} ms`);
});

Deno.test("MS-CHAPv2: a wrong password is passed on as the server refused it, and counts", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const { world } = relay;
  const { answer } = await relayOnce(world, { userName: "anna", ...msChapParts(false) });
  assertEquals([answer.kind, errorOf(answer)[0]?.[1]], [
    "reject",
    `E=691 R=1 C=${"0".repeat(32)} V=3 M=Wrong`,
  ]);
  assert(answer.tookMs >= 1000, `${answer.tookMs} ms`);
  assertEquals(world.radius.limits.failures("anna").total, 1);
  assertEquals(world.secondFactor.initiated().length, 0);
  const [login] = world.radius.monitor.conversations(9);
  assertEquals([login?.moments.at(-1)?.row, login?.outcome], ["first_factor_wrong", "rejected"]);
});

Deno.test("MS-CHAPv2: after ten wrong passwords the user is locked, and the right one sends no push", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const { world } = relay;
  const wrong = Array.from(
    { length: 10 },
    () => relayOnce(world, { userName: "anna", ...msChapParts(false) }),
  );
  await Promise.all(wrong);
  const { answer } = await relayOnce(world, { userName: "anna", ...msChapParts(true) });
  assertEquals([answer.kind, answer.message], ["reject", "Access denied."]);
  assertEquals([server.requests.length, world.secondFactor.initiated().length], [10, 0]);
  const peer = new EapPeer(world, { userName: "anna" });
  assertEquals([(await peer.login()).kind, server.requests.length], ["reject", 11]);
  const [login] = world.radius.monitor.conversations(1);
  assertEquals(login?.moments.at(-1)?.row, "refused_after_first_factor");
});

for (const challenge of [new Uint8Array(16).fill(3), undefined]) {
  Deno.test(`CHAP ${challenge === undefined ? "without" : "with"} CHAP-Challenge is checked by the server`, async () => {
    using server = startRelayServer();
    await using relay = await openRelay(server);
    const { world } = relay;
    const options = challenge === undefined ? {} : { challenge };
    const wrong = await relayOnce(world, { userName: "anna", ...chapParts("wrong", options) });
    assertEquals([wrong.answer.kind, wrong.answer.message], ["reject", "Wrong."]);
    decideOnPush(relay, true);
    const { answer } = await relayOnce(world, { userName: "anna", ...chapParts("open sesame", options) });
    assertEquals(answer.kind, "accept");
  });
}

/** The rounds before the packet that the server decides. */
const SCRIPTS: [script: EapScript, rounds: number, hasKeys: boolean][] = [
  ["md5", 1, false],
  ["gtc", 1, false],
  ["ms_chap", 2, true],
];
for (const [script, rounds, hasKeys] of SCRIPTS) {
  Deno.test(`EAP ${script}: the Access-Accept with EAP-Success waits for the phone`, async () => {
    using server = startRelayServer({ script });
    server.attributes = [CLASS];
    await using relay = await openRelay(server);
    decideOnPush(relay, true);
    const peer = new EapPeer(relay.world, { userName: "anna" });
    await peer.upTo(rounds);
    const { identifier } = peer;
    const request = peer.build();
    const answer = await peer.exchange(request);
    assertEquals(answer.kind, "accept");
    assertEquals([...eapOf(answer.attributes)], [3, identifier, 0, 4]);
    assertEquals(keysOf(answer, request), hasKeys ? BOTH_KEYS : []);
    assertEquals(valuesOf(answer.attributes, 25), [CLASS.value]);
    assertEquals(server.requests.length, rounds + 1);
    assertEquals(relay.world.secondFactor.initiated().length, 1);
  });

  Deno.test(`EAP ${script}: a denial is an Access-Reject with EAP-Failure and without a text`, async () => {
    using server = startRelayServer({ script });
    await using relay = await openRelay(server);
    decideOnPush(relay, false);
    const peer = new EapPeer(relay.world, { userName: "anna" });
    await peer.upTo(rounds);
    const { identifier } = peer;
    const answer = await peer.exchange();
    assertEquals([answer.kind, answer.message], ["reject", ""]);
    assertEquals([...eapOf(answer.attributes)], [4, identifier, 0, 4]);
  });

  Deno.test(`EAP ${script}: a wrong password is refused by the server, and counts once`, async () => {
    using server = startRelayServer({ script });
    await using relay = await openRelay(server);
    const { world } = relay;
    const peer = new EapPeer(world, { userName: "anna", isRight: false });
    const answer = await peer.login();
    assertEquals([answer.kind, eapOf(answer.attributes)[0]], ["reject", 4]);
    assertEquals(world.radius.limits.failures("anna").total, 1);
    assertEquals(world.secondFactor.initiated().length, 0);
  });

  Deno.test(`EAP ${script}: another identity than User-Name is refused before the server sees the proof`, async () => {
    using server = startRelayServer({ script });
    await using relay = await openRelay(server, { users: ["anna", "bob"] });
    const peer = new EapPeer(relay.world, { userName: "anna", identity: "bob" });
    const answer = await peer.login();
    assertEquals([answer.kind, eapOf(answer.attributes)[0]], ["reject", 4]);
    assertEquals(server.requests.length, 1);
    assertEquals(relay.world.radius.monitor.counters().refused_eap_names_differ, 1);
  });
}

Deno.test("EAP-MSCHAPv2: a wrong password counts also if the peer ends the conversation when it learns that", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const peer = new EapPeer(relay.world, { userName: "anna", isRight: false });
  await peer.upTo(2);
  assertEquals(peer.received[5], 4);
  assertEquals(relay.world.radius.limits.failures("anna").total, 1);
});

Deno.test("EAP-MSCHAPv2: a second wrong password of one conversation counts, too", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const peer = new EapPeer(relay.world, { userName: "anna", isRight: false });
  await peer.upTo(1);
  const wrong = peer.response();
  await peer.exchange(peer.build(wrong));
  const answer = await peer.exchange(peer.build(wrong));
  assertEquals([answer.kind, peer.received[5]], ["challenge", 4]);
  assertEquals(relay.world.radius.limits.failures("anna").total, 2);
});

Deno.test("EAP-MSCHAPv2: a Name of another user than the identity is refused before the server sees the proof", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server, { users: ["anna", "bob"] });
  const peer = new EapPeer(relay.world, { userName: "anna", name: "bob" });
  assertEquals((await peer.login()).kind, "reject");
  assertEquals(server.requests.length, 1);
});

Deno.test("a tunnel is refused by default before the server sees it, and the log names the remedy", async () => {
  using server = startRelayServer({ script: "tunnel" });
  server.acceptName = "anna";
  await using relay = await openRelay(server);
  const answer = await new EapPeer(relay.world, { userName: "anna" }).login();
  assertEquals([answer.kind, eapOf(answer.attributes)[0]], ["reject", 4]);
  assertEquals(server.requests.length, 1);
  assertMatch((await relay.world.logLines()).join("\n"), /eap_outer_identity = .{0,2}reply/);
});

const REPLY = 'eap_outer_identity = "reply"\n';
const TRUST = 'eap_outer_identity = "trust"\n';

Deno.test('a tunnel with "reply": the second factor is that of the User-Name in the Access-Accept', async () => {
  using server = startRelayServer({ script: "tunnel", more: REPLY });
  server.acceptName = "anna";
  await using relay = await openRelay(server, { users: ["anna", "bob"] });
  decideOnPush(relay, true);
  const peer = new EapPeer(relay.world, { userName: "bob" });
  const answer = await peer.login();
  assertEquals(answer.kind, "accept");
  const [login] = relay.world.radius.monitor.conversations(9);
  assertEquals([login?.user, login?.relay?.outer, login?.relay?.method], ["anna", "bob", "PEAP"]);
  assertMatch((await relay.world.logLines()).join("\n"), /Access-Accept .*user=anna outer=bob /);
});

Deno.test('a tunnel with "reply": the log says once that the User-Name in the Access-Accept is the outer identity', async () => {
  using server = startRelayServer({ script: "tunnel", more: REPLY });
  await using relay = await openRelay(server, { users: ["anna", "bob"] });
  const notes = async () =>
    (await relay.world.logLines()).filter((line) => line.includes("is the outer identity")).length;
  server.acceptName = "anna";
  for (const [userName, expected] of [["bob", 0], ["anna", 1], ["anna", 1]] as const) {
    decideOnPush(relay, true);
    assertEquals((await new EapPeer(relay.world, { userName }).login()).kind, "accept");
    assertEquals(await notes(), expected);
  }
});

Deno.test('a tunnel with "reply": an Access-Accept without a User-Name is refused', async () => {
  using server = startRelayServer({ script: "tunnel", more: REPLY });
  await using relay = await openRelay(server);
  const answer = await new EapPeer(relay.world, { userName: "anna" }).login();
  assertEquals([answer.kind, eapOf(answer.attributes)[0]], ["reject", 4]);
  assertEquals(relay.world.secondFactor.initiated().length, 0);
  assertEquals(relay.world.radius.monitor.counters().refused_eap_user_unnamed, 1);
});

Deno.test('a tunnel with "trust": the second factor is that of the outer identity', async () => {
  using server = startRelayServer({ script: "tunnel", more: TRUST });
  await using relay = await openRelay(server);
  decideOnPush(relay, true);
  assertEquals((await new EapPeer(relay.world, { userName: "anna" }).login()).kind, "accept");
});

Deno.test("a refused tunnel counts for no user", async () => {
  using server = startRelayServer({ script: "tunnel", more: REPLY });
  await using relay = await openRelay(server);
  const peer = new EapPeer(relay.world, { userName: "anna", isRight: false });
  assertEquals((await peer.login()).kind, "reject");
  assertEquals(relay.world.radius.limits.failures("anna").total, 0);
});

Deno.test("large fragments of a tunnel pass in both directions, split into EAP-Messages", async () => {
  using server = startRelayServer({ script: "tunnel", more: TRUST });
  server.rounds = 4;
  server.fragmentOctets = 1400;
  await using relay = await openRelay(server);
  decideOnPush(relay, true);
  const peer = new EapPeer(relay.world, { userName: "anna" });
  await peer.upTo(1);
  for (let round = 0; round < 3; round++) {
    assertEquals(peer.received.length, 1405);
    await peer.exchange(peer.build(peer.response(1400)));
  }
  assertEquals((await peer.login()).kind, "accept");
  assertEquals(server.requests.map(({ attributes }) => eapOf(attributes).length), [9, 1405, 1405, 1405, 7]);
});

Deno.test("the server gets the attributes of the client, User-Name as it is, and neither Proxy-State nor the State of the gateway", async () => {
  using server = startRelayServer({ more: 'strip_domains = ["CORP"]\n' });
  await using relay = await openRelay(server);
  decideOnPush(relay, true);
  const proxyStates = ["a", "b"].map((value) => ({ type: 33, value: text(value) }));
  const more = [...proxyStates, { type: 30, value: text("vpn.example") }];
  const peer = new EapPeer(relay.world, { userName: "CORP\\anna", name: "CORP\\anna", more });
  assertEquals((await peer.login()).kind, "accept");
  for (const [at, { attributes, isSigned }] of server.requests.entries()) {
    assertEquals(isSigned, true);
    assertEquals(valuesOf(attributes, 1), [text("CORP\\anna")]);
    assertEquals(valuesOf(attributes, 30), [text("vpn.example")]);
    assertEquals(valuesOf(attributes, 33), []);
    assertEquals(valuesOf(attributes, 24).map(({ length }) => length), at === 0 ? [] : [16]);
  }
});

Deno.test("an Access-Accept with EAP has the reply attributes of the settings, without a Reply-Message", async () => {
  using server = startRelayServer({ script: "md5" });
  const toml = '[radius.reply.default]\n"Reply-Message" = "Hello"\n"Filter-Id" = "vpn"\n';
  await using relay = await openRelay(server, { toml });
  decideOnPush(relay, true);
  const answer = await new EapPeer(relay.world, { userName: "anna" }).login();
  assertEquals([answer.kind, answer.message, valuesOf(answer.attributes, 11)], ["accept", "", [text("vpn")]]);
});

Deno.test("a challenge keeps Session-Timeout, and its State has at most 253 octets and not that of the server", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const peer = new EapPeer(relay.world, { userName: "anna" });
  const answer = await peer.exchange();
  assertEquals(valuesOf(answer.attributes, 27), [Uint8Array.of(0, 0, 0, 30)]);
  const [state] = valuesOf(answer.attributes, 24);
  assert((state?.length ?? 0) > 16 && (state?.length ?? 999) <= 253);
  assert(state !== undefined && !state.toHex().includes("ee".repeat(8)));
});

Deno.test("a State of the server that is too long stays in memory, the login works, and the log says so once", async () => {
  using server = startRelayServer();
  server.stateOctets = 253;
  await using relay = await openRelay(server);
  decideOnPush(relay, true);
  const peer = new EapPeer(relay.world, { userName: "anna" });
  assertEquals((await peer.login()).kind, "accept");
  const lines = (await relay.world.logLines()).filter((line) => line.includes("too long to be sealed"));
  assertEquals(lines.length, 1);
});

const REFUSED_STATES: Record<string, (peer: EapPeer) => void> = {
  "of another User-Name": (peer) => peer.userName = "bob",
  "that was changed": (peer) => peer.changeState(),
  "of no conversation": (peer) => peer.state = text("SECONDFACTOR_AWAIT_DEVICE_APPROVAL"),
};
for (const [what, change] of Object.entries(REFUSED_STATES)) {
  Deno.test(`a State ${what} is refused, and the server sees nothing`, async () => {
    using server = startRelayServer();
    await using relay = await openRelay(server, { users: ["anna", "bob"] });
    const peer = new EapPeer(relay.world, { userName: "anna" });
    await peer.upTo(1);
    change(peer);
    const answer = await peer.exchange();
    assertEquals([answer.kind, eapOf(answer.attributes)[0]], ["reject", 4]);
    assertEquals(server.requests.length, 1);
    assertEquals(relay.world.radius.monitor.counters().refused_relay_over, 1);
  });
}

Deno.test("a State that has expired is refused", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const peer = new EapPeer(relay.world, { userName: "anna" });
  await peer.upTo(1);
  await jump(relay.world.clock, 301_000);
  assertEquals((await peer.exchange()).kind, "reject");
  assertEquals(server.requests.length, 1);
});

const HOSTILE: Record<string, readonly { type: number; value: Uint8Array }[]> = {
  "no EAP packet": [{ type: 79, value: text("hello") }],
  "a Length beyond the packet": [{ type: 79, value: Uint8Array.of(2, 1, 0, 99, 1) }],
  "an EAP-Request": [{ type: 79, value: Uint8Array.of(1, 1, 0, 5, 1) }],
  "an EAP-Success": [{ type: 79, value: Uint8Array.of(3, 1, 0, 4) }],
  "separated fragments": [
    { type: 79, value: Uint8Array.of(2, 1, 0, 6, 1) },
    { type: 6, value: Uint8Array.of(0, 0, 0, 8) },
    { type: 79, value: Uint8Array.of(97) },
  ],
  "a password change": [{ type: 79, value: Uint8Array.of(2, 1, 0, 7, 26, 7, 1) }],
};
for (const [what, more] of Object.entries(HOSTILE)) {
  Deno.test(`EAP-Messages with ${what} are refused with EAP-Failure, and the server sees nothing`, async () => {
    using server = startRelayServer();
    await using relay = await openRelay(server);
    const { answer } = await relayOnce(relay.world, { userName: "anna", more });
    assertEquals([answer.kind, eapOf(answer.attributes)[0]], ["reject", 4]);
    assertEquals(server.requests.length, 0);
  });
}

const RESPONSE = msChapParts(true).more ?? [];
const REFUSED: Record<string, [refusal: string, Parameters<typeof relayOnce>[1]]> = {
  "MS-CHAP without a signature": ["unsigned_chap", {
    userName: "anna",
    ...msChapParts(true),
    messageAuthenticator: "none",
  }],
  "CHAP without a signature": ["unsigned_chap", {
    userName: "anna",
    ...chapParts("open sesame"),
    messageAuthenticator: "none",
  }],
  "two User-Names": ["no_user_name", {
    userName: "anna",
    more: [...RESPONSE, { type: 1, value: text("bob") }],
  }],
  "CHAP and MS-CHAP": ["two_passwords", {
    userName: "anna",
    more: [...RESPONSE, ...chapParts("x").more ?? []],
  }],
  "two MS-CHAP responses": ["two_passwords", { userName: "anna", more: [...RESPONSE, ...RESPONSE] }],
  "EAP and a password": ["two_passwords", {
    userName: "anna",
    password: "x",
    more: [{ type: 79, value: Uint8Array.of(2, 1, 0, 5, 1) }],
  }],
  "a short CHAP-Password": ["malformed_chap", { userName: "anna", more: [{ type: 3, value: text("x") }] }],
};
for (const [what, [refusal, parts]] of Object.entries(REFUSED)) {
  Deno.test(`${what} is refused, and the server sees nothing`, async () => {
    using server = startRelayServer();
    await using relay = await openRelay(server);
    const { answer } = await relayOnce(relay.world, parts);
    assertEquals(answer.kind, "reject");
    assertEquals(relay.world.radius.monitor.counters()[`refused_${refusal}`], 1);
    assertEquals(server.requests.length, 0);
  });
}

Deno.test('MS-CHAP without a signature is relayed with message_authenticator = "off"', async () => {
  using server = startRelayServer({ more: 'message_authenticator = "off"\n' });
  await using relay = await openRelay(server);
  decideOnPush(relay, true);
  const { answer } = await relayOnce(relay.world, {
    userName: "anna",
    ...msChapParts(true),
    messageAuthenticator: "none",
  });
  assertEquals(answer.kind, "accept");
});

for (const messageAuthenticator of ["none", "wrong"] as const) {
  Deno.test(`EAP whose Message-Authenticator is ${messageAuthenticator} is dropped, also with "off"`, async () => {
    using server = startRelayServer({ more: 'message_authenticator = "off"\n' });
    await using relay = await openRelay(server);
    const peer = new EapPeer(relay.world, { userName: "anna" });
    using recorder = openRecorder(relay.world, SECRET);
    await recorder.send(peer.build(peer.response(), { messageAuthenticator }));
    assertEquals((await recorder.replies()).length, 0);
    assertEquals(server.requests.length, 0);
  });
}

Deno.test("an Access-Reject of a request with a password has no MS-CHAP-Error, whatever attributes of Microsoft it has", async () => {
  using server = startRelayServer();
  server.password = "another";
  await using relay = await openRelay(server);
  const parts = { userName: "anna", password: "x", ...msChapParts(true), state: text("NO_STATE") };
  const { answer } = await relayOnce(relay.world, parts);
  assertEquals([answer.kind, microsoftOf(answer.attributes, 2)], ["reject", []]);
});

Deno.test("if the server is silent, the gateway is, and a counter and the log say so", async () => {
  using server = startRelayServer();
  server.isSilent = true;
  await using relay = await openRelay(server);
  const { world } = relay;
  using heard = world.client.listen();
  await world.client.sendRaw(world.client.build({ userName: "anna", ...msChapParts(true) }).bytes);
  const isDropped = () => world.radius.monitor.counters().dropped_first_factor_silent === 1;
  await whileTimePasses(world.clock, becomes("the request is dropped", isDropped));
  server.isSilent = false;
  decideOnPush(relay, true);
  assertEquals((await relayOnce(world, { userName: "anna", ...msChapParts(true) })).answer.kind, "accept");
  assertEquals(heard.datagrams.length, 1);
  assertMatch((await world.logLines()).join("\n"), /no first-factor server answered/);
});

Deno.test("a challenge of the server for MS-CHAP is refused, because the client cannot show it", async () => {
  using server = startRelayServer();
  server.isPrompting = true;
  await using relay = await openRelay(server);
  const { answer } = await relayOnce(relay.world, { userName: "anna", ...msChapParts(true) });
  assertEquals(answer.kind, "reject");
  assertEquals(relay.world.radius.monitor.counters().refused_relay_prompted, 1);
});

Deno.test("a user without a phone is refused after a right password, and is asked for nothing", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server, { users: ["anna", "carl"] });
  const { answer } = await relayOnce(relay.world, { userName: "carl", ...msChapParts(true) });
  assertEquals(answer.kind, "reject");
  assertEquals(relay.world.radius.monitor.conversations(1)[0]?.moments.at(-1)?.row, "relayed_no_device");
  const unknown = await relayOnce(relay.world, { userName: "zoe", ...msChapParts(true) });
  assertEquals([unknown.answer.kind, unknown.answer.message], ["reject", "Access denied."]);
});
