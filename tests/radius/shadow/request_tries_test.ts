// How long a client waits, from the times of its packets.

import { assertEquals } from "@std/assert";
import { RequestTries, type TryFigures } from "../../../radius/shadow/shadow_forwarder.ts";

interface Row {
  readonly title: string;
  /** Seconds at which the same packet arrived, and at which it arrived as a new packet. */
  readonly copiesS?: readonly number[];
  readonly reissuedS?: readonly number[];
  readonly endS: number;
  readonly isAnswered?: boolean;
  readonly expected: Partial<TryFigures>;
}

const NOTHING: TryFigures = { gaps: {}, tries: 1, gaveUp: 0, patienceMs: 0, quietMs: 0 };

const ROWS: readonly Row[] = [
  { title: "an answer at once", endS: 0.2, expected: { quietMs: 200 } },
  { title: "a client that waits 40 s in silence", endS: 40, expected: { quietMs: 40_000 } },
  { title: "no answer and no retry", endS: 120, isAnswered: false, expected: {} },
  {
    title: "a client that tries each 5 s, answered between two tries",
    ...{ copiesS: [5, 10, 15], endS: 17 },
    expected: { gaps: { 5: 3 }, tries: 4 },
  },
  {
    title: "a client that tries each 5 s, and stops after the third packet",
    ...{ copiesS: [5, 10], endS: 40 },
    expected: { gaps: { 5: 2 }, tries: 3, gaveUp: 1, patienceMs: 15_000 },
  },
  {
    title: "a login in a new packet is another try",
    ...{ reissuedS: [10], endS: 60 },
    expected: { gaps: { 10: 1 }, tries: 2, gaveUp: 1, patienceMs: 20_000 },
  },
  {
    title: "a gap of more than a minute is not counted",
    ...{ reissuedS: [61], endS: 70 },
    expected: { tries: 2 },
  },
];

for (const { title, copiesS = [], reissuedS = [], endS, isAnswered = true, expected } of ROWS) {
  Deno.test(`RequestTries: ${title}`, () => {
    const tries = new RequestTries();
    tries.begin("a", 0);
    for (const atS of copiesS) tries.again("a", atS * 1000);
    for (const atS of reissuedS) tries.begin("a", atS * 1000);
    const nowMs = endS * 1000;
    for (const _ of reissuedS) assertEquals(tries.end("a", { nowMs, isAnswered }), null);
    assertEquals(tries.end("a", { nowMs, isAnswered }), { ...NOTHING, ...expected });
    assertEquals(tries.size, 0);
  });
}

Deno.test("RequestTries.again() ignores a packet that does not wait", () => {
  const tries = new RequestTries();
  tries.again("a", 0);
  assertEquals([tries.size, tries.end("a", { nowMs: 1, isAnswered: true })], [0, null]);
});
