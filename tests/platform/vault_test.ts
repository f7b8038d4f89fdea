// The vault: encrypted values can be read only with its keys, and digests cannot be confused.

import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { createHmac, hkdfSync } from "node:crypto";
import fc from "../packages/fast_check.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault, equalDigests, HmacSha256 } from "../../platform/vault.ts";

const random = createSystemRandom();
const MASTER = Uint8Array.from({ length: 32 }, (_, i) => i);
const KEY: Deno.KvKey = ["pairing", "default", "ada", "totp", "1"];
const plainOf = (text: string) => new TextEncoder().encode(text);

Deno.test("createVault() opens what it sealed, of any length, also after a restart", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 500 }), (plain) => {
    const sealed = createVault(MASTER, random).seal(KEY, plain);
    assertEquals(createVault(MASTER, random).open(KEY, sealed), plain);
  }));
});

Deno.test("seal() returns different octets each time, and never the plain ones", () => {
  const vault = createVault(MASTER, random);
  const plain = plainOf("a seed that must not be seen");
  const [first, second] = [vault.seal(KEY, plain), vault.seal(KEY, plain)];
  assertNotEquals(first, second);
  assert(!new TextDecoder().decode(first).includes("seed"));
  assertEquals(first.length, 12 + 16 + plain.length);
});

const OTHER_KEYS: readonly Deno.KvKey[] = [
  ["pairing", "default", "bob", "totp", "1"],
  ["pairing", "default", "ada", "totp"],
  ["pairing", "default", "ada", "totp", "1", ""],
  ["pairing", "default", "ada,totp", "1"],
  ["pairing", 'default","ada', "totp", "1"],
  [],
];
for (const other of OTHER_KEYS) {
  Deno.test(`open() returns null for the record key ${JSON.stringify(other)}`, () => {
    const vault = createVault(MASTER, random);
    assertEquals(vault.open(other, vault.seal(KEY, plainOf("seed"))), null);
  });
}

Deno.test("open() returns null for every altered octet, every truncation, and values that were never sealed", () => {
  const vault = createVault(MASTER, random);
  const sealed = vault.seal(KEY, plainOf("seed"));
  for (let at = 0; at < sealed.length; at++) {
    const altered = Uint8Array.from(sealed);
    altered[at] = (altered[at] ?? 0) ^ 1;
    assertEquals(vault.open(KEY, altered), null, `octet ${at}`);
    assertEquals(vault.open(KEY, sealed.slice(0, at)), null, `cut to ${at}`);
  }
  assertEquals(vault.open(KEY, Uint8Array.from([...sealed, 0])), null);
  assertEquals(vault.open(KEY, random.bytes(100)), null);
});

Deno.test("open() returns null with another master key", () => {
  const sealed = createVault(MASTER, random).seal(KEY, plainOf("seed"));
  assertEquals(createVault(random.bytes(32), random).open(KEY, sealed), null);
});

Deno.test("digest() is the same for the same input, and different for another purpose, value or master key", () => {
  const vault = createVault(MASTER, random);
  const digest = vault.digest("passcode", "1234");
  assert(/^[0-9a-f]{64}$/.test(digest));
  assertEquals(createVault(MASTER, random).digest("passcode", plainOf("1234")), digest);
  const others = [
    vault.digest("session", "1234"),
    vault.digest("passcode", "12345"),
    vault.digest("passcode1", "234"),
    vault.digest("passcod", "e1234"),
    vault.digest("passcode", ""),
    createVault(random.bytes(32), random).digest("passcode", "1234"),
  ];
  assertEquals(new Set([...others, digest]).size, others.length + 1);
});

Deno.test("digest() is the HMAC-SHA-256 of the purpose, an octet 0 and the value, as node:crypto computes it", () => {
  const vault = createVault(MASTER, random);
  const key = new Uint8Array(hkdfSync("sha256", MASTER, new Uint8Array(0), "countersign digest", 32));
  const text = fc.string({ unit: "binary", maxLength: 600 });
  const value = fc.oneof(text, fc.uint8Array({ maxLength: 1500 }).map((octets) => Uint8Array.from(octets)));
  fc.assert(
    fc.property(text, value, (purpose, value) => {
      const expected = createHmac("sha256", key).update(purpose).update("\0").update(value).digest("hex");
      assertEquals(vault.digest(purpose, value), expected);
    }),
    { numRuns: 1000 },
  );
});

/** RFC 4231 §4.2 to §4.5: the test cases with keys of at most one block. */
const HMAC_SHA256: readonly (readonly [key: string, data: string, digest: string])[] = [
  [
    "0b".repeat(20),
    plainOf("Hi There").toHex(),
    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  ],
  [
    plainOf("Jefe").toHex(),
    plainOf("what do ya want for nothing?").toHex(),
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  ],
  ["aa".repeat(20), "dd".repeat(50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"],
  [
    "0102030405060708090a0b0c0d0e0f10111213141516171819",
    "cd".repeat(50),
    "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
  ],
];
for (const [at, [key, data, digest]] of HMAC_SHA256.entries()) {
  Deno.test(`HmacSha256 returns the digest of RFC 4231 §4, test case ${at + 1}`, () => {
    const octets = Uint8Array.fromHex(data);
    assertEquals(new HmacSha256(Uint8Array.fromHex(key)).sign(octets, octets.length).toHex(), digest);
  });
}

Deno.test("HmacSha256 equals node:crypto for every length around the block size, and refuses a longer key", () => {
  const key = Uint8Array.from({ length: 64 }, (_, i) => i * 5);
  const hmac = new HmacSha256(key);
  for (let length = 0; length <= 200; length++) {
    const data = Uint8Array.from({ length }, (_, i) => i * 7 + length);
    assertEquals(hmac.sign(data, length).toHex(), createHmac("sha256", key).update(data).digest("hex"));
  }
  assertThrows(() => new HmacSha256(new Uint8Array(65)), RangeError, "64 octets");
});

Deno.test("deriveKey() returns a different key for each purpose, of the requested length", () => {
  const vault = createVault(MASTER, random);
  assertEquals(vault.deriveKey("join", 32), createVault(MASTER, random).deriveKey("join", 32));
  assertNotEquals(vault.deriveKey("join", 32), vault.deriveKey("seal", 32));
  assertEquals(vault.deriveKey("join", 64).length, 64);
  assertNotEquals(vault.deriveKey("join", 32), MASTER);
});

Deno.test("createVault() accepts only a master key of 32 octets", () => {
  for (const length of [0, 16, 31, 33, 64]) {
    assertThrows(() => createVault(new Uint8Array(length), random), RangeError, "32 octets");
  }
});

Deno.test("createVault() does not show its keys when it is printed", () => {
  const vault = createVault(MASTER, random);
  const printed = `${JSON.stringify(vault)}${Deno.inspect(vault, { depth: 9, showHidden: true })}`;
  assert(!printed.includes("1, 2, 3, 4") && !printed.includes("0001020304"), printed);
});

Deno.test("equalDigests() compares the whole text, of any length", () => {
  assert(equalDigests("abc", "abc") && equalDigests("", ""));
  for (const other of ["", "ab", "abcd", "abd", "ABC", "abc\0"]) assert(!equalDigests("abc", other), other);
});
