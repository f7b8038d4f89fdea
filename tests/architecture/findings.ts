// The findings of the architecture rules in a source tree. One finding is one place that violates one rule.

import { bannedWords } from "./banned_words.ts";
import { importCycles, importEdges, importersOf, resolveImport } from "./import_graph.ts";
import { isModule, type SourceFile } from "./sources.ts";
import { type ModuleSyntax, parseModules } from "./syntax.ts";

/** `key` names the place and does not change when lines move. `detail` is for the reader. */
export interface Finding {
  readonly key: string;
  readonly detail: string;
}

/** A tree with the syntax of its modules. */
export interface SourceTree {
  readonly files: readonly SourceFile[];
  readonly modules: ReadonlyMap<string, ModuleSyntax>;
}

export const MAX_FUNCTION_LINES = 80;
export const MAX_FILE_LINES = 500;
/** A file with one importer and fewer lines belongs into that importer. */
export const MIN_SEPARATE_LINES = 60;

/** Names that several files may export, with the reason. */
export const SHARED_NAMES: ReadonlyMap<string, string> = new Map();
/** These files quote what the rules forbid. */
const QUOTES_RULES = /^tests\/architecture\/(banned_words|exceptions|structure_test)/;

export type RuleName = "functions" | "files" | "names" | "exports" | "small" | "cycles" | "words";

/** By the name that the exceptions and the lists use. */
export const RULES: Readonly<Record<RuleName, (tree: SourceTree) => Finding[]>> = {
  functions: longFunctions,
  files: longFiles,
  names: (tree) => sharedNames(tree).filter(({ key }) => !SHARED_NAMES.has(key)),
  exports: unusedExports,
  small: smallFiles,
  cycles,
  words: bannedWordUses,
};

/** The tree of some files. */
export function parseTree(files: readonly SourceFile[]): SourceTree {
  return { files, modules: parseModules(files) };
}

/** Whether a path belongs to the product. */
export function isProduct(path: string): boolean {
  return !path.startsWith("tests/");
}

export function countLines(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function longFunctions({ modules }: SourceTree): Finding[] {
  return [...modules].flatMap(([path, { functions }]) =>
    functions.filter(({ lines }) => lines > MAX_FUNCTION_LINES).map(({ name, line, lines }) => ({
      key: `${path}#${name}`,
      detail: `${path}:${line} ${name} has ${lines} lines`,
    }))
  );
}

function longFiles({ files }: SourceTree): Finding[] {
  return files.filter(({ path, text }) => isCode(path) && countLines(text) > MAX_FILE_LINES).map(
    ({ path, text }) => ({ key: path, detail: `${path} has ${countLines(text)} lines` }),
  );
}

/** Names that several files of the product export. */
export function sharedNames({ modules }: SourceTree): Finding[] {
  const places = new Map<string, string[]>();
  for (const [path, { exports }] of modules) {
    if (!isProduct(path)) continue;
    for (const name of exports) places.set(name, [...places.get(name) ?? [], path]);
  }
  return [...places].filter(([, paths]) => paths.length > 1)
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, paths]) => ({ key: name, detail: `${name} is exported by ${paths.join(" and ")}` }));
}

/** Names of the product that no other module imports. */
function unusedExports({ modules }: SourceTree): Finding[] {
  const used = new Set<string>();
  for (const [path, { imports, texts }] of modules) {
    for (const { specifier, names } of imports) {
      const target = resolveImport(path, specifier);
      // A module that has the whole of another one names the export somewhere.
      for (const name of names ?? texts.map(({ text }) => text)) used.add(`${target}#${name}`);
    }
  }
  return [...modules].filter(([path]) => isProduct(path)).flatMap(([path, { exports }]) =>
    exports.map((name) => `${path}#${name}`).filter((key) => !used.has(key))
      .map((key) => ({ key, detail: `${key} is exported, and no other file imports it` }))
  );
}

/** Small files whose only importer is beside them and does not load them on demand: they belong into that importer. */
function smallFiles(tree: SourceTree): Finding[] {
  const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);
  return singleImporterFiles(tree).filter(({ path, lines, importer }) =>
    lines < MIN_SEPARATE_LINES && folderOf(path) === folderOf(importer) &&
    !tree.modules.get(importer)?.imports.some(({ specifier, isDynamic }) =>
      isDynamic && resolveImport(importer, specifier) === path
    )
  ).map(({ path, lines, importer }) => ({
    key: path,
    detail: `${path} (${lines} lines) is a part of ${importer}, its only importer`,
  }));
}

function cycles({ modules }: SourceTree): Finding[] {
  return importCycles(importEdges(modules)).map((members) => ({
    key: members.join(" "),
    detail: `${members.join(", ")} import each other`,
  }));
}

function bannedWordUses({ files, modules }: SourceTree): Finding[] {
  return files.filter(({ path }) => !QUOTES_RULES.test(path)).flatMap((file) => {
    const lines = new Map<string, number[]>();
    for (const { word, line } of bannedWords(file, modules.get(file.path))) {
      lines.set(word, [...lines.get(word) ?? [], line]);
    }
    return [...lines].map(([word, at]) => ({
      key: `${file.path}: ${word}`,
      detail: `${file.path}:${at.join(",")} says "${word}"`,
    }));
  });
}

/** Product modules that one other product module imports. */
export function singleImporterFiles(
  { files, modules }: SourceTree,
): { path: string; lines: number; importer: string }[] {
  const edges = importEdges(modules).filter(({ from }) => isProduct(from));
  const importers = importersOf(edges);
  return files.filter(({ path }) => isProduct(path) && isModule(path)).flatMap(({ path, text }) => {
    const [importer, ...others] = importers.get(path) ?? [];
    return importer === undefined || others.length > 0 ? [] : [{ path, lines: countLines(text), importer }];
  });
}

function isCode(path: string): boolean {
  return isModule(path) || path.endsWith(".c") || path.endsWith(".h") || path.endsWith(".css");
}
