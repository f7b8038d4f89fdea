// Message-Authenticator: what a client must send, and what it has learned.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import fc from "../packages/fast_check.ts";
import { findMessageAuthenticator, SharedSecret } from "../../radius/protocol/authenticity.ts";
import { authenticatorOf, PacketView, PacketWriter } from "../../radius/protocol/packet.ts";
import { buildRequest, hidePassword, readReply } from "../support/radius_packets.ts";
import { asBuilt, buildDatagram } from "./packet_vectors.ts";
import { RFC_VECTORS, rfcVector } from "./rfc_vectors.ts";
import { openWholeGateway, until, type WholeGateway } from "./whole_gateway.ts";
import { UnsignedLimits } from "../../radius/server/unsigned_requests.ts";
import type { Request } from "../../radius/server/request.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

// Uses of a shared secret, tested with the packets of the RFCs, with node:crypto, and with laws.

const secrets = fc.string({ unit: "binary", minLength: 1, maxLength: 60 });
const authenticators = fc.uint8Array({ minLength: 16, maxLength: 16 });
const encode = (text: string) => new TextEncoder().encode(text);

function signaturePlace(packet: Uint8Array) {
  const place = findMessageAuthenticator(packet);
  if (place === null) throw new Error("The packet has no Message-Authenticator");
  return { ...place, lengthOctets: packet.length };
}

Deno.test("SharedSecret.revealPassword() reads the passwords of RFC 2865 §7", () => {
  const view = new PacketView();
  let read = 0;
  for (const { hex, secret, password } of RFC_VECTORS) {
    if (password === undefined || secret === undefined) continue;
    const octets = Uint8Array.fromHex(hex);
    view.read(octets, octets.length);
    const hidden = view.value("userPassword") ?? new Uint8Array(0);
    const plain = new SharedSecret(secret).revealPassword(hidden, authenticatorOf(octets));
    assertEquals(new TextDecoder().decode(plain ?? undefined), password);
    read++;
  }
  assertEquals(read, 4);
});

for (const vector of RFC_VECTORS.filter(({ reply_to }) => reply_to !== undefined)) {
  const { id, hex, secret = "", reply_to = "", response_authenticator: judged } = vector;
  Deno.test(`SharedSecret.isAnswerTo() finds ${id} ${judged === "valid" ? "right" : "wrong"}`, () => {
    const request = Uint8Array.fromHex(rfcVector(reply_to).hex);
    const reply = Uint8Array.fromHex(hex);
    const shared = new SharedSecret(secret);
    assertEquals(shared.isAnswerTo(reply, authenticatorOf(request)), judged === "valid");
    assertEquals(new SharedSecret(`${secret}!`).isAnswerTo(reply, authenticatorOf(request)), false);
  });
}

Deno.test("SharedSecret.isAuthentic() accepts the Status-Servers of RFC 5997 §6, and no alteration of them", () => {
  const signed = RFC_VECTORS.filter(({ message_authenticator }) => message_authenticator === "valid");
  assertEquals(signed.length, 3);
  for (const { hex, secret = "" } of signed) {
    const octets = Uint8Array.fromHex(hex);
    const shared = new SharedSecret(secret);
    assert(shared.isAuthentic(octets, signaturePlace(octets)));
    for (let at = 0; at < octets.length; at++) {
      const place = signaturePlace(octets);
      const altered = Uint8Array.from(octets);
      altered[at] = (altered[at] ?? 0) ^ 1;
      assertEquals(shared.isAuthentic(altered, place), false, `octet ${at}`);
    }
  }
});

Deno.test("SharedSecret.isAuthentic() agrees with node:crypto, with the attribute first or last, and ignores padding", () => {
  const where = fc.constantFrom("first" as const, "last" as const);
  fc.assert(fc.property(secrets, fc.string({ maxLength: 80 }), where, (secret, userName, place) => {
    const { bytes } = buildRequest(secret, { userName, password: "x", messageAuthenticator: place });
    const shared = new SharedSecret(secret);
    assert(shared.isAuthentic(bytes, signaturePlace(bytes)));
    const padded = Uint8Array.from([...bytes, 1, 2, 3]);
    assert(shared.isAuthentic(padded, signaturePlace(bytes)));
  }));
});

Deno.test("SharedSecret.isAuthentic() refuses a signature of any size except 16", () => {
  const shared = new SharedSecret("s");
  const { bytes } = buildRequest("s", { userName: "ada" });
  for (const valueOctets of [0, 1, 15, 17, 253]) {
    assertEquals(shared.isAuthentic(bytes, { ...signaturePlace(bytes), valueOctets }), false);
  }
});

Deno.test("SharedSecret.signReply() makes replies that the reply checker of the tests accepts", () => {
  const writer = new PacketWriter();
  const texts = fc.array(fc.uint8Array({ minLength: 1, maxLength: 253 }), { maxLength: 10 });
  fc.assert(fc.property(secrets, texts, fc.uint8Array({ maxLength: 9 }), (secret, messages, proxyState) => {
    const request = buildRequest(secret, { userName: "ada", more: [{ type: 33, value: proxyState }] });
    const shared = new SharedSecret(secret);
    shared.beginSigned(writer, 3, request.identifier);
    for (const message of messages) writer.attribute(18, message);
    writer.attribute(33, proxyState);
    const reply = shared.signReply(writer, request.bytes);
    assertEquals(readReply(reply, request, secret).problems, []);
    assert(shared.isAnswerTo(reply, request.authenticator));
    assert(shared.isAuthentic(reply, signaturePlace(reply), request.authenticator));
  }));
});

Deno.test("SharedSecret.signReply() leaves no octet of the secret after the packet", () => {
  const writer = new PacketWriter();
  const shared = new SharedSecret("do-not-leave-me-here");
  shared.beginSigned(writer, 2, 0);
  const reply = shared.signReply(writer, new Uint8Array(20));
  assertEquals(reply.length, 38);
  assert(writer.octets.subarray(38).every((octet) => octet === 0));
});

Deno.test("SharedSecret.signRequest() makes requests that node:crypto verifies", () => {
  const writer = new PacketWriter();
  const shared = new SharedSecret("s");
  shared.beginSigned(writer, 1, 9);
  writer.attribute(1, encode("ada"));
  const authenticator = Uint8Array.from({ length: 16 }, (_, i) => 255 - i);
  const ours = shared.signRequest(writer, authenticator);
  assertEquals(ours, buildRequest("s", { identifier: 9, authenticator, userName: "ada" }).bytes);
  assertEquals(asBuilt(ours).authenticator, authenticator);
});

Deno.test("SharedSecret.hidePassword() hides a password as in RFC 2865 §5.2, for every length up to 128", () => {
  const passwords = fc.uint8Array({ maxLength: 128 });
  fc.assert(fc.property(secrets, authenticators, passwords, (secret, authenticator, plain) => {
    const hidden = new SharedSecret(secret).hidePassword(plain, authenticator);
    assertEquals(hidden, hidePassword(plain, { secret, authenticator }));
  }));
});

Deno.test("SharedSecret.revealPassword() restores every password of 0 to 128 octets, also with a NUL inside", () => {
  const shared = new SharedSecret("s");
  const authenticator = new Uint8Array(16).fill(9);
  for (let length = 0; length <= 128; length++) {
    const plain = Uint8Array.from({ length }, (_, i) => i % 5 === 2 && i < length - 1 ? 0 : 1 + (i % 250));
    const hidden = shared.hidePassword(plain, authenticator);
    assertEquals(hidden.length, Math.max(16, Math.ceil(length / 16) * 16));
    assertEquals(shared.revealPassword(hidden, authenticator), plain, `length ${length}`);
  }
});

Deno.test("SharedSecret.revealPassword() returns null for every size that a hidden password cannot have", () => {
  const shared = new SharedSecret("s");
  for (let length = 0; length <= 253; length++) {
    // Zero octets are an empty password.
    const right = length <= 128 && length % 16 === 0;
    const plain = shared.revealPassword(new Uint8Array(length), new Uint8Array(16));
    assertEquals(plain !== null, right, `length ${length}`);
  }
});

Deno.test("SharedSecret accepts secrets of 1 to 256 octets, and computes with the longest one", () => {
  assertThrows(() => new SharedSecret(""), RangeError);
  assertThrows(() => new SharedSecret("é".repeat(129)), RangeError);
  for (const secret of ["s", "x".repeat(63), "x".repeat(64), "x".repeat(65), "é".repeat(128)]) {
    const shared = new SharedSecret(secret);
    const authenticator = new Uint8Array(16).fill(3);
    const plain = new Uint8Array(128).fill(7);
    const hidden = shared.hidePassword(plain, authenticator);
    assertEquals(hidden, hidePassword(plain, { secret, authenticator }));
    const { bytes } = buildRequest(secret, { userName: "ada" });
    assert(shared.isAuthentic(bytes, signaturePlace(bytes)));
  }
});

Deno.test("SharedSecret signs a reply of 4096 octets with the longest secret", () => {
  const secret = "y".repeat(256);
  const shared = new SharedSecret(secret);
  const writer = new PacketWriter();
  const request = buildRequest(secret, { userName: "ada" });
  shared.beginSigned(writer, 2, request.identifier);
  while (writer.roomOctets > 2) writer.attribute(25, new Uint8Array(Math.min(253, writer.roomOctets - 2)));
  const reply = shared.signReply(writer, request.bytes);
  assertEquals(reply.length, 4096);
  assertEquals(readReply(reply, request, secret).problems, []);
  const expected = Uint8Array.from(reply);
  expected.set(request.authenticator, 4);
  const digest = createHash("md5").update(expected).update(secret).digest();
  assertEquals(reply.slice(4, 20), Uint8Array.from(digest));
});

// `message_authenticator = "auto"`: source addresses that sign their requests must sign from then on.

const SECRET = "a-secret-for-the-gate";
const PLAIN_CLIENT = `
[[radius.client]]
name = "plain"
address = ["192.0.2.1"]
secret = "${SECRET}"
`;

Deno.test("auto stores the addresses that sign, and forget() removes them", async () => {
  await using gateway = await openWholeGateway(PLAIN_CLIENT);
  const from = { hostname: "192.0.2.1", port: 1024 };
  const play = (script: string, identifier: number) =>
    gateway.counted(async () => {
      await gateway.deliver(buildDatagram(script, { secret: SECRET, identifier }), from);
      await gateway.finish();
    });
  await play("user ada; password x; sign first", 1);
  await until(() => gateway.radius.signingClients.names.has("plain"));
  assertEquals((await gateway.store.get(["learnt", "plain", "192.0.2.1"])).value, true);
  assertEquals((await play("user ada; password x", 2)).dropped_missing_message_authenticator, 1);
  assertEquals(await gateway.radius.signingClients.forget("plain"), true);
  assertEquals((await play("user ada; password x", 3)).challenges, 1);
  assertMatch(
    await gateway.logText(),
    /warn +this address signs its requests.* client=plain source=192\.0\.2\.1 forget="?deno task client forget plain/,
  );
});

/** A client of two addresses and one of a network, each with an address that signs. */
const MANY = [["pair", "192.0.2.1", "192.0.2.2"], ["net", "10.1.0.7", "10.1.9.9"]] as const;
const MANY_CLIENTS = `
[[radius.client]]
name = "pair"
address = ["192.0.2.1", "192.0.2.2"]
secret = "${SECRET}"
[[radius.client]]
name = "net"
address = ["10.1.0.0/16"]
secret = "${SECRET}"
`;

/** Plays one packet and returns its counter. */
function player(gateway: WholeGateway) {
  let identifier = 0;
  return async (script: string, hostname: string): Promise<string> => {
    const octets = buildDatagram(script, { secret: SECRET, identifier: identifier++ & 0xff });
    const risen = await gateway.counted(async () => {
      await gateway.deliver(octets, { hostname, port: 1024 });
      await gateway.finish();
    });
    const names = Object.keys(risen);
    return names.find((name) => name.startsWith("dropped_"))?.slice(8) ??
      names.find((name) => ["challenges", "rejects", "accepts", "status_answers"].includes(name)) ?? "";
  };
}

const SIGNED = "user ada; password x; sign first";
const UNSIGNED = "user ada; password x";
const MISSING = "missing_message_authenticator";

Deno.test("auto learns per source address, also of a client with several addresses or a network, and after a restart", async () => {
  await using gateway = await openWholeGateway(MANY_CLIENTS);
  for (const [name, signs, other] of MANY) {
    const play = player(gateway);
    assertEquals(await play(UNSIGNED, signs), "challenges");
    assertEquals(await play(SIGNED, signs), "challenges");
    assertEquals(await play(UNSIGNED, signs), MISSING);
    assertEquals(await play(UNSIGNED, other), "challenges");
    assertEquals(gateway.radius.signingClients.addressesOf(name), [signs]);
    const { signing } = gateway.radius.register.find(name) ?? {};
    assertEquals(signing, { required: "learnt", addresses: [signs], count: 1, acceptsUnsigned: true });
  }
  await until(async () => (await gateway.store.get(["learnt", "net", "10.1.0.7"])).value === true);
  const again = await gateway.reopen();
  assertEquals([...again.signingClients.names].sort(), ["net", "pair"]);
  assertEquals(again.signingClients.addressesOf("net"), ["10.1.0.7"]);
});

Deno.test("auto learns nothing from Status-Server and from EAP", async () => {
  await using gateway = await openWholeGateway(MANY_CLIENTS);
  const play = player(gateway);
  assertEquals(await play("code 12; sign first", "192.0.2.1"), "status_answers");
  assertEquals(await play("user ada; attr 79 0201000501; sign first", "192.0.2.1"), "rejects");
  assertEquals(await play(UNSIGNED, "192.0.2.1"), "challenges");
  assertEquals(gateway.radius.signingClients.addressesOf("pair"), []);
});

Deno.test("auto learns nothing from an address whose unsigned logins succeeded in the last seven days", async () => {
  await using gateway = await openWholeGateway(MANY_CLIENTS, { unsigned: [["pair", "192.0.2.1"]] });
  const play = player(gateway);
  const warnings = async () =>
    (await gateway.logText()).split("sends signed and unsigned requests").length - 1;
  for (let count = 0; count < 3; count++) {
    assertEquals(await play(SIGNED, "192.0.2.1"), "challenges");
    assertEquals(await play(UNSIGNED, "192.0.2.1"), "challenges");
  }
  assertEquals([gateway.radius.signingClients.addressesOf("pair"), await warnings()], [[], 1]);
  // Another address of the client is not affected.
  await play(SIGNED, "192.0.2.2");
  assertEquals(await play(UNSIGNED, "192.0.2.2"), MISSING);
  gateway.clock.advance(7 * 24 * 3_600_000);
  assertEquals(await play(SIGNED, "192.0.2.1"), "challenges");
  assertEquals(await play(UNSIGNED, "192.0.2.1"), MISSING);
});

Deno.test("Status-Server, EAP and accounting do not teach auto that a client signs its logins", async () => {
  await using gateway = await openWholeGateway(PLAIN_CLIENT);
  const from = { hostname: "192.0.2.1", port: 1024 };
  const play = (script: string, identifier: number) =>
    gateway.counted(async () => {
      await gateway.deliver(buildDatagram(script, { secret: SECRET, identifier }), from);
      await gateway.finish();
    });
  await play("code 12; sign first", 1);
  await play("user ada; attr 79 0201000601; sign first", 2);
  await play("acct right; attr 40 00000007; sign first", 3);
  assertEquals((await play("user ada; password x", 4)).challenges, 1);
  assertEquals(gateway.radius.signingClients.names.size, 0);
});

// Limits of unsigned requests: for each source address, and for all requests together that do not prove the secret.

const STATE = new TextEncoder().encode("CHOOSE_WHICH_MULTIFACTOR");

function viewOf(state?: Uint8Array): PacketView {
  const view = new PacketView();
  const { bytes } = buildRequest("s", { userName: "ada", ...(state === undefined ? {} : { state }) });
  view.read(bytes, bytes.length);
  return view;
}

/** The properties of a request that the limits read. */
function request(
  parts: { source?: string; signed?: boolean; hasProof?: boolean; anyAddress?: boolean },
): Request {
  const { source = "192.0.2.1", signed = false, hasProof = false, anyAddress = false } = parts;
  return { source, signed, hasProof, client: { anyAddress } } as unknown as Request;
}

const count = (times: number, test: (at: number) => boolean) =>
  Array.from({ length: times }, (_, at) => test(at)).filter(Boolean).length;

Deno.test("a signed login is not limited, and neither is an answer", () => {
  const limits = new UnsignedLimits(createManualClock());
  const signed = request({ signed: true, hasProof: true });
  assertEquals(count(10_000, () => limits.mayBegin(signed, viewOf())), 10_000);
  assertEquals(count(1000, () => limits.mayBegin(request({}), viewOf(STATE))), 1000);
});

Deno.test("unsigned logins of one source: fewer without a readable password, and they do not use up the limit of the others", () => {
  const clock = createManualClock();
  const limits = new UnsignedLimits(clock);
  assertEquals(count(5000, () => limits.mayBegin(request({}), viewOf())), 100);
  assertEquals(count(5000, () => limits.mayBegin(request({ hasProof: true }), viewOf())), 1000);
  clock.advance(1000);
  assertEquals(count(5000, () => limits.mayBegin(request({}), viewOf())), 50);
  assertEquals(count(5000, () => limits.mayBegin(request({ hasProof: true }), viewOf())), 500);
});

Deno.test("unsigned logins from invented sources share a limit if they do not prove the secret", () => {
  const limits = new UnsignedLimits(createManualClock());
  const flood = (at: number) => limits.mayBegin(request({ source: `10.0.${at >> 8}.${at & 255}` }), viewOf());
  assertEquals(count(5000, flood), 2000);
  assertEquals(limits.mayBegin(request({ source: "192.0.2.9", hasProof: true }), viewOf()), true);
});

Deno.test("Rejects without a conversation are limited per source, and counted once where any address is accepted", () => {
  const limits = new UnsignedLimits(createManualClock());
  assertEquals(count(1000, () => limits.mayReject(request({ hasProof: true }))), 100);
  assertEquals(count(1000, () => limits.mayReject(request({ signed: true, hasProof: true }))), 1000);
  // The server used the token of such a request when it arrived.
  assertEquals(count(1000, () => limits.mayReject(request({ anyAddress: true }))), 1000);
});
