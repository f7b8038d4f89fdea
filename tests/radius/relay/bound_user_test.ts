// Who signs in with a relayed request: every combination of names, methods and settings.

import { assertEquals } from "@std/assert";
import { decodeEap, type EapPacket } from "../../../radius/protocol/eap.ts";
import {
  isBound,
  noteRequest,
  noteResponse,
  refusalOfResponse,
  userOfAccept,
} from "../../../radius/relay/relayed_logins.ts";
import { eapPacket } from "../../support/relay_server.ts";

const text = (value: string) => new TextEncoder().encode(value);
const eap = (code: number, type: number, data: Iterable<number> = []) =>
  decodeEap(eapPacket(code, 1, type, data)) as EapPacket;
const response = (type: number, data: Iterable<number> = []) => eap(2, type, data);
const msChapResponse = (name: string) =>
  response(26, [2, 1, 0, 54 + name.length, 49, ...new Uint8Array(49), ...text(name)]);
const START = { method: 0, identity: "unknown", isMixed: false } as const;
type Outer = "refuse" | "reply" | "trust";
const settingsOf = (eapOuterIdentity: Outer = "refuse") => ({
  stripDomains: ["CORP"],
  stripRealms: ["corp.example"],
  eapOuterIdentity,
});

/** Follows a conversation: the peer's packets, each followed by a Request of the server. */
function follow(userName: string, steps: readonly (readonly [EapPacket, number])[]) {
  return steps.reduce((known, [packet, type]) => {
    const noted = noteResponse(packet, known, { userName, settings: settingsOf() });
    return noteRequest(eap(1, type), packet, noted);
  }, START as Parameters<typeof noteRequest>[2]);
}

const IDENTITIES: [userName: string, identity: string, equal: boolean][] = [
  ["anna", "anna", true],
  ["anna", "Anna", true],
  ["anna", "CORP\\anna", true],
  ["anna", "anna@corp.example", true],
  ["anna", "OTHER\\anna", false],
  ["anna", "bob", false],
  ["anna", "", false],
];
for (const [userName, identity, equal] of IDENTITIES) {
  Deno.test(`the EAP identity "${identity}" ${equal ? "is" : "is not"} the user ${userName}`, () => {
    const known = noteResponse(response(1, text(identity)), START, { userName, settings: settingsOf() });
    assertEquals(known.identity, equal ? "equal" : "different");
  });
}

Deno.test("an identity that differed once differs for the whole conversation", () => {
  const known = follow("anna", [[response(1, text("bob")), 26], [response(1, text("anna")), 26]]);
  assertEquals(known.identity, "different");
});

const BOUND_TYPES = [[4, "EAP-MD5"], [6, "EAP-GTC"], [26, "EAP-MSCHAPv2"]] as const;
const FREE_TYPES = [
  [13, "EAP-TLS"],
  [21, "EAP-TTLS"],
  [25, "PEAP"],
  [43, "EAP-FAST"],
  [55, "TEAP"],
  [52, "EAP-PWD"],
  [254, "a vendor's"],
  [99, "an unknown method"],
] as const;

for (const [type, name] of BOUND_TYPES) {
  Deno.test(`${name} is bound if identity and User-Name are equal, and refused at once if they differ or no identity was sent`, () => {
    const refusal = (known: Parameters<typeof refusalOfResponse>[1]) =>
      refusalOfResponse(response(type), known, { userName: "anna", settings: settingsOf("trust") });
    const equal = follow("anna", [[response(1, text("anna")), type]]);
    assertEquals([refusal(equal), isBound(response(type), equal)], [null, true]);
    assertEquals(refusal(follow("anna", [[response(1, text("bob")), type]])), "eap_names_differ");
    assertEquals(refusal({ ...START, method: type }), "eap_names_differ");
  });

  Deno.test(`${name} is not bound if the server asked for another method, or changed the method after an answer`, () => {
    const identity = response(1, text("anna"));
    assertEquals(isBound(response(type), follow("anna", [[identity, 25]])), false);
    assertEquals(isBound(response(type), follow("anna", [[identity, 25], [response(25), type]])), false);
    // A Nak asks for another method (RFC 3748 §5.3.1).
    assertEquals(
      isBound(response(type), follow("anna", [[identity, 25], [response(3, [type]), type]])),
      true,
    );
    assertEquals(isBound(response(3), follow("anna", [[identity, type]])), false);
    assertEquals(isBound(null, follow("anna", [[identity, type]])), false);
  });
}

for (const [type, name] of FREE_TYPES) {
  Deno.test(`${name} is never bound, and refused before the server sees it by default`, () => {
    const known = follow("anna", [[response(1, text("anna")), type]]);
    assertEquals(isBound(response(type), known), false);
    const refusal = (outer: Outer) =>
      refusalOfResponse(response(type), known, { userName: "anna", settings: settingsOf(outer) });
    assertEquals([refusal("refuse"), refusal("reply"), refusal("trust")], ["eap_outer_identity", null, null]);
  });
}

Deno.test("a Response of another method than that of the Request is refused (RFC 3748 §4.1)", () => {
  const known = follow("anna", [[response(1, text("anna")), 26]]);
  const refusal = (packet: EapPacket) =>
    refusalOfResponse(packet, known, { userName: "anna", settings: settingsOf("trust") });
  assertEquals([4, 6, 25, 254].map((type) => refusal(response(type))), new Array(4).fill("malformed_eap"));
  assertEquals([refusal(response(3, [6])), refusal(response(2))], [null, null]);
});

Deno.test("the Name of EAP-MSCHAPv2 must be that of the user, also in a later Response", () => {
  const known = follow("anna", [[response(1, text("anna")), 26]]);
  const refusal = (packet: EapPacket) =>
    refusalOfResponse(packet, known, { userName: "anna", settings: settingsOf() });
  assertEquals([refusal(msChapResponse("anna")), refusal(msChapResponse("CORP\\ANNA"))], [null, null]);
  assertEquals([refusal(msChapResponse("bob")), refusal(msChapResponse(""))], [
    "eap_names_differ",
    "eap_names_differ",
  ]);
  assertEquals(refusal(response(26, [2, 1, 0, 5, 200])), "malformed_eap");
  assertEquals(refusal(response(26, [3])), null);
});

Deno.test("Identity, Notification, Nak and EAP-Start are never refused", () => {
  for (const packet of [response(1, text("bob")), response(2), response(3), null]) {
    assertEquals(refusalOfResponse(packet, START, { userName: "anna", settings: settingsOf() }), null);
  }
});

const ANNA = { shown: "anna", canonical: "anna" };
const ACCEPTS: [outer: Outer, bound: boolean, names: string[], user: string][] = [
  ["refuse", true, [], "anna"],
  ["refuse", true, ["bob"], "anna"],
  ["reply", true, ["bob"], "anna"],
  ["refuse", false, ["bob"], "eap_outer_identity"],
  ["reply", false, ["CORP\\Bob"], "bob"],
  ["reply", false, [], "eap_user_unnamed"],
  ["reply", false, ["bob", "bob"], "eap_user_unnamed"],
  ["reply", false, [""], "eap_user_unnamed"],
  ["reply", false, ["CORP\\"], "eap_user_unnamed"],
  ["reply", false, ["bob\0"], "eap_user_unnamed"],
  ["trust", false, ["bob"], "anna"],
];
for (const [outer, bound, names, expected] of ACCEPTS) {
  const proof = bound ? "a bound proof" : "a tunnel";
  Deno.test(`${proof}, "${outer}" and an Access-Accept of ${JSON.stringify(names)}: ${expected}`, () => {
    const user = userOfAccept({
      isBound: bound,
      user: ANNA,
      names: names.map(text),
      settings: settingsOf(outer),
    });
    assertEquals(typeof user === "string" ? user : user.canonical, expected);
  });
}
