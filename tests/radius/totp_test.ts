// Time-based one-time passwords: RFC 4226 Appendix D, RFC 6238 Appendix B (SHA-1), and the single use of codes.

import { assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { decodeBase32, matchTotp, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";

const SEED = new TextEncoder().encode("12345678901234567890");
/** RFC 4226 Appendix D: the index is the count. */
const HOTP = [
  ...["755224", "287082", "359152", "969429", "338314"],
  ...["254676", "287922", "162583", "399871", "520489"],
];
/** RFC 6238 Appendix B, SHA-1: seconds and code. */
const TOTP: readonly (readonly [number, string])[] = [
  [59, "94287082"],
  [1111111109, "07081804"],
  [1111111111, "14050471"],
  [1234567890, "89005924"],
  [2000000000, "69279037"],
  [20000000000, "65353130"],
];

const at = (code: string, nowMs: number, more: { lastStep?: number; toleranceSteps?: number } = {}) =>
  matchTotp({ seed: SEED, code, nowMs, digits: 6, lastStep: -1, toleranceSteps: 1, ...more });

Deno.test("totpAt() returns the codes of RFC 4226 Appendix D", () => {
  for (const [count, code] of HOTP.entries()) assertEquals(totpAt(SEED, count, 6), code);
});

for (const [seconds, code] of TOTP) {
  Deno.test(`matchTotp() accepts RFC 6238 Appendix B's code of ${seconds} s, leading zeros included`, () => {
    const nowMs = seconds * 1000;
    const step = matchTotp({ seed: SEED, code, nowMs, digits: 8, lastStep: -1, toleranceSteps: 0 });
    assertEquals(step, Math.floor(seconds / 30));
  });
}

Deno.test("matchTotp() accepts the step before and the step after, and no others", () => {
  const nowMs = 5 * TOTP_STEP_MS;
  const steps = HOTP.map((code) => at(code, nowMs));
  assertEquals(steps, [null, null, null, null, 4, 5, 6, null, null, null]);
  assertEquals(at(HOTP[4] ?? "", nowMs, { toleranceSteps: 0 }), null);
});

Deno.test("matchTotp() changes the step at the border, to the millisecond", () => {
  assertEquals(at(HOTP[3] ?? "", 5 * TOTP_STEP_MS - 1), 3);
  assertEquals(at(HOTP[3] ?? "", 5 * TOTP_STEP_MS), null);
});

Deno.test("matchTotp() accepts no step twice, and none before a used step (RFC 6238 §5.2)", () => {
  const nowMs = 5 * TOTP_STEP_MS;
  assertEquals(at(HOTP[5] ?? "", nowMs, { lastStep: 4 }), 5);
  assertEquals(at(HOTP[5] ?? "", nowMs, { lastStep: 5 }), null);
  assertEquals(at(HOTP[4] ?? "", nowMs, { lastStep: 5 }), null);
  assertEquals(at(HOTP[6] ?? "", nowMs, { lastStep: 5 }), 6);
});

Deno.test("matchTotp() computes no step below 0, the epoch", () => {
  assertEquals(at(HOTP[0] ?? "", 0), 0);
  assertEquals(at("000000", 0, { toleranceSteps: 5 }), null);
});

for (
  const code of [
    "",
    "75522",
    "7552240",
    "75522４",
    "７５５２２４",
    "75522 ",
    "-55224",
    "abcdef",
    "\0\0\0\0\0\0",
  ]
) {
  Deno.test(`matchTotp() refuses ${JSON.stringify(code)}`, () => assertEquals(at(code, 0), null));
}

Deno.test("matchTotp() accepts the codes of totpAt() for any seed, time and number of digits", () => {
  const seeds = fc.uint8Array({ minLength: 10, maxLength: 64 });
  const steps = fc.integer({ min: 0, max: 2 ** 40 });
  fc.assert(fc.property(seeds, steps, fc.integer({ min: 6, max: 8 }), (seed, step, digits) => {
    const code = totpAt(seed, step, digits);
    assertEquals(code.length, digits);
    const nowMs = step * TOTP_STEP_MS;
    assertEquals(matchTotp({ seed, code, nowMs, digits, lastStep: step - 1, toleranceSteps: 0 }), step);
  }));
});

Deno.test("decodeBase32() reads the vectors of RFC 4648 §10 that are long enough, and the spellings of apps", () => {
  const spelt = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
  for (
    const text of [spelt, spelt.toLowerCase(), "gezd gnbv gy3t qojq gezd gnbv gy3t qojq", `${spelt}====`]
  ) {
    assertEquals(decodeBase32(text), SEED, text);
  }
});

Deno.test("decodeBase32() ignores bits after the last whole octet, for every length", () => {
  const text = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
  for (let length = 16; length <= text.length; length++) {
    const octets = Math.floor(length * 5 / 8);
    assertEquals(decodeBase32(text.slice(0, length)), SEED.slice(0, octets), `${length}`);
  }
});

const NO_SEED: Readonly<Record<string, string>> = {
  "no text": "",
  "9 octets": "GEZDGNBVGY3TQOI",
  "a digit that base 32 lacks": "GEZDGNBVGY3TQOJ1GEZDGNBVGY3TQOJQ",
  "a last digit that base 32 lacks": "GEZDGNBVGY3TQOJQ1",
  "something else": "GEZDGNBVGY3TQOJ!GEZDGNBVGY3TQOJQ",
  "257 characters": "A".repeat(257),
};
for (const [what, text] of Object.entries(NO_SEED)) {
  Deno.test(`decodeBase32() returns null for ${what}`, () => assertEquals(decodeBase32(text), null));
}
