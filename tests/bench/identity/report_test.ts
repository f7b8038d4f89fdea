// The arithmetic of the report: medians, ratios, limits, and figures that must stay flat.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { FigureName, Sample } from "./figures.ts";
import { compareInterfaces } from "./comparison.ts";
import { judge, reportLines } from "./report.ts";
import type { ServerName } from "./servers.ts";

function sample(server: ServerName, users: number, [figure, value]: [FigureName, number]): Sample {
  return { server, users, figure, value };
}

const SAMPLES: readonly Sample[] = [
  sample("countersign", 1000, ["pageP50", 10]),
  sample("countersign", 100_000, ["pageP50", 90]),
  sample("countersign", 100_000, ["pageP50", 20]),
  sample("countersign", 100_000, ["pageP50", 30]),
  sample("countersign", 1_000_000, ["pageP50", 70]),
  sample("floor", 100_000, ["pageP50", 15]),
  sample("scimmy", 1000, ["pageP50", 300]),
  sample("scimmy", 20_000, ["pageP50", 3000]),
];

Deno.test("judge() uses the median at the size that the limit names, and the peer's nearest size", () => {
  const [page] = judge(SAMPLES);
  assertEquals(
    [page?.at, page?.value, page?.ofFloor, page?.ofScimmy, page?.met],
    ["100,000", 30, 0.5, 100, true],
  );
});

Deno.test("judge() inverts the ratio where more is better", () => {
  const [get] = judge([
    sample("countersign", 1000, ["getRate", 1499]),
    sample("floor", 1000, ["getRate", 2998]),
  ]);
  assertEquals([get?.value, get?.ofFloor, get?.ofScimmy, get?.met], [1499, 0.5, null, false]);
});

Deno.test("judge() compares the largest size with the smallest for figures that must stay flat", () => {
  const flat = judge(SAMPLES).filter(({ title }) => title.startsWith("flat"));
  assertEquals(flat.map(({ at, value, met }) => [at, value, met]), [["1,000 → 1,000,000", 7, false]]);
  assertEquals(judge(SAMPLES.slice(0, 1)).filter(({ title }) => title.startsWith("flat")), []);
});

Deno.test("reportLines() has a column for each server and size, and reports a limit that is not met", () => {
  const lines = reportLines(SAMPLES);
  assertMatch(lines[1] ?? "", /^users +1,000 +100,000 +1,000,000 +100,000 +1,000 +20,000$/);
  assertMatch(lines[2] ?? "", /^page of 100.* ms +10\.00 +30\.00 +70\.00 +15\.00 +300\.00 +3,000\.00$/);
  assert(lines.some((line) => /^flat: page.* 7\.00 +≤ 2 +NOT met$/.test(line)), lines.join("\n"));
});

Deno.test("judge() has a target and the growth of each interface", () => {
  const verdicts = judge([
    sample("v2", 1000, ["memberPatchP50", 4]),
    sample("v2", 1_000_000, ["memberPatchP50", 10.5]),
    sample("countersign", 1000, ["getP50", 2]),
    sample("countersign", 1_000_000, ["getP50", 3]),
  ]);
  assertEquals(verdicts.map(({ title, value, met }) => [title, value, met]), [
    ["/scim/v2: one member of 10,000, by PATCH: p50", 10.5, false],
    ["flat: GET one, 16 at once: p50", 1.5, true],
    ["flat: /scim/v2: one member of 10,000, by PATCH: p50", 2.625, false],
  ]);
});

Deno.test("compareInterfaces() compares what was measured at both, at each size", () => {
  const rows = compareInterfaces([
    sample("countersign", 1000, ["memberPutP50", 10]),
    sample("v2", 1000, ["memberPatchP50", 2]),
    sample("v2", 100_000, ["memberPatchP50", 3]),
    sample("v2", 1000, ["getP50", 3]),
  ]);
  assertEquals(rows.map(({ users, ratio }) => [users, ratio]), [[1000, 0.2]]);
});
