// The proof of a relayed request, and the key by which a re-issued packet is recognized, for any packet.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { createHmacMd5 } from "../../../radius/protocol/md5.ts";
import { readRelayedProof, relayKeyOf } from "../../../radius/relay/relayed_logins.ts";
import { type Attribute, buildRequest, type RequestParts } from "../../support/radius_packets.ts";
import { eapMessages, eapPacket, microsoft } from "../../support/relay_server.ts";
import fc from "../../packages/fast_check.ts";
import { chapParts, msChapParts } from "./relayed_peer.ts";

const hmac = createHmacMd5(new Uint8Array(16).fill(1));
const octetsOf = (parts: RequestParts) => buildRequest("secret", { userName: "anna", ...parts }).bytes;
const keyOf = (parts: RequestParts, client = "vpn") => relayKeyOf(hmac, octetsOf(parts), client);
const STATE = new Uint8Array(60).fill(7);

const ATTRIBUTE: fc.Arbitrary<Attribute> = fc.record({
  type: fc.constantFrom(1, 2, 3, 24, 26, 60, 79, 79, 33),
  value: fc.uint8Array({ maxLength: 253 }),
});

Deno.test("readRelayedProof() and relayKeyOf() read any packet without an error", () => {
  fc.assert(fc.property(fc.array(ATTRIBUTE, { maxLength: 14 }), (more) => {
    const octets = octetsOf({ more });
    const proof = readRelayedProof(octets);
    assert(proof === null || typeof proof === "string" || proof.name !== "");
    relayKeyOf(hmac, octets, "x".repeat(64));
  }));
});

const PACKETS: Record<string, RequestParts> = {
  "CHAP": chapParts("x", { challenge: new Uint8Array(16) }),
  "MS-CHAP": msChapParts(true),
  "EAP": { state: STATE, more: eapMessages(eapPacket(2, 1, 26, [3])) },
};
for (const [name, packet] of Object.entries(PACKETS)) {
  Deno.test(`${name}: a packet that is re-issued has the same key, and one with another name, client, place or content has not`, () => {
    const parts: RequestParts = { ...packet, nasPort: 7 };
    const key = keyOf(parts);
    const reissued = { ...parts, authenticator: new Uint8Array(16).fill(9), identifier: 9 };
    assert(key !== null);
    assertEquals(keyOf(reissued), key);
    assertEquals(keyOf({ ...reissued, more: [...parts.more ?? [], { type: 33, value: STATE }] }), key);
    assertNotEquals(keyOf({ ...parts, userName: "bob" }), key);
    assertNotEquals(keyOf(parts, "wifi"), key);
    assertNotEquals(keyOf({ ...reissued, nasPort: 8 }), key);
    assertNotEquals(keyOf({ ...reissued, callingStationId: "198.51.100.7" }), key);
    assertNotEquals(keyOf({ ...parts, state: STATE.with(0, 1) }), key);
    const changed = (parts.more ?? []).map(({ type, value }) => ({
      type,
      value: value.with(-1, (value.at(-1) ?? 0) ^ 1),
    }));
    assertNotEquals(keyOf({ ...parts, more: changed }), key);
  });
}

Deno.test("CHAP without CHAP-Challenge: the Request Authenticator is part of the key, because it is the challenge", () => {
  const { more, authenticator } = chapParts("x");
  const parts = { more, authenticator } as RequestParts;
  assertEquals(keyOf({ ...parts, identifier: 1 }), keyOf({ ...parts, identifier: 2 }));
  assertNotEquals(keyOf({ ...parts, authenticator: new Uint8Array(16) }), keyOf(parts));
});

Deno.test("the first packet of an EAP conversation has no key, because two logins can have the same", () => {
  const identity = eapMessages(eapPacket(2, 1, 1, new TextEncoder().encode("anna")));
  assertEquals(keyOf({ more: identity }), null);
  // Windows RRAS sends attributes such as MS-RAS-Version with each packet.
  assertEquals(keyOf({ more: [microsoft(18, new TextEncoder().encode("MSRASV5.20")), ...identity] }), null);
  assertEquals(keyOf({ more: [{ type: 24, value: new Uint8Array(0) }, ...identity] }), null);
});
