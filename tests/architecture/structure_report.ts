// The size and shape of a source tree as a table: before, now, target.

import {
  countLines,
  type Finding,
  isProduct,
  MIN_SEPARATE_LINES,
  RULES,
  singleImporterFiles,
  type SourceTree,
} from "./findings.ts";
import { importEdges } from "./import_graph.ts";
import { type ImportEdge, isModule } from "./sources.ts";

/** The number of a tree by row; `null`: the tree does not have what the row measures. */
export type Measurements = Readonly<Record<RowName, number | null>>;

export type ImportProblem = (edge: ImportEdge) => string | null;

const TARGETS = {
  "product files (.ts, .tsx)": "under 480",
  "product lines": "55,000 to 62,000",
  "lines of CSS": "",
  "lines of data (.json)": "",
  "test files": "",
  "test lines": "under 50,000",
  "functions over 80 lines, product": "0",
  "functions over 80 lines, tests": "0",
  "files over 500 lines, product": "0",
  "files over 500 lines, tests": "0",
  "product files with one importer": "",
  "of these under 60 lines": "",
  "names exported by several files": "0",
  "import cycles, with types": "0",
  "import direction breaches": "0",
  "banned words, product and docs": "0",
  "banned words, tests": "0",
} as const;
type RowName = keyof typeof TARGETS;

const NOT_DATA = new Set(["deno.json"]);

/** The places behind the numbers, by the name under which `--list` prints them. */
export function listFindings(
  tree: SourceTree,
  importProblem: ImportProblem | null,
): Record<string, Finding[]> {
  const single = singleImporterFiles(tree).filter(({ lines }) => lines < MIN_SEPARATE_LINES);
  return {
    ...Object.fromEntries(Object.entries(RULES).map(([name, find]) => [name, find(tree)])),
    imports: importEdges(tree.modules).flatMap((edge) => {
      const detail = importProblem?.(edge) ?? null;
      return detail === null ? [] : [{ key: detail, detail }];
    }),
    importers: single.map(({ path, lines, importer }) => ({
      key: path,
      detail: `${path} (${lines} lines) is imported by ${importer} alone`,
    })),
  };
}

/** Measures a tree. */
export function measure(tree: SourceTree, importProblem: ImportProblem | null): Measurements {
  const { functions, files, names, cycles, words, imports } = listFindings(tree, importProblem);
  const lines = (test: (path: string) => boolean) =>
    tree.files.filter(({ path }) => test(path)).reduce((sum, { text }) => sum + countLines(text), 0);
  const paths = tree.files.map(({ path }) => path);
  const ofProduct = (path: string) => isProduct(path) && isModule(path);
  const ofTests = (path: string) => !isProduct(path) && isModule(path);
  const single = singleImporterFiles(tree);
  const [ownWords, testWords] = halves(words);
  return {
    "product files (.ts, .tsx)": paths.filter(ofProduct).length,
    "product lines": lines(ofProduct),
    "lines of CSS": lines((path) => path.endsWith(".css")),
    "lines of data (.json)": lines((path) =>
      isProduct(path) && path.endsWith(".json") && !NOT_DATA.has(path)
    ),
    "test files": paths.filter(ofTests).length,
    "test lines": lines(ofTests),
    "functions over 80 lines, product": halves(functions)[0].length,
    "functions over 80 lines, tests": halves(functions)[1].length,
    "files over 500 lines, product": halves(files)[0].length,
    "files over 500 lines, tests": halves(files)[1].length,
    "product files with one importer": single.length,
    "of these under 60 lines": single.filter((file) => file.lines < MIN_SEPARATE_LINES).length,
    "names exported by several files": names?.length ?? 0,
    "import cycles, with types": cycles?.length ?? 0,
    "import direction breaches": importProblem === null ? null : imports?.length ?? 0,
    "banned words, product and docs": sumUses(ownWords),
    "banned words, tests": sumUses(testWords),
  };
}

/** An aligned table; without `before` it has no such column. */
export function renderTable(now: Measurements, before?: { title: string; measured: Measurements }): string {
  const head = ["", ...(before === undefined ? [] : [before.title]), "now", "target"];
  const rows = (Object.keys(TARGETS) as RowName[]).map((name) => [
    name,
    ...(before === undefined ? [] : [figure(before.measured[name])]),
    figure(now[name]),
    TARGETS[name],
  ]);
  const table = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table.map((row) =>
    row.map((cell, column) => column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))
      .join("  ").trimEnd()
  ).join("\n");
}

function figure(value: number | null): string {
  return value === null ? "-" : value.toLocaleString("en-US");
}

/** Findings of the product, and findings of the tests. */
function halves(findings: readonly Finding[] = []): [Finding[], Finding[]] {
  return [findings.filter(({ key }) => isProduct(key)), findings.filter(({ key }) => !isProduct(key))];
}

/** Uses of banned words; a finding has one line number for each. */
function sumUses(findings: readonly Finding[]): number {
  return findings.reduce(
    (sum, { detail }) => sum + (/:([\d,]+) /.exec(detail)?.[1]?.split(",").length ?? 0),
    0,
  );
}
