// Bundles one page with esbuild: code splitting, minified, names with a hash of the content. By itself, esbuild makes a
// chunk for each combination of lazy modules that import the same code: dozens of small files for one page. Shared modules
// are therefore bundled into one chunk.

import * as esbuild from "esbuild";
import type { PageFiles } from "../assets.ts";
import { DIST } from "./output.ts";

/** The folder `console/`, to which the paths of a bundle are relative. */
export const CONSOLE = decodeURIComponent(new URL("../", import.meta.url).pathname);

/** The pages with scripts. */
export const PAGE_ENTRIES = {
  web: { script: "web/main.tsx", style: "web/styles/console.css" },
  device: { script: "device/main.tsx", style: "device/styles/phone.css" },
  me: { script: "account/main.tsx", style: "account/styles/page.css" },
} as const;
/** The approval page has no script. */
export const APPROVE_STYLE = "approval/styles/approve.css";
export type PageEntry = keyof typeof PAGE_ENTRIES;

export type Bundle = esbuild.BuildResult & {
  readonly outputFiles: esbuild.OutputFile[];
  readonly metafile: esbuild.Metafile;
};

/** @param define constants of the build by name, as JSON. */
export async function bundlePage(page: PageEntry, define: Record<string, string>): Promise<Bundle> {
  const { script, style } = PAGE_ENTRIES[page];
  const options = {
    ...COMMON,
    entryPoints: [{ in: CONSOLE + script, out: page }, { in: CONSOLE + style, out: page }],
    chunkNames: "chunk-[hash]",
    splitting: true,
    format: "esm",
    target: "es2022",
    define,
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
  } as const satisfies esbuild.BuildOptions;
  const first = await esbuild.build(options);
  const shared = sharedModules(first.metafile, script);
  if (shared.length === 0) return first;
  const tables = tableModules(first.metafile, { script, shared });
  const core = inOneChunk(shared.filter((path) => !tables.paths.includes(path)), CONSOLE);
  const plugins = [...core.plugins ?? [], ...tables.paths.length === 0 ? [] : [tableChunk(tables, CONSOLE)]];
  return await esbuild.build({ ...options, ...core, plugins });
}

export function bundleStyle(name: string, style: string): Promise<Bundle> {
  return esbuild.build({ ...COMMON, entryPoints: [{ in: CONSOLE + style, out: name }] });
}

const COMMON = {
  absWorkingDir: CONSOLE,
  outdir: DIST,
  entryNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  metafile: true,
  write: false,
  logLevel: "error",
} as const satisfies esbuild.BuildOptions;

/** A classic script, because not all browsers start workers from modules. */
export const WORKER_OPTIONS = {
  ...COMMON,
  format: "iife",
  target: "es2022",
  legalComments: "none",
} as const satisfies esbuild.BuildOptions;

/** The files of a page. */
export function filesOfPage({ metafile }: Bundle, page: PageEntry): PageFiles {
  const { script, style } = PAGE_ENTRIES[page];
  const [first = "", ...rest] = loadedAtOnce(metafile, startOf(metafile, script));
  return {
    scripts: [baseName(first)],
    styles: [baseName(outputOf(metafile, style))],
    preloads: rest.map(baseName),
  };
}

/** The output that starts the page. An entry that only imports one chunk would cost a request. */
function startOf(metafile: esbuild.Metafile, script: string): string {
  const path = outputOf(metafile, script);
  const { inputs = {}, imports = [] } = metafile.outputs[path] ?? {};
  const [only, ...others] = imports.filter(({ kind }) => kind === "import-statement");
  const isEmpty = Object.values(inputs).every(({ bytesInOutput }) => bytesInOutput === 0);
  return isEmpty && only !== undefined && others.length === 0 ? only.path : path;
}

export function styleFile({ metafile }: Bundle, style: string): string {
  return baseName(outputOf(metafile, style));
}

/** The files of each module that a page loads later, by the module's path: its own first, then what that imports. */
export function lazyFiles({ metafile }: Bundle, page: PageEntry): Record<string, string[]> {
  const { script, style } = PAGE_ENTRIES[page];
  const files: Record<string, string[]> = {};
  for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint === undefined || entryPoint === script || entryPoint === style) continue;
    files[entryPoint] = [...loadedAtOnce(metafile, path)].map(baseName);
  }
  return files;
}

function loadedAtOnce(metafile: esbuild.Metafile, from: string): ReadonlySet<string> {
  return reachableOutputs(metafile, { from, isOnDemand: false });
}

export function outputOf({ outputs }: esbuild.Metafile, entryPoint: string): string {
  const found = Object.entries(outputs).find(([, output]) => output.entryPoint === entryPoint);
  if (found === undefined) {
    throw new Error(`Cannot find the output of ${entryPoint}: esbuild did not list it`);
  }
  return found[0];
}

/** An output and all others that it can load. `isOnDemand: false`: only those that the browser loads at once. */
export function reachableOutputs(
  { outputs }: esbuild.Metafile,
  { from, without = new Set(), isOnDemand = true }: {
    readonly from: string;
    readonly without?: ReadonlySet<string>;
    readonly isOnDemand?: boolean;
  },
): ReadonlySet<string> {
  const paths = new Set([from]);
  for (const path of paths) {
    for (const { kind, path: target } of outputs[path]?.imports ?? []) {
      const isFollowed = kind === "import-statement" || (isOnDemand && kind === "dynamic-import");
      if (isFollowed && !without.has(target)) paths.add(target);
    }
  }
  return paths;
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A module that this many lazy modules import is shared, although some pages then load code that they do not use. */
const MIN_USERS = 14;
/** A module with two importers is shared up to this size, because a request costs more. */
const SMALL_OCTETS = 1500;
const NAME = "shared-modules";

/**
 * The modules that the script of the page imports, or several of its lazy modules.
 *
 * @param metafile of a build with the chunks of esbuild.
 */
export function sharedModules({ inputs, outputs }: esbuild.Metafile, script: string): string[] {
  const users = lazyUsers({ inputs, outputs }, script);
  if (users.size === 0) return [];
  const octets = outputOctets(outputs);
  const ofScript = staticClosure(inputs, script);
  const shared = new Set(
    [...octets.keys()].filter((path) => ofScript.has(path) || (users.get(path)?.size ?? 0) >= MIN_USERS),
  );
  const small = [...users].filter(([, entries]) => entries.size > 1).map(([path]) =>
    [...staticClosure(inputs, path)].filter((one) => octets.has(one) && !shared.has(one))
  ).filter((added) => added.reduce((sum, path) => sum + (octets.get(path) ?? 0), 0) <= SMALL_OCTETS);
  return [...new Set([...shared, ...small.flat()])].filter((path) => path !== script).toSorted();
}

/** The lazy modules that import each module. */
function lazyUsers(
  { inputs, outputs }: Pick<esbuild.Metafile, "inputs" | "outputs">,
  script: string,
): ReadonlyMap<string, ReadonlySet<string>> {
  const users = new Map<string, Set<string>>();
  for (const { entryPoint } of Object.values(outputs)) {
    if (entryPoint === undefined || entryPoint === script || inputs[entryPoint] === undefined) continue;
    for (const path of staticClosure(inputs, entryPoint)) {
      users.set(path, (users.get(path) ?? new Set()).add(entryPoint));
    }
  }
  return users;
}

/** The table of the console. Pages without one, such as Live, need not load it. */
const TABLE = "web/components/data_table.tsx";

interface TableModules {
  /** Shared modules that only pages with a table import. */
  readonly paths: readonly string[];
  /** The pages with a table. */
  readonly users: ReadonlySet<string>;
}

/** The shared modules that get a chunk of their own. */
export function tableModules(
  metafile: Pick<esbuild.Metafile, "inputs" | "outputs">,
  { script, shared }: { readonly script: string; readonly shared: readonly string[] },
): TableModules {
  const users = lazyUsers(metafile, script);
  const tableUsers = users.get(TABLE) ?? new Set<string>();
  const ofScript = staticClosure(metafile.inputs, script);
  const paths = shared.filter((path) =>
    !ofScript.has(path) && tableUsers.size > 0 &&
    [...users.get(path) ?? []].every((one) => tableUsers.has(one))
  );
  return { paths, users: tableUsers };
}

/** Each page with a table imports all modules of their chunk, so that esbuild makes only one chunk of them. */
function tableChunk({ paths, users }: TableModules, root: string): esbuild.Plugin {
  const imports = paths.map((path) => `import ${JSON.stringify(root + path)};`).join("\n");
  return {
    name: "table-modules",
    setup(build) {
      build.onLoad({ filter: /\.tsx$/ }, async ({ path }) => {
        if (!path.startsWith(root) || !users.has(path.slice(root.length))) return undefined;
        return { contents: `${await Deno.readTextFile(path)}\n${imports}`, loader: "tsx" };
      });
    },
  };
}

/** The octets of each module in the outputs. */
function outputOctets(outputs: esbuild.Metafile["outputs"]): ReadonlyMap<string, number> {
  return new Map(
    Object.values(outputs).flatMap((output) =>
      Object.entries(output.inputs).map(([path, { bytesInOutput }]) => [path, bytesInOutput] as const)
    ),
  );
}

/** A module and everything that it imports statically. */
function staticClosure(inputs: esbuild.Metafile["inputs"], from: string): ReadonlySet<string> {
  const paths = new Set([from]);
  for (const path of paths) {
    for (const { kind, path: target, external } of inputs[path]?.imports ?? []) {
      if (kind === "import-statement" && external !== true) paths.add(target);
    }
  }
  return paths;
}

/**
 * Options that make one chunk of some modules: each entry point imports all of them (`inject`).
 *
 * @param root the folder to which the paths are relative, with its slash.
 */
function inOneChunk(
  paths: readonly string[],
  root: string,
): Pick<esbuild.BuildOptions, "inject" | "plugins"> {
  const contents = paths.map((path) => `import ${JSON.stringify(root + path)};`).join("\n");
  return {
    inject: [NAME],
    plugins: [{
      name: NAME,
      setup(build) {
        build.onResolve({ filter: new RegExp(`^${NAME}$`) }, () => ({ path: NAME, namespace: NAME }));
        build.onLoad({ filter: /./, namespace: NAME }, () => ({ contents, resolveDir: root }));
      },
    }],
  };
}
