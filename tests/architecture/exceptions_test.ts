// The sources violate no architecture rule, except for the violations that exceptions.json lists.

import { assertEquals } from "@std/assert";
import { judge, pruneRows, readExceptions } from "./exceptions.ts";
import { parseTree, type RuleName, RULES, SHARED_NAMES, sharedNames } from "./findings.ts";
import { readSources } from "./sources.ts";

const tree = parseTree(await readSources());
const exceptions = await readExceptions();

for (const [rule, find] of Object.entries(RULES) as [RuleName, (typeof RULES)[RuleName]][]) {
  Deno.test(`no breach of the rule "${rule}" is new, and each listed one still exists`, () => {
    const { added, stale } = judge(rule, find(tree), exceptions[rule]);
    assertEquals([
      ...added.map(({ detail }) => `new: ${detail}`),
      ...stale.map((row) => `remove the row "${row}": deno task structure --prune`),
    ], []);
  });
}

Deno.test("every name that several files may export is exported by several files", () => {
  const shared = new Set(sharedNames(tree).map(({ key }) => key));
  assertEquals([...SHARED_NAMES.keys()].filter((name) => !shared.has(name)), []);
});

const finding = (key: string) => ({ key, detail: `${key} is a breach` });

Deno.test("judge() finds a new breach, and a row whose breach is gone", () => {
  const found = [finding("radius/a.ts#old"), finding("radius/a.ts#new")];
  assertEquals(judge("functions", found, ["radius/a.ts#old", "radius/b.ts#gone"]), {
    added: [finding("radius/a.ts#new")],
    stale: ["radius/b.ts#gone"],
  });
});

Deno.test("judge() reads a row with its reason", () => {
  const rows = ["radius/a.ts (a table of facts)"];
  assertEquals(judge("small", [finding("radius/a.ts")], rows), { added: [], stale: [] });
  assertEquals(judge("small", [finding("radius/a.tsx")], rows).stale, rows);
});

Deno.test("judge() lets a listed cycle become smaller, not larger", () => {
  const rows = ["a.ts b.ts c.ts"];
  assertEquals(judge("cycles", [finding("a.ts b.ts")], rows), { added: [], stale: [] });
  const larger = finding("a.ts b.ts c.ts d.ts");
  assertEquals(judge("cycles", [larger], rows), { added: [larger], stale: rows });
});

Deno.test("pruneRows() removes rows, follows renamed files and adds nothing", () => {
  const found = ["radius/new.ts#long", "radius/new.ts: deed", "radius/other.ts#long"].map(finding);
  const renames = new Map([["radius/old.ts", "radius/new.ts"]]);
  assertEquals(pruneRows("functions", ["radius/gone.ts#f", "radius/old.ts#long"], { found, renames }), [
    "radius/new.ts#long",
  ]);
  assertEquals(pruneRows("words", ["radius/old.ts: deed"], { found, renames }), ["radius/new.ts: deed"]);
  const cycle = [finding("a.ts radius/new.ts")];
  assertEquals(pruneRows("cycles", ["a.ts radius/old.ts"], { found: cycle, renames }), [
    "a.ts radius/new.ts",
  ]);
});
