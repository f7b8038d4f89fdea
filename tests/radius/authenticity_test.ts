// Uses of a shared secret, tested with the packets of the RFCs, with node:crypto, and with laws.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { createHash } from "node:crypto";
import { findMessageAuthenticator, SharedSecret } from "../../radius/protocol/authenticity.ts";
import { authenticatorOf, PacketView, PacketWriter } from "../../radius/protocol/packet.ts";
import { buildRequest, hidePassword, readReply } from "../support/radius_packets.ts";
import { asBuilt } from "./packet_vectors.ts";
import { RFC_VECTORS, rfcVector } from "./rfc_vectors.ts";

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
