// Rounds: their options, and what happens to a void measurement.

import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { VoidMeasurement } from "./load.ts";
import { nodesReport } from "./nodes/run.ts";
import { onFresh, readRounds } from "./rounds.ts";

/** Starts servers that only count, and fails as often as told. */
function countingServers({ failures, fault }: { failures: number; fault: Error }) {
  const counted = { started: 0, stopped: 0 };
  const start = () => {
    counted.started++;
    return Promise.resolve({
      stop: () => {
        counted.stopped++;
        return Promise.resolve();
      },
    });
  };
  const measure = () => counted.started <= failures ? Promise.reject(fault) : Promise.resolve("measured");
  return { counted, run: () => onFresh(start, measure) };
}

Deno.test("readRounds() has defaults, shorter ones for --quick, and limits", () => {
  assertEquals(readRounds({}, { quickRounds: 2 }), { rounds: 5, seconds: 3, warmUpSeconds: 1 });
  assertEquals(readRounds({ quick: true }, { quickRounds: 2 }), {
    rounds: 2,
    seconds: 1,
    warmUpSeconds: 0.3,
  });
  for (const words of [{ rounds: "0" }, { rounds: "1.5" }, { seconds: "0.4" }, { seconds: "x" }]) {
    assertThrows(() => readRounds(words, { quickRounds: 1 }), Error, "must be");
  }
});

Deno.test("onFresh() repeats a void measurement twice, with a fresh server each time", async () => {
  const fault = new VoidMeasurement("void");
  const twice = countingServers({ failures: 2, fault });
  assertEquals(await twice.run(), "measured");
  assertEquals(twice.counted, { started: 3, stopped: 3 });
  const always = countingServers({ failures: 3, fault });
  await assertRejects(always.run, VoidMeasurement);
  assertEquals(always.counted, { started: 3, stopped: 3 });
});

Deno.test("onFresh() does not repeat another failure, and stops the server", async () => {
  const broken = countingServers({ failures: 1, fault: new Error("no server") });
  await assertRejects(broken.run, Error, "no server");
  assertEquals(broken.counted, { started: 1, stopped: 1 });
});

Deno.test("nodesReport() prints medians, and nothing for a figure that an installation does not have", () => {
  const lines = nodesReport({
    file: [{ logins: 100 }, { logins: 300 }, { logins: 110 }],
    one: [{ logins: 90, storeCpu: 20 }],
    two: [],
  });
  const lineOf = (title: string) => lines.find((line) => line.startsWith(title)) ?? "";
  assertMatch(lineOf("complete logins, 64"), / 110 \/s +90 \/s$/);
  assertMatch(lineOf("  CPU of denokv"), /each login +20 µs$/);
});
