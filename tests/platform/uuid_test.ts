// UUIDs: version and variant, and the order of those that begin with the time (RFC 9562).

import { assertEquals, assertMatch } from "@std/assert";
import { randomUuid, timeOrderedUuid } from "../../platform/uuid.ts";

const fixed = (octet: number) => ({ bytes: (length: number) => new Uint8Array(length).fill(octet) });

Deno.test("randomUuid() has version 4, and every other bit is random", () => {
  assertEquals(randomUuid(fixed(0)), "00000000-0000-4000-8000-000000000000");
  assertEquals(randomUuid(fixed(0xff)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
});

Deno.test("timeOrderedUuid() is the example of RFC 9562 A.6 up to its random bits, and sorts by time", () => {
  assertMatch(timeOrderedUuid(0x017f22e279b0, fixed(0)), /^017f22e2-79b0-7000-8000-0{12}$/);
  assertEquals(timeOrderedUuid(2 ** 40, fixed(0)) > timeOrderedUuid(2 ** 40 - 1, fixed(0xff)), true);
});
