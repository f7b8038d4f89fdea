// Tests of the measurements of `deno task structure`, each with a planted example.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { BANNED_WORDS, type BannedWord, bannedWords } from "./banned_words.ts";
import { type Finding, parseTree, type RuleName, RULES, singleImporterFiles } from "./findings.ts";
import { importCycles, importEdges } from "./import_graph.ts";
import type { SourceFile } from "./sources.ts";
import { measure, renderTable } from "./structure_report.ts";
import { parseModule } from "./syntax.ts";

const file = (path: string, text: string): SourceFile => ({ path, text });
const module = (text: string) => parseModule(file("radius/a.tsx", text));
const wordsIn = (path: string, text: string) => {
  const source = file(path, text);
  return bannedWords(source, parseTree([source]).modules.get(path)).map(({ word, line }) => [word, line]);
};
const lines = (count: number) => "  work();\n".repeat(count);

Deno.test("parseModule() measures functions from the first to the last line, nested ones too", () => {
  const { functions } = module(`export function outer() {
  const inner = () => {
    return 1;
  };
  register("a name", {
    run() {},
  });
}
class Queue {
  #close(): void {}
}
`);
  assertEquals(functions, [
    { name: "outer", line: 1, lines: 8 },
    { name: "outer > inner", line: 2, lines: 3 },
    { name: "outer > run", line: 6, lines: 1 },
    { name: "#close", line: 10, lines: 1 },
  ]);
});

Deno.test("parseModule() names a callback after the function that receives it", () => {
  const { functions } = module(
    'Deno.test("it works", () => {});\nlist.map((one) => one);\nnew Promise(() => {});\n',
  );
  assertEquals(functions.map(({ name }) => name), ['Deno.test("it works")', "list.map()", "function"]);
});

Deno.test("parseModule() lists the exports that a module declares, not those that it passes on", () => {
  const { exports } = module(`import { taken } from "./b.ts";
export const one = 1, { two, three: [four] } = taken;
export interface Five {}
export type Six = 6;
const local = 7;
export { local as seven, taken };
export { eight } from "./c.ts";
export * from "./d.ts";
`);
  assertEquals(exports, ["one", "two", "four", "Five", "Six", "seven"]);
});

Deno.test("importEdges() distinguishes code from types, and finds dynamic imports", () => {
  const tree = parseTree([file(
    "radius/flow/a.ts",
    `import type { B } from "../b.ts";
import { c } from "./c.ts";
import type { C } from "./c.ts";
export * from "./d.ts";
type E = import("./e.ts").E;
const f = import("./f.ts");
import { hono } from "hono";
`,
  )]);
  assertEquals(importEdges(tree.modules).map(({ target, types }) => [target, types]), [
    ["radius/b.ts", true],
    ["radius/flow/c.ts", false],
    ["radius/flow/d.ts", false],
    ["radius/flow/e.ts", true],
    ["radius/flow/f.ts", false],
  ]);
});

Deno.test("importCycles() finds each group of modules that reach each other", () => {
  const edge = (from: string, target: string) => ({ from, target, types: true });
  const edges = [
    edge("a", "b"),
    edge("b", "c"),
    edge("c", "a"),
    edge("c", "d"),
    edge("e", "d"),
    edge("d", "f"),
  ];
  assertEquals(importCycles(edges), [["a", "b", "c"]]);
  assertEquals(importCycles([edge("x", "y"), edge("y", "x"), ...edges]), [["a", "b", "c"], ["x", "y"]]);
});

/** A tree that breaks one rule, and the key of what the rule finds. */
const BREACHES: Readonly<Record<RuleName, { files: SourceFile[]; key: string }>> = {
  functions: {
    files: [file("radius/a.ts", `export function long() {\n${lines(79)}}\n`)],
    key: "radius/a.ts#long",
  },
  files: { files: [file("console/a.css", "a {}\n".repeat(501))], key: "console/a.css" },
  names: {
    files: [file("radius/a.ts", "export const Twice = 1;\n"), file("scim/a.ts", "export type Twice = 1;\n")],
    key: "Twice",
  },
  exports: {
    files: [
      file("radius/a.ts", "export const used = 1;\nexport type Unused = 1;\n"),
      file("radius/b.ts", 'import { used } from "./a.ts";\n'),
    ],
    key: "radius/a.ts#Unused",
  },
  small: {
    files: [
      file("radius/a.ts", "// Small.\n"),
      file("radius/dialog.ts", "// On demand.\n"),
      file("radius/flow/a.ts", "// Another folder.\n"),
      file(
        "radius/b.ts",
        'import "./a.ts";\nimport "./flow/a.ts";\nconst d = () => import("./dialog.ts");\n',
      ),
    ],
    key: "radius/a.ts",
  },
  cycles: {
    files: [
      file("radius/a.ts", 'import type { B } from "./b.ts";\n'),
      file("radius/b.ts", 'import { a } from "./a.ts";\n'),
    ],
    key: "radius/a.ts radius/b.ts",
  },
  words: { files: [file("docs/a.md", "It stands\nin the file.\n")], key: "docs/a.md: stands in" },
};

const CLEAN = [
  file("radius/a.ts", `// Works.\n\nexport function work() {\n${lines(78)}}\n`),
  file("radius/b.ts", 'import { work } from "./a.ts";\nexport { work };\n'),
  file("console/a.css", "a {}\n".repeat(500)),
];

for (const [name, find] of Object.entries(RULES) as [RuleName, (typeof RULES)[RuleName]][]) {
  Deno.test(`the rule "${name}" finds a planted breach, and nothing in a clean tree`, () => {
    const { files, key } = BREACHES[name];
    assertEquals(find(parseTree(files)).map((finding: Finding) => finding.key), [key]);
    assertEquals(find(parseTree(CLEAN)), []);
  });
}

for (const [word, { breach }] of Object.entries(BANNED_WORDS) as [string, BannedWord][]) {
  Deno.test(`bannedWords() finds "${word}" in docs, comments and strings`, () => {
    assertEquals(wordsIn("docs/a.md", breach), [[word, 1]]);
    assertEquals(wordsIn("radius/a.ts", `// ${breach}\n`), [[word, 1]]);
    assertEquals(wordsIn("radius/a.ts", `\nconst said = ${JSON.stringify(breach)};\n`), [[word, 2]]);
  });
}

Deno.test("bannedWords() finds a phrase that continues on the next line", () => {
  assertEquals(wordsIn("radius/a.ts", "// Starts.\n// What is\n// owed to it.\n"), [["is owed", 2]]);
  assertEquals(wordsIn("radius/a.ts", "/**\n * What is\n * owed to it.\n */\n"), [["is owed", 2]]);
});

Deno.test("bannedWords() ignores data and other words", () => {
  assertEquals(wordsIn("tests/a_test.ts", 'const nobody = await call("/users/nobody");\n'), []);
  assertEquals(wordsIn("radius/a.ts", "// Indeed, a stand-in is standing by.\n"), []);
});

Deno.test("bannedWords() reads names of files and catalogues of one word", () => {
  assertEquals(wordsIn("scim/http/deeds.ts", "const bulkDeed = indeed;\n"), [["deed", 1], ["deed", 1]]);
  assertEquals(wordsIn("console/web/i18n/en.ts", 'export const title = "Nobody";\n'), [["nobody", 1]]);
});

Deno.test("singleImporterFiles() counts only importers of the product", () => {
  const tree = parseTree([
    file("main.ts", 'import "./a.ts";\nimport "./b.ts";\n'),
    file("a.ts", 'import "./b.ts";\n'),
    file("b.ts", "// Ends.\n"),
    file("tests/a_test.ts", 'import "../a.ts";\n'),
  ]);
  assertEquals(singleImporterFiles(tree), [{ path: "a.ts", lines: 1, importer: "main.ts" }]);
});

Deno.test("renderTable() aligns before, now and target", () => {
  const now = measure(parseTree(CLEAN), () => null);
  assertEquals([now["product files (.ts, .tsx)"], now["product lines"]], [2, 84]);
  const before = { title: "before", measured: { ...now, "product lines": 75000 } };
  const table = renderTable(now, before).split("\n");
  assertEquals(table[2], "product lines                     75,000   84  55,000 to 62,000");
  assertEquals(renderTable(now).split("\n")[2], "product lines                      84  55,000 to 62,000");
});

Deno.test("parseModule() names the file that it cannot parse", () => {
  assert(
    assertThrows(() => module("const = 1;"), SyntaxError).message.startsWith("Cannot parse radius/a.tsx: "),
  );
});
