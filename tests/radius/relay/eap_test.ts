// The EAP codec, and MS-CHAP in RADIUS packets.

import { assert, assertEquals } from "@std/assert";
import {
  decodeEap,
  EAP_METHODS,
  eapFailure,
  eapIdentity,
  eapMsChapError,
  eapMsChapName,
  type EapPacket,
  eapSuccess,
  encodeEap,
  isIdentityBound,
  joinEapMessages,
  joinOctets,
  splitEapMessage,
} from "../../../radius/protocol/eap.ts";
import { encodeMsChapError, readMsChap } from "../../../radius/protocol/ms_chap.ts";
import { buildRequest } from "../../support/radius_packets.ts";
import { eapMessages, eapPacket, microsoft } from "../../support/relay_server.ts";
import fc from "../../packages/fast_check.ts";

const octets = (...values: number[]) => Uint8Array.from(values);
const text = (value: string) => new TextEncoder().encode(value);
const packetOf = (more: readonly { type: number; value: Uint8Array }[]) =>
  buildRequest("secret", { userName: "anna", more }).bytes;

const REFUSED: Record<string, Uint8Array> = {
  "no octets": octets(),
  "fewer than four octets": octets(2, 1, 0),
  "a Length below four": octets(2, 1, 0, 3, 1),
  "a Length above the packet": octets(2, 1, 0, 6, 1),
  "an unknown Code": octets(5, 1, 0, 5, 1),
  "Code 0": octets(0, 1, 0, 5, 1),
  "a Response without a Type": octets(2, 1, 0, 4),
};
for (const [what, packet] of Object.entries(REFUSED)) {
  Deno.test(`decodeEap() refuses ${what}`, () => assertEquals(decodeEap(packet), null));
}

Deno.test("decodeEap() ignores padding behind Length (RFC 3748 §4.1)", () => {
  assertEquals(decodeEap(octets(2, 9, 0, 6, 4, 7, 1, 2, 3)), {
    code: 2,
    identifier: 9,
    type: 4,
    data: octets(7),
  });
});

Deno.test("decodeEap() reads an expanded Nak as a Nak, and another expanded type as a vendor's (RFC 3748 §5.3.2, §5.7)", () => {
  const expanded = (vendor: number, type: number) =>
    decodeEap(eapPacket(2, 1, 254, [0, 0, vendor, 0, 0, 0, type]))?.type;
  assertEquals([expanded(0, 3), expanded(0, 26), expanded(9, 3)], [3, 254, 254]);
});

Deno.test("decodeEap(encodeEap(x)) is x, and no octets make it throw", () => {
  const packets = fc.record({
    code: fc.constantFrom(1, 2),
    identifier: fc.nat(255),
    type: fc.nat(253),
    data: fc.uint8Array({ maxLength: 3000 }),
  });
  fc.assert(fc.property(packets, (packet) => assertEquals(decodeEap(encodeEap(packet)), packet)));
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (garbage) => {
    const eap = decodeEap(garbage);
    if (eap === null) return;
    eapIdentity(eap);
    eapMsChapName(eap);
    eapMsChapError(eap);
  }));
});

Deno.test("an EAP packet of 4000 octets is split into EAP-Messages of at most 253 octets, and joined in order", () => {
  fc.assert(fc.property(fc.uint8Array({ minLength: 1, maxLength: 3900 }), (eap) => {
    const parts = splitEapMessage(eap);
    assert(parts.every(({ length }) => length > 0 && length <= 253));
    assert(parts.slice(0, -1).every(({ length }) => length === 253));
    assertEquals(joinOctets(parts), eap);
    assertEquals(joinEapMessages(packetOf(eapMessages(eap))), eap);
  }));
});

Deno.test("joinEapMessages() refuses EAP-Messages with another attribute between them (RFC 3579 §3.1)", () => {
  const between = [{ type: 5, value: octets(0, 0, 0, 1) }];
  const separated = eapMessages(new Uint8Array(300)).flatMap((one) => [one, ...between]);
  assertEquals(joinEapMessages(packetOf(separated)), null);
  assertEquals(joinEapMessages(packetOf([])), null);
  assertEquals(joinEapMessages(packetOf([{ type: 79, value: octets() }])), octets());
});

Deno.test("eapSuccess() and eapFailure() repeat the Identifier (RFC 3748 §4.2)", () => {
  assertEquals([eapSuccess(7), eapFailure(200)], [octets(3, 7, 0, 4), octets(4, 200, 0, 4)]);
});

Deno.test("eapIdentity() is the name up to a NUL, and null for any other packet", () => {
  const identity = (code: number, type: number, data: Uint8Array) =>
    eapIdentity(decodeEap(eapPacket(code, 1, type, data)) as EapPacket);
  assertEquals(identity(2, 1, text("anna@corp\0nas=1")), text("anna@corp"));
  assertEquals([identity(1, 1, text("anna")), identity(2, 4, text("anna"))], [null, null]);
});

Deno.test("EAP_METHODS bind the identity only where the proof contains it", () => {
  const bound = Object.entries(EAP_METHODS).filter(([, row]) => row.isIdentityBound).map(([name]) => name);
  assertEquals(bound, ["EAP-MD5", "EAP-GTC", "EAP-MSCHAPv2"]);
  assertEquals([isIdentityBound(25), isIdentityBound(99), isIdentityBound(254)], [false, false, false]);
});

Deno.test("eapMsChapName() is the Name behind the value of a Response (draft-kamath-pppext-eap-mschapv2 §2.2)", () => {
  const name = (data: Iterable<number>) => eapMsChapName(decodeEap(eapPacket(2, 1, 26, data)) as EapPacket);
  const value = new Uint8Array(49);
  assertEquals(name([2, 1, 0, 58, 49, ...value, ...text("anna")]), text("anna"));
  assertEquals(name([2, 1, 0, 54, 49, ...value]), octets());
  assertEquals([name([2, 1, 0, 54, 49, ...value.subarray(1)]), name([3]), name([2, 1])], [null, null, null]);
  // Another Value-Size would move the name.
  assertEquals(name([2, 1, 0, 61, 52, ...value, ...text("bobanna")]), null);
});

Deno.test("eapMsChapError() is the number behind E= in a Failure Request (RFC 2759 §6)", () => {
  const error = (code: number, message: string, opCode = 4) =>
    eapMsChapError(decodeEap(eapPacket(code, 1, 26, [opCode, 1, 0, 9, ...text(message)])) as EapPacket);
  assertEquals([error(1, "E=691 R=0 C=00"), error(1, "E=648 R=0")], [691, 648]);
  assertEquals([error(2, "E=691"), error(1, "E=691", 3), error(1, "oops")], [null, null, null]);
});

const RESPONSE = new Uint8Array(50).fill(7);

Deno.test("readMsChap() finds the response in a Vendor-Specific with several attributes (RFC 2865 §5.26)", () => {
  const challenge = microsoft(11, new Uint8Array(16)).value;
  const both = octets(...challenge, 25, 52, ...RESPONSE);
  const found = readMsChap(packetOf([{ type: 26, value: both }]));
  assertEquals(found, { responses: 1, version: 2, ident: 7, isChange: false, isMalformed: false });
  assertEquals(readMsChap(packetOf([microsoft(1, RESPONSE)]))?.version, 1);
});

Deno.test("readMsChap() reports several responses, wrong lengths and changes of the password", () => {
  const read = (...more: { type: number; value: Uint8Array }[]) => readMsChap(packetOf(more));
  assertEquals(read(microsoft(25, RESPONSE), microsoft(1, RESPONSE))?.responses, 2);
  assertEquals(read(microsoft(25, RESPONSE.subarray(1)))?.isMalformed, true);
  assertEquals([3, 4, 27].map((type) => read(microsoft(type, RESPONSE))?.isChange), [true, true, true]);
  assertEquals([read(), read(microsoft(11, RESPONSE)), read({ type: 26, value: octets(0, 0, 1, 55, 25) })], [
    null,
    null,
    null,
  ]);
});

Deno.test("encodeMsChapError() allows no retry, and has the challenge and the version of its protocol (RFC 2433 §6, RFC 2759 §6)", () => {
  const challenge = new Uint8Array(16).fill(0xab);
  const error = (version: 1 | 2) =>
    encodeMsChapError({ version, ident: 9 }, { challenge, message: "Nein, grün\n" });
  const plain = (value: Uint8Array) => new TextDecoder().decode(value.subarray(7));
  assertEquals([...error(2).subarray(0, 7)], [0, 0, 1, 55, 2, error(2).length - 4, 9]);
  assertEquals(plain(error(2)), `E=691 R=0 C=${"AB".repeat(16)} V=3 M=Nein, gr?n?`);
  assertEquals(plain(error(1)), `E=691 R=0 C=${"AB".repeat(8)} V=2 M=Nein, gr?n?`);
  const long = encodeMsChapError({ version: 2, ident: 9 }, { challenge, message: "x".repeat(999) });
  assert(long.length <= 253);
});
