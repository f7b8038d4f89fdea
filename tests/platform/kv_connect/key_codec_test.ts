// Keys as octets: examples of the tuple layer, and the laws of the encoding.

import { assertEquals, assertThrows } from "@std/assert";
import { decodeKey, encodeKey } from "../../../platform/kv_connect/client.ts";

/** https://github.com/apple/foundationdb/blob/main/design/tuple.md, and doubles as Deno KV writes numbers. */
const EXAMPLES: readonly (readonly [Deno.KvKey, string])[] = [
  [[], ""],
  [[Uint8Array.of(0x66, 0x6f, 0x6f, 0, 0x62, 0x61, 0x72)], "01666f6f00ff62617200"],
  [["FÔO\0bar"], "0246c3944f00ff62617200"],
  [[5551212n], "1754b46c"],
  [[-5551212n], "11ab4b93"],
  [[0n], "14"],
  [[-42], "213fbaffffffffffff"],
  [[42], "21c045000000000000"],
  [[true, false], "2726"],
  [["a", 1, "b"], "02610021bff0000000000000026200"],
];

for (const [key, hex] of EXAMPLES) {
  Deno.test(`encodeKey() writes ${Deno.inspect(key)} as ${hex || "nothing"}`, () => {
    assertEquals(encodeKey(key).toHex(), hex);
    assertEquals(decodeKey(Uint8Array.fromHex(hex)), key);
  });
}

const PARTS: readonly Deno.KvKeyPart[] = [
  ...["", "a", "a\0", "a\0b", "aa", "ä", "😀", "\uffff"],
  ...[Uint8Array.of(), Uint8Array.of(0), Uint8Array.of(0, 0), Uint8Array.of(255), Uint8Array.of(0, 255)],
  ...[-Infinity, -1e300, -1, -1e-300, 0, 1e-300, 0.5, 1, 2 ** 53, Infinity],
  ...[-(2n ** 64n) + 1n, -65_536n, -256n, -255n, -1n, 0n, 1n, 255n, 256n, 2n ** 64n - 1n],
  ...[false, true],
];

Deno.test("decodeKey() reverses encodeKey() for every pair of parts", () => {
  for (const a of PARTS) for (const b of PARTS) assertEquals(decodeKey(encodeKey([a, b])), [a, b]);
});

Deno.test("encodeKey() writes keys that sort as Deno KV sorts them", async () => {
  using kv = await Deno.openKv(":memory:");
  for (const a of PARTS) for (const b of PARTS.slice(0, 12)) await kv.set([a, b], 0);
  const listed = await Array.fromAsync(kv.list({ prefix: [] }), ({ key }) => encodeKey(key).toHex());
  assertEquals(listed, listed.toSorted());
});

Deno.test("encodeKey() refuses what the store refuses", () => {
  assertEquals(encodeKey(["x".repeat(2046)]).length, 2048);
  for (
    const key of [
      ["x".repeat(2047)],
      ["x".repeat(10_000)],
      ["x".repeat(2040), "x", "x", "x"],
      [new Uint8Array(1200)],
      ["\0".repeat(1200)],
      [2n ** 64n],
      [Symbol()],
    ]
  ) assertThrows(() => encodeKey(key), TypeError, "Cannot encode a key");
});

Deno.test("decodeKey() throws for octets that are no key, and for each truncation", () => {
  assertThrows(() => decodeKey(Uint8Array.of(0xfe)), TypeError, "tag 254");
  const whole = encodeKey([Uint8Array.of(1)]);
  for (let length = 1; length < whole.length; length++) {
    assertThrows(() => decodeKey(whole.subarray(0, length)), TypeError, "has no end");
  }
  assertThrows(() => decodeKey(encodeKey([1.5]).subarray(0, 5)), TypeError, "has no end");
  assertThrows(() => decodeKey(encodeKey([70_000n]).subarray(0, 2)), TypeError, "has no end");
});
