// MS-CHAPv2 with the examples of RFC 2759 §9.2 and RFC 3079 §3.5.3.

import { assertEquals } from "@std/assert";
import { computeMsChap2 } from "../../../cli/radtest_methods.ts";

const EXAMPLE = {
  user: "User",
  password: "clientPass",
  authenticatorChallenge: Uint8Array.fromHex("5B5D7C7D7B3F2F3E3C2C602132262628"),
  peerChallenge: Uint8Array.fromHex("21402324255E262A28295F2B3A337C7E"),
};

Deno.test("computeMsChap2() gives the values of RFC 2759 §9.2 and RFC 3079 §3.5.3", () => {
  const { ntResponse, authenticatorResponse, sendKey, receiveKey } = computeMsChap2(EXAMPLE);
  assertEquals(ntResponse.toHex(), "82309ecd8d708b5ea08faa3981cd83544233114a3d85d6df");
  assertEquals(authenticatorResponse, "S=407A5589115FD0D6209F510FE9C04566932CDA56");
  // The RFC has the send key only. The receive key is the one that hostapd computes.
  assertEquals(sendKey.toHex(), "8b7cdc149b993a1ba118cb153f56dccb");
  assertEquals(receiveKey.toHex(), "d5f0e9521e3ea9589645e86051c82226");
});

Deno.test("computeMsChap2() leaves the domain out of the hash", () => {
  assertEquals(computeMsChap2({ ...EXAMPLE, user: "CORP\\User" }), computeMsChap2(EXAMPLE));
});
