// Codes of authenticator apps, and of the phone app.

import { assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import {
  decodeBase32,
  encodeBase32,
  hmacSha1Into,
  hotpAt,
  matchTotp,
  SHA1_OCTETS,
  TOTP_STEP_MS,
  totpAt,
} from "../../radius/factors/totp.ts";
import fc from "../packages/fast_check.ts";
import {
  acceptAppCode,
  clockAheadS,
  codeFaultText,
  explainRefusedCode,
  openApp,
  readAppSecret,
  type StoredApp,
  usedApp,
} from "../../radius/tokens/token_codes.ts";

// HMAC-SHA-1: RFC 2202 §3, and node:crypto.

/** RFC 2202 §3: the test cases 1 to 7. */
const HMAC_SHA1: readonly (readonly [key: Uint8Array, data: Uint8Array, digest: string])[] = [
  [octetsOf(0x0b, 20), utf8("Hi There"), "b617318655057264e28bc0b6fb378c8ef146be00"],
  [utf8("Jefe"), utf8("what do ya want for nothing?"), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"],
  [octetsOf(0xaa, 20), octetsOf(0xdd, 50), "125d7342b9ac11cd91a39af48aa17b4f63f175d3"],
  [
    Uint8Array.from({ length: 25 }, (_, i) => i + 1),
    octetsOf(0xcd, 50),
    "4c9007f4026250c6bc8414f9bf50c86c2d7235da",
  ],
  [octetsOf(0x0c, 20), utf8("Test With Truncation"), "4c1a03424b55e07fe7f27be1d58bb9324a9a5a04"],
  [
    octetsOf(0xaa, 80),
    utf8("Test Using Larger Than Block-Size Key - Hash Key First"),
    "aa4ae5e15272d00e95705637ce8a3b55ed402112",
  ],
  [
    octetsOf(0xaa, 80),
    utf8("Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data"),
    "e8e99d0f45237d786d6bbaa7965c7808bbff1a91",
  ],
];

function octetsOf(octet: number, length: number): Uint8Array {
  return new Uint8Array(length).fill(octet);
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function hmacSha1(key: Uint8Array, data: Uint8Array): string {
  const out = new Uint8Array(SHA1_OCTETS);
  hmacSha1Into(key, data, out);
  return out.toHex();
}

for (const [at, [key, data, digest]] of HMAC_SHA1.entries()) {
  Deno.test(`hmacSha1Into() returns the digest of RFC 2202 §3, test case ${at + 1}`, () => {
    assertEquals(hmacSha1(key, data), digest);
  });
}

Deno.test("hmacSha1Into() equals node:crypto for every length around the block size", () => {
  for (let length = 0; length <= 200; length++) {
    const data = Uint8Array.from({ length }, (_, i) => i * 7 + length);
    const key = data.subarray(0, length % 131);
    assertEquals(hmacSha1(key, data), createHmac("sha1", key).update(data).digest("hex"), `${length}`);
  }
});

Deno.test("hotpAt() equals node:crypto for 2,000 random seeds and counters", () => {
  const seeds = fc.uint8Array({ minLength: 1, maxLength: 160 });
  const counters = fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) });
  const expected = (seed: Uint8Array, counter: bigint, digits: number): string => {
    const octets = new Uint8Array(8);
    new DataView(octets.buffer).setBigUint64(0, counter);
    const mac = new Uint8Array(createHmac("sha1", seed).update(octets).digest());
    const word = new DataView(mac.buffer).getUint32((mac[19] as number) & 15) & 0x7fffffff;
    return String(word % 10 ** digits).padStart(digits, "0");
  };
  fc.assert(
    fc.property(seeds, counters, fc.integer({ min: 6, max: 8 }), (seed, counter, digits) => {
      assertEquals(hotpAt(seed, Number(counter), { digits }), expected(seed, counter, digits));
    }),
    { numRuns: 2000 },
  );
});

// Time-based one-time passwords: RFC 4226 Appendix D, RFC 6238 Appendix B (SHA-1), and the single use of codes.

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

// Authenticator apps: the parameters of a secret or an otpauth URI, the drift of a clock, and why a code is refused.

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
