// RADIUS over TLS in a whole gateway: RADIUS/TLS (RFC 6614) and RADIUS/1.1 (RFC 9765). The TLS connection is in memory;
// tests/platform/tls_listener_test.ts has a real one.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { TlsPeer } from "../../platform/tls_listener.ts";
import { readClearAttributes, writeClearAttributes } from "../../radius/protocol/clear_attributes.ts";
import { PacketWriter } from "../../radius/protocol/packet.ts";
import { TLS_PROTECTION } from "../../radius/protocol/radius_tls.ts";
import {
  buildAccountingRequest,
  buildRequest,
  CODES,
  readReply,
  type RequestParts,
  TYPES,
} from "../support/radius_packets.ts";
import { buildTokenPacket, readTokenPacket } from "../support/radius_tls.ts";
import {
  CLIENTS,
  connect,
  FINGERPRINT,
  given,
  login,
  oneDotOne,
  PROTOCOL_ERROR,
  SECRET,
  text,
} from "./radsec_peer.ts";
import { startInProcess } from "./rows/in_process.ts";
import { whileTimePasses } from "./rows/passing_time.ts";
import { appCode, give, SEED } from "./rows/people.ts";
import { openWholeGateway } from "./whole_gateway.ts";

const ERROR_CAUSE = 101;
const CHAP_PASSWORD = 3;
const CHAP_CHALLENGE = 60;
const TUNNEL_PASSWORD = 69;
const VENDOR_SPECIFIC = 26;

Deno.test("RADIUS/1.0 over TLS: a login is challenged, with the secret of RFC 6614", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway);
  const request = buildRequest(SECRET, { userName: "ada", password: "first", messageAuthenticator: "none" });
  peer.send(request.bytes);
  const reply = readReply(await peer.next(), request, SECRET);
  assertEquals([reply.code, reply.problems], [CODES.accessChallenge, []]);
  assertStringIncludes(await gateway.logText(), "client=nas");
});

Deno.test("RADIUS/1.0 over TLS: a copy of a packet gets the same octets", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway);
  const request = buildRequest(SECRET, { userName: "ada", password: "first" });
  peer.send(request.bytes);
  const first = await peer.next();
  peer.send(request.bytes);
  assertEquals(await peer.next(), first);
  // The same octets on another connection are another request.
  const other = connect(gateway);
  const counted = await gateway.counted(async () => {
    other.send(request.bytes);
    await other.next();
  });
  assertEquals(counted.duplicates, undefined);
});

Deno.test("RADIUS/1.1: Token, no Message-Authenticator, a password in clear, and reserved fields that are ignored", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway, oneDotOne);
  const token = 0xfedcba98;
  peer.send(buildTokenPacket({ ...login(token), reserved1: 7, reserved2: new Uint8Array(12).fill(9) }));
  const reply = readTokenPacket(await peer.next());
  assertEquals([reply.code, reply.token], [CODES.accessChallenge, token]);
  assertEquals([reply.reserved1, reply.reserved2], [0, new Uint8Array(12)]);
  assertEquals(reply.attributes.some(({ type }) => type === TYPES.messageAuthenticator), false);
});

Deno.test("RADIUS/1.1: a Message-Authenticator with any value is ignored", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway, oneDotOne);
  const { attributes } = login(1);
  const wrong = { type: TYPES.messageAuthenticator, value: new Uint8Array(16).fill(1) };
  peer.send(buildTokenPacket(login(1, { attributes: [...attributes, wrong] })));
  assertEquals(readTokenPacket(await peer.next()).code, CODES.accessChallenge);
});

Deno.test("RADIUS/1.1: State and a wrong answer work as with UDP", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway, oneDotOne);
  peer.send(buildTokenPacket(login(1)));
  const challenge = readTokenPacket(await peer.next());
  const state = challenge.attributes.find(({ type }) => type === TYPES.state);
  const [userName, , nasPort] = login(1).attributes;
  const answer = { type: TYPES.userPassword, value: text("cancel") };
  peer.send(
    buildTokenPacket(login(2, { attributes: [given(userName), answer, given(nasPort), given(state)] })),
  );
  const reply = readTokenPacket(await peer.next());
  assertEquals([reply.code, reply.token], [CODES.accessChallenge, 2]);
});

Deno.test("RADIUS/1.1: CHAP without CHAP-Challenge is refused, because there is no Request Authenticator", async () => {
  await using gateway = await openWholeGateway(`
[[radius.client]]
name = "nas"
tls = { san = "nas.example.org" }
first_factor = "radius"
first_factor_server = { address = "192.0.2.20:1812", secret = "of-the-first-factor" }
`);
  const peer = connect(gateway, oneDotOne);
  const attributes = [
    { type: TYPES.userName, value: text("ada") },
    { type: CHAP_PASSWORD, value: new Uint8Array(17) },
  ];
  peer.send(buildTokenPacket(login(1, { attributes })));
  await gateway.finish();
  assertEquals(readTokenPacket(await peer.next()).code, CODES.accessReject);
  const challenge = { type: CHAP_CHALLENGE, value: new Uint8Array(16) };
  peer.send(buildTokenPacket(login(2, { attributes: [...attributes, challenge] })));
  assertEquals(peer.received, []);
});

Deno.test("RADIUS/1.1: attributes of the first-factor server are not hidden", () => {
  const key = { secret: TLS_PROTECTION, authenticator: new Uint8Array(16) };
  const list = [
    { type: TUNNEL_PASSWORD, value: Uint8Array.of(1, ...text("secret of a tunnel")) },
    { type: VENDOR_SPECIFIC, value: Uint8Array.of(0, 0, 1, 55, 16, 18, ...new Uint8Array(16).fill(7)) },
  ];
  const writer = new PacketWriter();
  writer.begin(CODES.accessAccept, 0);
  writeClearAttributes(writer, list, { ...key, random: { bytes: (length) => new Uint8Array(length) } });
  const packet = TLS_PROTECTION.signReply(writer, buildTokenPacket(login(1)));
  assertEquals(readTokenPacket(packet).attributes, list);
  assertEquals(readClearAttributes(packet, key), { ok: true, value: list });
});

Deno.test("RADIUS/1.1: a Token is used again after its answer, but not before", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway, oneDotOne);
  peer.send(buildTokenPacket(login(5)));
  await peer.next();
  // Another user with the same Token must not get the answer of the first one.
  const other = login(5).attributes.map((one) =>
    one.type === TYPES.userName ? { ...one, value: text("bea") } : one
  );
  const requests = await gateway.counted(async () => {
    peer.send(buildTokenPacket(login(5, { attributes: other })));
    await peer.next();
  });
  assertEquals([requests.requests, requests.duplicates], [1, undefined]);

  const release = gateway.store.hold();
  const accounting = [
    { type: TYPES.acctStatusType, value: Uint8Array.of(0, 0, 0, 1) },
    { type: TYPES.acctSessionId, value: text("s-1") },
  ];
  peer.send(buildTokenPacket({ code: CODES.accountingRequest, token: 6, attributes: accounting }));
  peer.send(buildTokenPacket(login(6)));
  assertEquals(peer.end_, "ended");
  assertStringIncludes(await gateway.logText(), "token_reused");
  release();
});

Deno.test("RADIUS/1.1: an accepted login, sent again on another connection with its Token, is another login", async () => {
  const toml = CLIENTS.replace('tls = { san = "nas.example.org" }', "$&\nappend_mode = true");
  await using world = await startInProcess({ toml });
  await give(world, "ada", { kind: "totp", seed: SEED });
  const [userName, , nasPort] = login(1).attributes;
  const password = { type: TYPES.userPassword, value: text(`first,${appCode(world.clock.nowMs())}`) };
  const packet = buildTokenPacket(login(1, { attributes: [given(userName), password, given(nasPort)] }));
  const codes: number[] = [];
  for (const peer of [connect(world, oneDotOne), connect(world, oneDotOne)]) {
    peer.send(packet.slice());
    codes.push(readTokenPacket(await whileTimePasses(world.clock, peer.next())).code);
  }
  // The code was used (RFC 9765 §4.2.2: packets of different connections are different).
  assertEquals(codes, [CODES.accessAccept, CODES.accessReject]);
});

Deno.test("accounting and Status-Server use the same connection", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const parts: RequestParts = {
    more: [
      { type: TYPES.acctStatusType, value: Uint8Array.of(0, 0, 0, 1) },
      { type: TYPES.acctSessionId, value: text("s-1") },
    ],
    userName: "ada",
  };
  const old = connect(gateway);
  const report = buildAccountingRequest(SECRET, parts);
  old.send(report.bytes);
  assertEquals(readReply(await old.next(), report, SECRET).code, CODES.accountingResponse);
  const status = buildRequest(SECRET, { code: CODES.statusServer });
  old.send(status.bytes);
  const answer = readReply(await old.next(), status, SECRET);
  assertEquals([answer.code, answer.problems], [CODES.accessAccept, []]);

  const modern = connect(gateway, oneDotOne);
  modern.send(buildTokenPacket({ code: CODES.statusServer, token: 1, attributes: [] }));
  assertEquals(readTokenPacket(await modern.next()).code, CODES.accessAccept);
  const { more = [] } = parts;
  modern.send(buildTokenPacket({ code: CODES.accountingRequest, token: 2, attributes: more }));
  const response = readTokenPacket(await modern.next());
  assertEquals([response.code, response.token], [CODES.accountingResponse, 2]);
});

Deno.test("RADIUS/1.1: a request that cannot be answered now gets Protocol-Error with Error-Cause 506", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const peer = connect(gateway, oneDotOne);
  gateway.store.breakWith(new Error("the disk is full"));
  const attributes = [
    { type: TYPES.acctStatusType, value: Uint8Array.of(0, 0, 0, 1) },
    { type: TYPES.acctSessionId, value: text("s-1") },
  ];
  peer.send(buildTokenPacket({ code: CODES.accountingRequest, token: 3, attributes }));
  const reply = readTokenPacket(await peer.next());
  assertEquals([reply.code, reply.token], [PROTOCOL_ERROR, 3]);
  assertEquals(reply.attributes, [{ type: ERROR_CAUSE, value: Uint8Array.of(0, 0, 1, 250) }]);
  gateway.store.breakWith(null);
});

const NAKS = [
  ["radius/1.0", 40, 42],
  ["radius/1.0", 43, 45],
  ["radius/1.1", 40, 42],
  ["radius/1.1", 99, PROTOCOL_ERROR],
] as const;
for (const [protocol, code, expected] of NAKS) {
  Deno.test(`${protocol}: a packet with code ${code} gets ${expected} with Error-Cause 406, and the connection stays`, async () => {
    await using gateway = await openWholeGateway(CLIENTS);
    const peer = connect(gateway, { protocol });
    peer.send(buildTokenPacket({ code, token: 1, attributes: [] }));
    const reply = readTokenPacket(await peer.next());
    assertEquals([reply.code, reply.attributes], [
      expected,
      [{ type: ERROR_CAUSE, value: Uint8Array.of(0, 0, 1, 150) }],
    ]);
    assertEquals(peer.isOpen, true);
  });
}

const CLIENT_ROWS: readonly (readonly [what: string, peer: Partial<TlsPeer>, client: string | null])[] = [
  ["a name", { names: ["URI:urn:x", "DNS:nas.example.org"] }, "nas"],
  ["a name with one more label", { names: ["DNS:a.aps.example.org"], source: "192.0.2.1" }, "aps"],
  ["no name with two more labels", { names: ["DNS:a.b.aps.example.org"], source: "192.0.2.1" }, null],
  [
    "no address outside those of the client",
    { names: ["DNS:a.aps.example.org"], source: "198.51.100.1" },
    null,
  ],
  ["a fingerprint", { names: [], fingerprint: FINGERPRINT }, "pinned"],
  ["no other name", { names: ["DNS:other.example.org"] }, null],
  ["no name in a name of another kind", { names: ["URI:nas.example.org", "email:nas.example.org"] }, null],
  ["no TLS 1.2 with RADIUS/1.1", { ...oneDotOne, isTls13: false }, null],
  ["TLS 1.2 with RADIUS/1.0", { isTls13: false }, "nas"],
];
for (const [what, peer, expected] of CLIENT_ROWS) {
  Deno.test(`a client is known by its certificate: ${what}`, async () => {
    await using gateway = await openWholeGateway(CLIENTS);
    const stream = connect(gateway, peer);
    assertEquals(stream.isOpen, expected !== null);
    assertEquals([...gateway.radius.radsec.byClient().keys()], expected === null ? [] : [expected]);
  });
}

Deno.test("a client of TLS is not served by UDP", async () => {
  await using gateway = await openWholeGateway(CLIENTS);
  const request = buildRequest(SECRET, { userName: "ada", password: "first" });
  const counted = await gateway.counted(() =>
    gateway.deliver(request.bytes, { hostname: "192.0.2.20", port: 1000 })
  );
  assertEquals([counted.dropped_unknown_client, gateway.sent.length], [1, 0]);
});

const DISCONNECT_ACK = 41;

for (const protocol of ["radius/1.0", "radius/1.1"] as const) {
  Deno.test(`${protocol}: the gateway ends a session on the connection of its client`, async () => {
    await using gateway = await openWholeGateway(CLIENTS);
    const { radsec } = gateway.radius;
    assertEquals(radsec.findDisconnectStream("pinned", "192.0.2.9"), null);
    const peer = connect(gateway, { protocol, fingerprint: FINGERPRINT, names: [] });
    const stream = given(radsec.findDisconnectStream("pinned", "198.51.100.9"));
    const done = stream.exchange((identifier) =>
      buildTokenPacket({ code: 40, token: identifier, reserved1: identifier & 0xff, attributes: [] })
    );
    const request = readTokenPacket(await peer.next());
    peer.send(buildTokenPacket({ ...request, code: DISCONNECT_ACK, token: request.token }));
    assertEquals((await done)?.answer[0], DISCONNECT_ACK);
    // A client that hangs up answers nothing.
    const lost = stream.exchange((identifier) =>
      buildTokenPacket({ code: 40, token: identifier, attributes: [] })
    );
    peer.hangUp();
    assertEquals(await lost, null);
    assertEquals(radsec.findDisconnectStream("pinned", "192.0.2.9"), null);
  });
}
