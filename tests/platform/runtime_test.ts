// Clock and randomness.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import fc from "../packages/fast_check.ts";
import {
  createSystemRandom,
  type Random,
  randomDigits,
  randomUuid,
  systemClock,
  timeOrderedUuid,
  toBase64Url,
} from "../../platform/runtime.ts";

/** Returns the octets of a list again and again. */
function scripted(...octets: number[]): Random {
  let at = 0;
  return { bytes: (length) => Uint8Array.from({ length }, () => octets[at++ % octets.length] ?? 0) };
}

Deno.test("createSystemRandom() returns the requested number of octets, also across page borders", () => {
  const random = createSystemRandom();
  for (const length of [0, 1, 16, 4000, 4096, 4097, 16_384, 3, 16_383, 16_384]) {
    assertEquals(random.bytes(length).length, length);
  }
});

Deno.test("createSystemRandom() refuses more than a page at once", () => {
  assertThrows(() => createSystemRandom().bytes(16_385), RangeError, "at most 16384");
});

Deno.test("createSystemRandom() never returns the same octets twice, and does not keep the returned ones", () => {
  const random = createSystemRandom();
  const seen = new Set(Array.from({ length: 5000 }, () => random.bytes(16).toHex()));
  assertEquals(seen.size, 5000);
  const first = random.bytes(16);
  const copy = Uint8Array.from(first);
  random.bytes(9000);
  assertEquals(first, copy);
});

Deno.test("createSystemRandom() returns all octet values about equally often", () => {
  const random = createSystemRandom();
  const counts = new Array<number>(256).fill(0);
  for (let i = 0; i < 200; i++) {
    for (const octet of random.bytes(1000)) counts[octet] = (counts[octet] ?? 0) + 1;
  }
  // 200,000 draws: 781 of each are expected; five times the spread is far beyond any good generator.
  assert(counts.every((count) => count > 600 && count < 980), counts.join());
});

Deno.test("randomDigits() keeps leading zeros and uses no octets of 250 and above", () => {
  assertEquals(randomDigits(scripted(0), 6), "000000");
  assertEquals(randomDigits(scripted(0, 1, 2, 3, 4, 5), 6), "012345");
  assertEquals(randomDigits(scripted(250, 255, 249, 251, 7), 4), "9797");
});

Deno.test("randomDigits() returns all digits equally often, from uniform octets", () => {
  const every = scripted(...Array(256).keys());
  const counts = new Map<string, number>();
  for (let i = 0; i < 250; i++) {
    for (const digit of randomDigits(every, 8)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  }
  assertEquals(counts.size, 10);
  const values = [...counts.values()];
  assert(Math.max(...values) - Math.min(...values) < 20, values.join());
});

Deno.test("toBase64Url() reads back, for any octets", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (octets) => {
    const text = toBase64Url(octets);
    assert(/^[A-Za-z0-9_-]*$/.test(text));
    assertEquals(Uint8Array.fromBase64(text, { alphabet: "base64url" }), octets);
  }));
});

Deno.test("systemClock.after() runs a task once, and not at all after one or two cancellations", async () => {
  const ran: string[] = [];
  systemClock.after(0, () => ran.push("kept"));
  const cancel = systemClock.after(0, () => ran.push("cancelled"));
  cancel();
  cancel();
  await new Promise<void>((resolve) => {
    setTimeout(resolve, 5);
  });
  assertEquals(ran, ["kept"]);
  assert(Math.abs(systemClock.nowMs() - Date.now()) < 1000);
});

const fixed = (octet: number) => ({ bytes: (length: number) => new Uint8Array(length).fill(octet) });

Deno.test("randomUuid() has version 4, and every other bit is random", () => {
  assertEquals(randomUuid(fixed(0)), "00000000-0000-4000-8000-000000000000");
  assertEquals(randomUuid(fixed(0xff)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
});

Deno.test("timeOrderedUuid() is the example of RFC 9562 A.6 except its random bits, and sorts by time", () => {
  assertMatch(timeOrderedUuid(0x017f22e279b0, fixed(0)), /^017f22e2-79b0-7000-8000-0{12}$/);
  assertEquals(timeOrderedUuid(2 ** 40, fixed(0)) > timeOrderedUuid(2 ** 40 - 1, fixed(0xff)), true);
});
