// The SCIM measurements at the smallest size: every part works, and the report has every figure.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { testNeeding } from "../../support/skip_unless.ts";
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
  for (const sample of samples) assert(sample.value > 0, JSON.stringify(sample));
  const expected = Object.keys(FIGURES).filter((name) => !name.startsWith("refresh")).sort();
  assertEquals(figuresOf(samples.filter(({ server }) => server === "countersign")), expected);
  const floor = figuresOf(samples.filter(({ server }) => server === "floor"));
  assertEquals(floor.filter((name) => name.endsWith("Rate")), [
    "createRate",
    "getRate",
    "pageRate",
    "replaceRate",
  ]);
  assertStringIncludes(reportLines(samples).join("\n"), "start to first answer");
});

testNeeding(
  { peers: ["slapd"] },
  "measureIdentity() measures SCIMMY, and a refresh from a real slapd twice",
  async () => {
    const samples = await measure({ users: [], scimmy: [USERS], refresh: USERS });
    for (const sample of samples) assert(sample.value > 0, JSON.stringify(sample));
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
