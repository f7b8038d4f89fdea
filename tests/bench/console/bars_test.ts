// The bars: how figures are held against them, and the medians over rounds.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Figure, figureLine, isMet, medianFigures } from "./bars.ts";
import { readOptions } from "./options.ts";

const figure = (what: string, value: number): Figure => ({ what, value, unit: "ms", atMost: 20 });

Deno.test("medianFigures() gives one figure of each kind, in the order of the first round", () => {
  const rounds = [
    [figure("a", 30), figure("b", 1)],
    [figure("a", 10), figure("b", 3)],
    [figure("a", 20), figure("b", 2)],
  ];
  assertEquals(medianFigures(rounds).map(({ what, value }) => [what, value]), [["a", 20], ["b", 2]]);
});

Deno.test("figureLine() says met and NOT met; a bar itself is met", () => {
  assertStringIncludes(figureLine(figure("a", 20)), "met      a");
  assertStringIncludes(figureLine(figure("a", 20.01)), "NOT met  a");
  assertEquals(isMet(figure("a", 20)), true);
});

Deno.test("readOptions() reads what is asked for, and refuses what it does not know", () => {
  assertEquals(readOptions([]), { bytes: false, slow: false, rounds: 3, seconds: 10 });
  assertEquals(readOptions(["--slow", "--minutes", "10", "--rounds", "5"]), {
    bytes: false,
    slow: true,
    rounds: 5,
    seconds: 600,
  });
  for (
    const wrong of [["--help"], ["--seconds"], ["--seconds", "0"], ["--rounds", "x"], ["--minutes", "61"]]
  ) {
    assertEquals(readOptions(wrong), null, wrong.join(" "));
  }
});
