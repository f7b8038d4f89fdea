// Tests of the limits: comparison of figures, and medians over rounds.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Figure, figureLine, isMet, largestLine, medianFigures } from "./bars.ts";
import { readOptions } from "./options.ts";

const figure = (what: string, value: number): Figure => ({ what, value, unit: "ms", atMost: 20 });

Deno.test("medianFigures() returns one figure of each kind, in the order of the first round", () => {
  const rounds = [
    [figure("a", 30), figure("b", 1)],
    [figure("a", 10), figure("b", 3)],
    [figure("a", 20), figure("b", 2)],
  ];
  assertEquals(medianFigures(rounds).map(({ what, value }) => [what, value]), [["a", 20], ["b", 2]]);
});

Deno.test("figureLine() prints met and NOT met; a figure at the limit is met", () => {
  assertStringIncludes(figureLine(figure("a", 20)), "met      a");
  assertStringIncludes(figureLine(figure("a", 20.01)), "NOT met  a");
  assertEquals(isMet(figure("a", 20)), true);
});

Deno.test("largestLine() names the three largest figures of a kind", () => {
  const figures = ["a", "b", "c", "d"].map((name, at) => figure(`${name}: first view`, at));
  assertEquals(
    largestLine([...figures, figure("e: first view, requests", 99)], "first view"),
    'The largest of "first view": d 3 ms, c 2 ms, b 1 ms',
  );
});

Deno.test("readOptions() reads the options, and refuses unknown ones", () => {
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
