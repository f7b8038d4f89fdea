// Authenticator apps: the parameters of a secret or an otpauth URI, the drift of a clock, and why a code is refused.

import { assertEquals } from "@std/assert";
import {
  acceptAppCode,
  openApp,
  readAppSecret,
  type StoredApp,
  usedApp,
} from "../../radius/factors/app_codes.ts";
import { encodeBase32, hotpAt } from "../../radius/factors/totp.ts";
import { clockAheadS, codeFaultText, explainRefusedCode } from "../../radius/tokens/token_codes.ts";

const SEED = new TextEncoder().encode("12345678901234567890");
const BASE32 = encodeBase32(SEED);

const SECRETS: readonly (readonly [text: string, expected: string | null])[] = [
  [BASE32, "SHA1 6 30"],
  [BASE32.toLowerCase().replace(/(.{4})/g, "$1 "), "SHA1 6 30"],
  [`otpauth://totp/Example:ada?secret=${BASE32}&issuer=Example`, "SHA1 6 30"],
  [` otpauth://totp/ada?secret=${BASE32}&algorithm=SHA256&digits=8&period=60 `, "SHA256 8 60"],
  [`otpauth://totp/ada?secret=${BASE32}&algorithm=sha512&digits=8`, "SHA512 8 30"],
  [`otpauth://totp/ada?secret=${BASE32}&algorithm=SHA-256&period=60`, "SHA256 6 60"],
  [`otpauth://totp/ada?algorithm=HmacSHA512&digits=7&secret=${BASE32.toLowerCase()}`, "SHA512 7 30"],
  [`OTPAUTH://TOTP/ada%20b%40c?secret=${BASE32}`, "SHA1 6 30"],
  [`otpauth://hotp/ada?secret=${BASE32}&counter=1`, null],
  [`otpauth://totp/ada?secret=${BASE32}&algorithm=MD5`, null],
  [`otpauth://totp/ada?secret=${BASE32}&digits=10`, null],
  [`otpauth://totp/ada?secret=${BASE32}&digits=`, null],
  [`otpauth://totp/ada?secret=${BASE32}&period=45`, null],
  ["otpauth://totp/ada?secret=ABC", null],
  ["otpauth://totp/ada", null],
  ["otpauth-migration://offline?data=AAAA", null],
  ["https://totp/ada?secret=" + BASE32, null],
  ["", null],
];
for (const [text, expected] of SECRETS) {
  Deno.test(`readAppSecret() returns ${expected} for ${JSON.stringify(text.slice(0, 100))}`, () => {
    const app = readAppSecret(text);
    assertEquals(app === null ? null : `${app.algorithm} ${app.digits} ${app.periodS}`, expected);
    if (app !== null) assertEquals(encodeBase32(app.seed), BASE32);
  });
}

/** RFC 6238 Appendix B, with the seeds of its erratum 2866. */
const VECTORS = [
  ["SHA256", "12345678901234567890123456789012", 59, "46119246"],
  ["SHA256", "12345678901234567890123456789012", 1111111109, "68084774"],
  ["SHA512", "1234567890123456789012345678901234567890123456789012345678901234", 59, "90693936"],
  ["SHA512", "1234567890123456789012345678901234567890123456789012345678901234", 1111111109, "25091201"],
] as const;
for (const [algorithm, seedText, seconds, code] of VECTORS) {
  Deno.test(`acceptAppCode() accepts RFC 6238 Appendix B's code of ${seconds} s with ${algorithm}`, () => {
    const seed = new TextEncoder().encode(seedText);
    const use = acceptAppCode({ lastStep: -1, algorithm, digits: 8 }, { seed, code, nowMs: seconds * 1000 });
    assertEquals(use, { step: Math.floor(seconds / 30), drift: 0 });
  });
}

const codeAt = (step: number) => hotpAt(SEED, step, { digits: 6 });
const NOW = 1000;

Deno.test("acceptAppCode() learns a drift step by step, up to ten steps, and always accepts a clock that is right", () => {
  let app: StoredApp = { lastStep: -1 };
  const drifts: (number | null)[] = [];
  for (let ahead = 0; ahead <= 13; ahead++) {
    const at = NOW + 100 * ahead;
    const use = acceptAppCode(app, { seed: SEED, code: codeAt(at + ahead), nowMs: at * 30_000 });
    drifts.push(use?.drift ?? null);
    if (use !== null) app = usedApp(app, use);
  }
  assertEquals(drifts, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, null, null]);
  const later = 5000;
  const use = acceptAppCode(app, { seed: SEED, code: codeAt(later), nowMs: later * 30_000 });
  assertEquals(use, { step: later, drift: 0 });
  assertEquals(usedApp(app, { step: later, drift: 0 }).drift, 0);
});

const FAULTS: readonly (readonly [string, StoredApp, code: string, fault: string | null])[] = [
  ["4 minutes ahead", { lastStep: -1 }, codeAt(NOW + 8), "clock_240"],
  ["an hour behind", { lastStep: -1 }, codeAt(NOW - 120), "clock_-3600"],
  ["the last used code", { lastStep: NOW }, codeAt(NOW), "code_used"],
  ["an older code", { lastStep: NOW }, codeAt(NOW - 3), "code_used"],
  ["a last step in the future", { lastStep: NOW + 50 }, codeAt(NOW), "last_step_ahead"],
  ["a learned drift", { lastStep: NOW + 3, drift: 3 }, codeAt(NOW + 3), "code_used"],
  ["another day", { lastStep: -1 }, codeAt(NOW + 2880), null],
  ["no code", { lastStep: -1 }, "12345", null],
];
for (const [title, app, code, fault] of FAULTS) {
  Deno.test(`explainRefusedCode() returns ${fault} for ${title}`, () => {
    assertEquals(explainRefusedCode(openApp(app, SEED), { code, nowMs: NOW * 30_000 }), fault);
  });
}

Deno.test("codeFaultText() names the size of a difference", () => {
  assertEquals(["clock_240", "clock_-90", "clock_60", "code_used"].map(codeFaultText), [
    "the code is right for a clock that is 4 minutes ahead",
    "the code is right for a clock that is 90 seconds behind",
    "the code is right for a clock that is 60 seconds ahead",
    "code_used",
  ]);
  assertEquals(["clock_-90", "locked", null].map(clockAheadS), [-90, null, null]);
});
