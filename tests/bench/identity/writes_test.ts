// The measurement of SCIM writes at its smallest size: every part works, and the report has every figure.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { measureWrites, readWriteOptions, writeReportLines, type WriteRound } from "./writes.ts";

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
