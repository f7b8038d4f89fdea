// The files keep the house style, and each rule finds a planted violation.

import { assert, assertEquals } from "@std/assert";
import { readSources } from "./sources.ts";
import { STYLE_RULES, styleProblems, type StyleRow } from "./style_rules.ts";

Deno.test("every file keeps the house style", async () => {
  const files = await readSources();
  assert(files.length > 50, "the files were read");
  // The rules quote what they forbid.
  const judged = files.filter(({ path }) => !path.startsWith("tests/architecture/style_"));
  assertEquals(judged.flatMap(styleProblems), []);
});

for (const [sentence, rule] of Object.entries(STYLE_RULES) as [string, StyleRow][]) {
  Deno.test(`styleProblems() finds a file that ${sentence}`, () => {
    assert(rule.applies(rule.breach.path));
    assert(styleProblems(rule.breach).some((problem) => problem.endsWith(sentence)));
  });
}

Deno.test("styleProblems() finds nothing in a clean file", () => {
  const text = "// Counts sheep.\n\nexport function count(sheep: number): number {\n  return sheep;\n}\n";
  assertEquals(styleProblems({ path: "radius/sheep.ts", text }), []);
});
