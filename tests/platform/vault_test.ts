// The vault: encrypted values can be read only with its keys, and digests cannot be confused.

import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault, equalDigests } from "../../platform/vault.ts";

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
