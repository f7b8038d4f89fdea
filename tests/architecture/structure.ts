// Measures the size and shape of the sources (`deno task structure`), and shortens the list of exceptions.

import { parseArgs } from "node:util";
import {
  type Exceptions,
  EXCEPTIONS_PATH,
  pruneRows,
  readExceptions,
  writeExceptions,
} from "./exceptions.ts";
import { parseTree, type RuleName, RULES, type SourceTree } from "./findings.ts";
import { renamesSince, withRevision } from "./git_tree.ts";
import { readSources } from "./sources.ts";
import {
  type ImportProblem,
  listFindings,
  measure,
  type Measurements,
  renderTable,
} from "./structure_report.ts";

const HELP = `Measures the size and shape of the sources: files, lines, functions, names, imports and words.

  deno task structure [--against <revision>] [--list [<list> ...]]
  deno task structure --prune

  --against <revision>  also measure a git revision
  --list                print the places behind the numbers. Lists: functions, files, names, exports, small, cycles,
                        words, imports, importers. Without a name: all of them
  --prune               remove the rows of tests/architecture/exceptions.json that no longer apply, and follow renamed
                        files. Adds no row
  --help                show this help`;

const ROOT = new URL("../../", import.meta.url);
const IMPORT_RULES = ["tests/architecture/import_rules.ts", "tests/guards/import_rules.ts"];

async function readTree(root: URL): Promise<SourceTree> {
  return parseTree(await readSources(root));
}

/** The import rules that a tree has of its own. */
async function importRulesOf(root: URL): Promise<ImportProblem | null> {
  for (const path of IMPORT_RULES) {
    const address = new URL(path, root);
    try {
      await Deno.stat(address);
    } catch (fault) {
      if (fault instanceof Deno.errors.NotFound) continue;
      throw fault;
    }
    const rules: { importProblem: ImportProblem } = await import(address.href);
    return rules.importProblem;
  }
  return null;
}

function measureRevision(revision: string): Promise<Measurements> {
  return withRevision(revision, async (root) => measure(await readTree(root), await importRulesOf(root)));
}

async function prune(): Promise<void> {
  const tree = await readTree(ROOT);
  const before = await readExceptions();
  const renames = await renamesSince(EXCEPTIONS_PATH);
  const after = Object.fromEntries(
    (Object.keys(RULES) as RuleName[]).map((rule) => [
      rule,
      pruneRows(rule, before[rule], { found: RULES[rule](tree), renames }),
    ]),
  ) as Record<RuleName, string[]>;
  await writeExceptions(after);
  console.log(`${EXCEPTIONS_PATH}: ${countRows(before)} rows before, ${countRows(after)} rows now`);
}

function countRows(exceptions: Exceptions): number {
  return Object.values(exceptions).reduce((sum, rows) => sum + rows.length, 0);
}

function printLists(lists: ReturnType<typeof listFindings>, names: readonly string[]): void {
  for (const name of names.length === 0 ? Object.keys(lists) : names) {
    console.log(`\n${name}`);
    for (const { detail } of lists[name] ?? []) console.log(`  ${detail}`);
  }
}

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      help: { type: "boolean" },
      list: { type: "boolean" },
      prune: { type: "boolean" },
      against: { type: "string" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  if (values.prune === true) {
    await prune();
    return 0;
  }
  const tree = await readTree(ROOT);
  const importProblem = await importRulesOf(ROOT);
  const lists = listFindings(tree, importProblem);
  const unknown = positionals.find((name) => values.list !== true || !(name in lists));
  if (unknown !== undefined) throw new Error(`Cannot use "${unknown}".\n\n${HELP}`);
  const before = values.against === undefined
    ? undefined
    : { title: "before", measured: await measureRevision(values.against) };
  console.log(renderTable(measure(tree, importProblem), before));
  if (values.list === true) printLists(lists, positionals);
  return 0;
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (fault) {
    console.error(fault instanceof Error ? fault.message : String(fault));
    Deno.exit(2);
  }
}
