// The files of the project as text, and its import graph as edges.

import { runProgram } from "../support/child.ts";

/** One text file; `path` is relative to the root, with slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** One import. `target` is a path of the project, or the specifier of a package. `types`: it is erased at run time. */
export interface ImportEdge {
  readonly from: string;
  readonly target: string;
  readonly types: boolean;
}

const ROOT = new URL("../../", import.meta.url);
const NOT_OURS = new Set([
  ...["node_modules", ".git", "data", "console/dist"],
  ...["tests/vectors", "tests/fixtures", "tests/contract/snapshots"],
]);
const TEXTS = [".ts", ".tsx", ".css", ".c", ".h", ".md", ".conf", ".json", ".html", "run"];

/** Every text file of the project, or of another tree. */
export async function readSources(root = ROOT): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const entry of Deno.readDir(new URL(folder === "" ? "." : `${folder}/`, root))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (NOT_OURS.has(path)) continue;
      if (entry.isDirectory) folders.push(path);
      else if (TEXTS.some((ending) => path.endsWith(ending))) {
        files.push({ path, text: await Deno.readTextFile(new URL(path, root)) });
      }
    }
  }
  return files.sort((a, b) => a.path < b.path ? -1 : 1);
}

/** Whether a path is a module. */
export function isModule(path: string): boolean {
  return path.endsWith(".ts") || path.endsWith(".tsx");
}

interface GraphDependency {
  readonly specifier: string;
  readonly code?: { readonly specifier?: string; readonly error?: string };
  readonly type?: { readonly specifier?: string; readonly error?: string };
}

/** What `deno info --json` says of every module of the project. Throws when an import leads nowhere. */
export async function readImports(modules: readonly string[]): Promise<ImportEdge[]> {
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(entry, modules.map((path) => `import "${new URL(path, ROOT)}";\n`).join(""));
    const told = await runProgram(Deno.execPath(), {
      args: [
        "info",
        "--json",
        "--config",
        new URL("deno.json", ROOT).pathname,
        "--lock",
        new URL("tests/deno.lock", ROOT).pathname,
        entry,
      ],
    });
    if (told.code !== 0) throw new Error(`deno info failed: ${told.stderr}`);
    const graph: { modules: { specifier: string; dependencies?: GraphDependency[] }[] } = JSON.parse(
      told.stdout,
    );
    return graph.modules
      .filter(({ specifier }) => specifier.startsWith(ROOT.href))
      .flatMap(({ specifier, dependencies = [] }) =>
        dependencies.map((one) => edgeOf(relative(specifier), one))
      );
  } finally {
    await Deno.remove(entry);
  }
}

function edgeOf(from: string, dependency: GraphDependency): ImportEdge {
  const resolved = dependency.code ?? dependency.type;
  if (resolved?.specifier === undefined) {
    throw new Error(`${from} imports "${dependency.specifier}", which leads nowhere`);
  }
  return { from, target: relative(resolved.specifier), types: dependency.code === undefined };
}

function relative(specifier: string): string {
  return specifier.startsWith(ROOT.href) ? specifier.slice(ROOT.href.length) : specifier;
}
