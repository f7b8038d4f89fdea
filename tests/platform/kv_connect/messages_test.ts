// The messages of KV Connect: octets that denokv 0.14.0 sent, values as Deno KV stores them, and truncated answers.

import { assertEquals, assertThrows } from "@std/assert";
import {
  decodeAtomicWriteOutput,
  decodeSnapshotReadOutput,
  encodeAtomicWrite,
  encodeSnapshotRead,
  encodeValue,
} from "../../../platform/kv_connect/messages.ts";

const KEY = Uint8Array.of(2, 0x61, 0);

/** Field by field; a nested message has a length of four octets. */
Deno.test("encodeSnapshotRead() writes ranges", () => {
  const range = { start: KEY, end: Uint8Array.of(...KEY, 0), limit: 300, reverse: true };
  assertEquals(encodeSnapshotRead([range]).toHex(), "0a908080000a030261001204026100001" + "8ac022001");
});

Deno.test("encodeAtomicWrite() writes checks, values, deletions and expiry times", () => {
  const checks = [{ key: KEY, versionstamp: null }, { key: KEY, versionstamp: "000000000000000a0000" }];
  const mutations = [
    { key: KEY, value: { octets: Uint8Array.of(7), encoding: 3 }, expireAtMs: 1_800_000_000_000 },
    { key: KEY, value: null, expireAtMs: 0 },
  ];
  assertEquals(
    encodeAtomicWrite(checks, mutations).toHex(),
    "0a858080000a03026100" +
      "0a918080000a03026100120a000000000000000a0000" +
      "12988080000a030261001285808000" + "0a0107" + "1003" + "1801" + "2080a0f1c2b134" +
      "12878080000a03026100" + "1802",
  );
});

/** A read of one range with ["a"] = { b: 1 }. */
const READ_ANSWER = "0a210a1f0a03026100120aff106f22016249027b011801220a0000000000000007000020014001";

Deno.test("decodeSnapshotReadOutput() reads an answer, and throws for each truncation of its entry", () => {
  const answer = Uint8Array.fromHex(READ_ANSWER);
  assertEquals(decodeSnapshotReadOutput(answer), [[
    { key: KEY, value: { b: 1 }, versionstamp: "00000000000000070000" },
  ]]);
  for (let length = 0; length < answer.length; length++) {
    // Without the last field, its preset is success.
    if (length === answer.length - 2) continue;
    assertThrows(() => decodeSnapshotReadOutput(answer.subarray(0, length)), TypeError);
  }
});

for (
  const [what, hex] of [
    ["reads are disabled", "0a00" + "1001" + "2001"],
    ["the answer may be old", "0a00"],
    ["the status is not success", "0a00" + "2001" + "4002"],
  ] as const
) {
  Deno.test(`decodeSnapshotReadOutput() throws if ${what}`, () => {
    assertThrows(() => decodeSnapshotReadOutput(Uint8Array.fromHex(hex)), TypeError, "Cannot read");
  });
}

Deno.test("decodeAtomicWriteOutput() tells a commit, a failed check, and another failure apart", () => {
  const decode = (hex: string) => decodeAtomicWriteOutput(Uint8Array.fromHex(hex));
  assertEquals(decode("0801120a00000000000000050000"), "00000000000000050000");
  assertEquals(decode("080222" + "0100"), null);
  assertThrows(() => decode("0805"), TypeError, "status 5");
  assertThrows(() => decode(""), TypeError, "status 0");
});

Deno.test("encodeValue() writes a Uint8Array as it is, and any other value in the form of Deno KV", () => {
  assertEquals(encodeValue(Uint8Array.of(1, 2)), { octets: Uint8Array.of(1, 2), encoding: 3 });
  const { octets, encoding } = encodeValue({ u: Uint8Array.of(1) });
  // 0x42 is an ArrayBuffer, 0x56 a view of one.
  assertEquals([encoding, new Uint8Array(octets).toHex()], [1, "ff0f6f2201754201015642000100" + "7b01"]);
  assertThrows(() => encodeValue(() => 1));
});
