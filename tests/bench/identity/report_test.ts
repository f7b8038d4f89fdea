// Tests of the identity benchmark: its report, its options and its writes.

import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { testNeeding } from "../../support/skip_unless.ts";
import { type FigureName, FIGURES, type Sample } from "./figures.ts";
import { compareInterfaces, comparisonLines, judge, reportLines } from "./report.ts";
import type { ServerName } from "./servers.ts";
import { type IdentityBenchOptions, measureIdentity, readOptions } from "./run.ts";
import { measureWrites, readWriteOptions, writeReportLines, type WriteRound } from "./writes.ts";

// The arithmetic of the report: medians, ratios, limits, and figures that must stay flat.

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

// The SCIM measurements at the smallest size: every part works, and the report has every figure.

const USERS = 100;
const TINY: IdentityBenchOptions = {
  ...readOptions(["--quick", "--users", String(USERS), "--seconds", "0.1", "--scimmy", "0"]),
  refresh: 0,
};

async function measure(options: Partial<IdentityBenchOptions>): Promise<Sample[]> {
  return await measureIdentity({ ...TINY, ...options }, { say: () => undefined });
}

function figuresOf(samples: readonly Sample[]): string[] {
  return [...new Set(samples.map(({ figure }) => figure))].sort();
}

Deno.test("measureIdentity() measures every load of Countersign and of the lower bound", async () => {
  const samples = await measure({});
  // The kernel counts CPU time in steps of 10 ms, which a short load can miss.
  for (const sample of samples) {
    assert(sample.value > 0 || sample.figure.endsWith("Cpu"), JSON.stringify(sample));
  }
  const v2Only = ["patchUserP50", "patchUserRate", "patchUserCpu"];
  v2Only.push("memberPatchP50", "memberPatchP99", "memberPatchCpu");
  const expected = Object.keys(FIGURES)
    .filter((name) => !name.startsWith("refresh") && !v2Only.includes(name)).sort();
  assertEquals(figuresOf(samples.filter(({ server }) => server === "countersign")), expected);
  const v2 = figuresOf(samples.filter(({ server }) => server === "v2"));
  for (const name of [...v2Only, "pageP50", "getP50", "equalP50", "createP50", "replaceP50"]) {
    assert(v2.includes(name), name);
  }
  const floor = figuresOf(samples.filter(({ server }) => server === "floor"));
  assertEquals(floor.filter((name) => name.endsWith("Rate")), [
    "createRate",
    "getRate",
    "pageRate",
    "replaceRate",
  ]);
  assertStringIncludes(reportLines(samples).join("\n"), "start to first answer");
  assertStringIncludes(comparisonLines(samples).join("\n"), "change a member of 10,000: PUT, PATCH");
});

testNeeding(
  { peers: ["slapd"] },
  "measureIdentity() measures SCIMMY, and a refresh from a real slapd twice",
  async () => {
    const samples = await measure({ users: [], scimmy: [USERS], refresh: USERS });
    // The kernel counts CPU time in steps of 10 ms, which a short load can miss.
    for (const sample of samples) {
      assert(sample.value > 0 || sample.figure.endsWith("Cpu"), JSON.stringify(sample));
    }
    assertEquals(figuresOf(samples.filter(({ server }) => server === "countersign")), [
      "refreshAgain",
      "refreshFirst",
      "refreshResident",
    ]);
    const peer = figuresOf(samples.filter(({ server }) => server === "scimmy"));
    for (const name of ["pageP50", "getP50", "equalP50", "createP50", "replaceP50", "memberPutP50"]) {
      assert(peer.includes(name), name);
    }
  },
);

Deno.test("readOptions() reads sizes in order, each once, and refuses unknown words", () => {
  assertEquals(readOptions(["--users", "5000,100,5000"]).users, [100, 5000]);
  assertEquals(readOptions([]).users, [1000, 100_000, 1_000_000]);
  const { onlyInterfaces, scimmy, refresh } = readOptions(["--interfaces"]);
  assertEquals([onlyInterfaces, scimmy, refresh], [true, [], 0]);
  const refused = [
    ["--users", "99"],
    ["--users", ""],
    ["--users", "1000.5"],
    ["--users", "many"],
    ["--rounds", "0"],
    ["--seconds", "0"],
    ["--refresh", "-1"],
    ["--nothing"],
  ];
  for (const args of refused) assertThrows(() => readOptions(args), Error, undefined, args.join(" "));
});

// The measurement of SCIM writes at its smallest size: every part works, and the report has every figure.

Deno.test("measureWrites() measures creates at two sizes and a PUT of a large group", async () => {
  const options = readWriteOptions(["--quick", "--users", "1000", "--creates", "100", "--changes", "4"]);
  const rounds = await measureWrites(options, { say: () => undefined });
  assertEquals(rounds.map(({ small, large }) => [small.created, large.created]), [[100, 100]]);
  for (const { small, large, put, putHttpMs } of rounds) {
    for (const value of [small.p50Ms, large.p50Ms, put.p50Ms, putHttpMs]) assert(value > 0);
  }
});

Deno.test("writeReportLines() states whether each target is met", () => {
  const create = { stored: 1000, created: 100, p50Ms: 10, p99Ms: 20, perSecond: 1000, cpuMs: 0.5 };
  const put = {
    changes: 4,
    decodeMs: 1,
    validateMs: 2,
    writeMs: 3,
    renderMs: 1,
    p10Ms: 5,
    p50Ms: 6,
    p99Ms: 12,
    cpuMs: 7,
  };
  const round: WriteRound = { small: create, large: { ...create, p50Ms: 30 }, put, putHttpMs: 12 };
  const text = writeReportLines([round], { users: 1_000_000 }).join("\n");
  assertStringIncludes(text, "ratio of the p50: 3.00  target 2: NOT MET");
  assertStringIncludes(text, "target 10 ms: met");
});

Deno.test("readWriteOptions() has defaults and refuses unknown words", () => {
  assertEquals(readWriteOptions([]).users, 1_000_000);
  assertEquals(readWriteOptions(["--seeds", "d"]).seeds, "d");
  for (const args of [["--users", "999"], ["--rounds", "0"], ["--creates", "1.5"], ["--nothing"]]) {
    assertThrows(() => readWriteOptions(args), Error, undefined, args.join(" "));
  }
});
