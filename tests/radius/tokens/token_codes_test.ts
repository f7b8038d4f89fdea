// Codes of hardware tokens: RFC 4226 Appendix D, RFC 6238 Appendix B, windows, drift, resynchronization, and laws over random positions.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import {
  acceptOneTimeCode,
  checkTokenCode,
  HOTP_LOOK_AHEAD,
  MAX_LEARNED_DRIFT,
  type OpenToken,
  RESYNC_WINDOW,
  resynchronizeToken,
} from "../../../radius/tokens/token_codes.ts";
import { tokenCode } from "../rows/tokens.ts";

const utf8 = new TextEncoder();
/** RFC 6238 Appendix B: the seeds have the length of the hash. */
const SEEDS = {
  SHA1: utf8.encode("12345678901234567890"),
  SHA256: utf8.encode("12345678901234567890123456789012"),
  SHA512: utf8.encode("1234567890123456789012345678901234567890123456789012345678901234"),
};
/** RFC 4226 Appendix D: the index is the count. */
const HOTP = [
  ...["755224", "287082", "359152", "969429", "338314"],
  ...["254676", "287922", "162583", "399871", "520489"],
];
/** RFC 6238 Appendix B: seconds, then the codes of SHA-1, SHA-256 and SHA-512. */
const TOTP = [
  [59, "94287082", "46119246", "90693936"],
  [1111111109, "07081804", "68084774", "25091201"],
  [1111111111, "14050471", "67062674", "99943326"],
  [1234567890, "89005924", "91819424", "93441116"],
  [2000000000, "69279037", "90698825", "38618901"],
  [20000000000, "65353130", "77737706", "47863826"],
] as const;

const hotp = (next: number): OpenToken => ({
  record: { kind: "hotp", algorithm: "SHA1", digits: 6, periodS: 0 },
  use: { next, drift: 0, baseDrift: 0, usedMs: null },
  seed: SEEDS.SHA1,
});
const totp = (use: Partial<OpenToken["use"]> = {}, periodS = 30): OpenToken => ({
  record: { kind: "totp", algorithm: "SHA1", digits: 6, periodS },
  use: { next: 0, drift: 0, baseDrift: 0, usedMs: null, ...use },
  seed: SEEDS.SHA1,
});
const atStep = (step: number, periodS = 30) => step * periodS * 1000;

Deno.test("acceptOneTimeCode() accepts the codes of RFC 4226 Appendix D, one after the other, each once", () => {
  let token = hotp(0);
  for (const [count, code] of HOTP.entries()) {
    const use = acceptOneTimeCode(token, { code, nowMs: 5 });
    assertEquals(use?.next, count + 1, code);
    if (use === null) throw new Error("refused");
    token = { ...token, use };
    assertEquals(acceptOneTimeCode(token, { code, nowMs: 5 }), null, "a second time");
  }
});

for (const [seconds, ...codes] of TOTP) {
  for (const [at, algorithm] of (["SHA1", "SHA256", "SHA512"] as const).entries()) {
    Deno.test(`acceptOneTimeCode() accepts RFC 6238 Appendix B's ${algorithm} code of ${seconds} s`, () => {
      const token: OpenToken = {
        ...totp(),
        record: { kind: "totp", algorithm, digits: 8, periodS: 30 },
        seed: SEEDS[algorithm],
      };
      const use = acceptOneTimeCode(token, { code: codes[at] ?? "", nowMs: seconds * 1000 });
      assertEquals([use?.next, use?.drift], [Math.floor(seconds / 30) + 1, 0]);
    });
  }
}

Deno.test("acceptOneTimeCode() looks ahead, never back", () => {
  const found = (at: number) => acceptOneTimeCode(hotp(20), { code: tokenCode(at), nowMs: 0 })?.next ?? null;
  assertEquals([19, 20, 20 + HOTP_LOOK_AHEAD, 21 + HOTP_LOOK_AHEAD].map(found), [null, 21, 31, null]);
});

Deno.test("acceptOneTimeCode() refuses a code of another length, and anything that is no code", () => {
  for (const code of ["", "75522", "7552240", "755 224", "７５５２２４", "abcdef"]) {
    assertEquals(acceptOneTimeCode(hotp(0), { code, nowMs: 0 }), null, code);
  }
});

Deno.test("acceptOneTimeCode() learns the drift of a clock, at most ten steps from the last resynchronization", () => {
  const steps = [99, 100, 101].map((step) =>
    acceptOneTimeCode(totp(), { code: tokenCode(step), nowMs: atStep(100) })?.drift
  );
  assertEquals(steps, [-1, 0, 1]);
  const edge = totp({ drift: MAX_LEARNED_DRIFT });
  const use = acceptOneTimeCode(edge, { code: tokenCode(100 + MAX_LEARNED_DRIFT + 1), nowMs: atStep(100) });
  assertEquals([use?.next, use?.drift], [112, MAX_LEARNED_DRIFT]);
  const moved = totp({ drift: 40, baseDrift: 40 });
  assertEquals(acceptOneTimeCode(moved, { code: tokenCode(141), nowMs: atStep(100) })?.drift, 41);
});

Deno.test("resynchronizeToken() finds two consecutive codes ahead of an HOTP token, and uses both", () => {
  const codes = (at: number): [string, string] => [tokenCode(at), tokenCode(at + 1)];
  const next = (at: number) => resynchronizeToken(hotp(50), { codes: codes(at), nowMs: 0 })?.next ?? null;
  assertEquals([49, 50, 300, 50 + RESYNC_WINDOW, 51 + RESYNC_WINDOW].map(next), [null, 52, 302, 1052, null]);
  const swapped = { codes: [tokenCode(301), tokenCode(300)] as [string, string], nowMs: 0 };
  assertEquals(resynchronizeToken(hotp(50), swapped), null);
});

Deno.test("resynchronizeToken() sets the drift of a TOTP token, and never accepts codes before the last one", () => {
  const now = 10_000;
  const at = (step: number, use: Partial<OpenToken["use"]> = {}) =>
    resynchronizeToken(totp(use, 60), {
      codes: [tokenCode(step), tokenCode(step + 1)],
      nowMs: atStep(now, 60),
    });
  assertEquals(at(now + 400)?.drift, 401);
  assertEquals(at(now - 400), { next: now - 398, drift: -399, baseDrift: -399, usedMs: atStep(now, 60) });
  assertEquals(at(now - 400, { next: now - 399 }), null);
  assertEquals(at(now + RESYNC_WINDOW + 1), null);
});

Deno.test("checkTokenCode() says whether a code is valid, used, out of sync or wrong, and changes nothing", () => {
  const kinds = [18, 20, 23, 600, 5000].map((at) => {
    const check = checkTokenCode(hotp(20), { code: tokenCode(at), nowMs: 0 });
    return "ahead" in check ? [check.kind, check.ahead] : [check.kind];
  });
  assertEquals(kinds, [["used"], ["valid", 0], ["valid", 3], ["out_of_sync", 580], ["wrong"]]);
});

Deno.test("a position never moves back, and no code is accepted twice, in any sequence of codes", () => {
  const steps = fc.array(fc.integer({ min: -15, max: 15 }), { maxLength: 40 });
  fc.assert(
    fc.property(fc.constantFrom("hotp", "totp"), steps, (kind, moves) => {
      let token = kind === "hotp" ? hotp(100) : totp({ next: 90 });
      const used = new Set<number>();
      let clock = 100;
      for (const move of moves) {
        clock += 1;
        const at = (kind === "hotp" ? token.use.next : clock) + move;
        const use = acceptOneTimeCode(token, { code: tokenCode(at), nowMs: atStep(clock) });
        if (use === null) continue;
        const factor = use.next - 1;
        if (used.has(factor) || use.next <= token.use.next) return false;
        used.add(factor);
        token = { ...token, use };
      }
      return true;
    }),
    { numRuns: 150, seed: 4226 },
  );
});
