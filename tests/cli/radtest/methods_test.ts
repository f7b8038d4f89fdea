// The methods of `deno task try`: what proves the password, what answers a challenge, and what a client refuses.

import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { computeMsChap2, createLoginMethod, type LoginMethodName } from "../../../cli/radtest_methods.ts";
import type { RadtestReply } from "../../../cli/radtest_packets.ts";
import { decodeEap, EAP_CODES, eapFailure, eapSuccess, encodeEap } from "../../../radius/protocol/eap.ts";

type Attribute = RadtestReply["clear"][number];

/** Counts, so that every value is known. */
function countingRandom() {
  let next = 0;
  return { bytes: (length: number) => Uint8Array.from({ length }, () => next++ % 256) };
}

function methodOf(name: LoginMethodName, password: string | null = "first") {
  return createLoginMethod(name, { user: "alice", password, random: countingRandom() });
}

function reply(name: RadtestReply["name"], parts: Partial<RadtestReply> = {}): RadtestReply {
  return {
    name,
    message: "",
    state: Uint8Array.of(1),
    eap: null,
    attributes: [],
    clear: [],
    signed: true,
    ...parts,
  };
}

function ofMicrosoft(type: number, value: Uint8Array): Attribute {
  return { type: 26, value: Uint8Array.of(0, 0, 1, 0x37, type, value.length + 2, ...value) };
}

const utf8 = new TextEncoder();

Deno.test("chap: CHAP-Password is the identifier, and MD5 of identifier, password and CHAP-Challenge", () => {
  const [password, challenge] = methodOf("chap").begin("secret");
  assertEquals([password?.type, challenge?.type], [3, 60]);
  const { value = new Uint8Array(0) } = password ?? {};
  const { value: random = new Uint8Array(0) } = challenge ?? {};
  const digest = createHash("md5").update(value.subarray(0, 1)).update("secret").update(random).digest();
  assertEquals([value.length, random.length], [17, 16]);
  assertEquals(value.subarray(1).toHex(), new Uint8Array(digest).toHex());
});

Deno.test("pap: an answer is hidden if the server says so with Prompt (RFC 2869 §5.10)", () => {
  const isHidden = (...value: number[]) => {
    const clear = value.length === 0 ? [] : [{ type: 76, value: Uint8Array.from(value) }];
    const next = methodOf("pap").next(reply("Access-Challenge", { clear }));
    return next.kind === "ask" && next.hidden;
  };
  assertEquals([isHidden(0, 0, 0, 0), isHidden(0, 0, 0, 1), isHidden(), isHidden(0)], [
    true,
    false,
    false,
    false,
  ]);
});

/** The reply to a login as alice with the password "secret". */
function msChapReply(change: { proof?: string; sendKey?: Uint8Array; without?: readonly number[] }) {
  const method = methodOf("mschapv2");
  const [challenge, response] = method.begin("secret");
  const authenticatorChallenge = challenge?.value.subarray(6) ?? new Uint8Array(0);
  const peerChallenge = response?.value.subarray(8, 24) ?? new Uint8Array(0);
  const right = computeMsChap2({ user: "alice", password: "secret", authenticatorChallenge, peerChallenge });
  const proof = change.proof ?? right.authenticatorResponse;
  const clear = [
    ofMicrosoft(26, Uint8Array.of(response?.value[6] ?? 0, ...utf8.encode(`${proof} M=Welcome`))),
    ofMicrosoft(16, change.sendKey ?? right.sendKey),
    ofMicrosoft(17, right.receiveKey),
  ].filter(({ value }) => change.without?.includes(value[4] ?? 0) !== true);
  return { response, right, report: method.describe(reply("Access-Accept", { clear })) };
}

Deno.test("mschapv2: the response has 50 octets, with the NT response at the end", () => {
  const { response, right } = msChapReply({});
  assertEquals(response?.value.length, 6 + 50);
  assertEquals(response?.value.subarray(-24).toHex(), right.ntResponse.toHex());
});

for (
  const [change, isRefused, line] of [
    [{}, false, "The MPPE keys are right"],
    [{ without: [16, 17] }, false, "No MPPE keys: a VPN that needs them does not connect"],
    [
      { sendKey: new Uint8Array(16) },
      true,
      "The MPPE keys are wrong: a VPN that needs them does not connect",
    ],
    [{ without: [17] }, true, "The MPPE keys are wrong: a VPN that needs them does not connect"],
    [{ without: [26] }, true, "No MS-CHAP2-Success: a client refuses this Accept"],
    [
      { proof: `S=${"0".repeat(40)}` },
      true,
      "MS-CHAP2-Success is wrong: the server does not know the password, so a client refuses it",
    ],
  ] as const
) {
  Deno.test(`mschapv2: an Accept with ${JSON.stringify(change)} is ${isRefused ? "refused" : "used"}`, () => {
    const { report } = msChapReply(change);
    assertEquals([report.isRefused, report.lines.at(-1)], [isRefused, line]);
  });
}

Deno.test("mschapv2: a Reject shows the error and its meaning", () => {
  const method = methodOf("mschapv2");
  method.begin("secret");
  const clear = [ofMicrosoft(2, Uint8Array.of(0, ...utf8.encode("E=648 R=0 V=3")))];
  assertEquals(method.describe(reply("Access-Reject", { clear })).lines, [
    "MS-CHAP-Error: E=648 R=0 V=3 (password expired)",
  ]);
});

function eapRequest(type: number, text: string, identifier = 7): RadtestReply {
  const data = utf8.encode(text);
  return reply("Access-Challenge", { eap: encodeEap({ code: EAP_CODES.request, identifier, type, data }) });
}

/** Identifier, type and data of the EAP-Response in attributes. */
function responseOf(attributes: readonly Attribute[]) {
  const whole = Uint8Array.from(attributes.flatMap(({ type, value }) => type === 79 ? [...value] : []));
  const packet = decodeEap(whole);
  return packet?.code === EAP_CODES.response
    ? [packet.identifier, packet.type, new TextDecoder().decode(packet.data)]
    : null;
}

Deno.test("eap-gtc: names the user, refuses another method, answers with the password, then asks", () => {
  const method = methodOf("eap-gtc");
  assertEquals(responseOf(method.begin("")), [0, 1, "alice"]);
  const sent = (challenge: RadtestReply) => {
    const next = method.next(challenge);
    return next.kind === "send" ? responseOf(next.attributes) : next.kind;
  };
  assertEquals(sent(eapRequest(1, "")), [7, 1, "alice"]);
  assertEquals(sent(eapRequest(2, "Your password expires soon")), [7, 2, ""]);
  assertEquals(sent(eapRequest(4, "challenge")), [7, 3, "\u0006"]);
  assertEquals(sent(eapRequest(6, "Password: ", 8)), [8, 6, "first"]);
  const asked = (text: string) => {
    const next = method.next(eapRequest(6, text, 9));
    return next.kind === "ask" ? [next.hidden, responseOf(next.answer("012345"))] : next.kind;
  };
  assertEquals(asked("Choose a second factor:\nS - phone"), [false, [9, 6, "012345"]]);
  assertEquals(asked("Enter the passcode from the text message."), [true, [9, 6, "012345"]]);
  assertEquals(method.next(reply("Access-Challenge")).kind, "fault");
});

for (
  const [name, eap, isRefused, lines] of [
    ["Access-Accept", eapSuccess(1), false, ["EAP-Success"]],
    ["Access-Reject", eapFailure(1), false, ["EAP-Failure"]],
    ["Access-Accept", eapFailure(1), true, [
      "The EAP packet does not match the reply: a client refuses it",
      "EAP-Failure",
    ]],
    ["Access-Accept", null, true, ["No valid EAP packet: a client refuses this reply"]],
  ] as const
) {
  Deno.test(`eap-gtc: ${name} with ${lines.at(-1)} is ${isRefused ? "refused" : "used"}`, () => {
    const report = methodOf("eap-gtc").describe(reply(name, { eap }));
    assertEquals([report.isRefused, report.lines], [isRefused, lines]);
  });
}
