// The SCIM measurements at the smallest size: every part works, and the report has every figure.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { testNeeding } from "../../support/skip_unless.ts";
import { comparisonLines } from "./comparison.ts";
import { FIGURES, type Sample } from "./figures.ts";
import { reportLines } from "./report.ts";
import { type IdentityBenchOptions, measureIdentity, readOptions } from "./run.ts";

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
