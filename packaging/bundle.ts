// Bundles the server and the commands of a package with esbuild, from the sources of the folder of this file. The result is not minified,
// and its source maps name the lines of the sources in stack traces.
// Usage: deno run -A packaging/bundle.ts <folder>

import * as esbuild from "esbuild";
import { reachableOutputs } from "../console/build/bundle.ts";
import { bundledProgram, listCommands } from "./command_list.ts";
import { write } from "./tree.ts";

/** Imports the built-in modules of the server: the runtime reads the source map of a module that is the first to import one. */
const BUILTINS = "builtins.mjs";
const SERVER = "main.mjs";
const ROOT = decodeURIComponent(new URL("../", import.meta.url).pathname);

/** Of a module that is loaded later: `const PAGES: string = import.meta.resolve("./pages.ts");`. */
const LOADED_LATER = /^const (\w+): string = import\.meta\.resolve\(("[^"]+")\);$/gm;

/** The text of a module of the product, as a part of a bundle. */
function moduleInBundle(text: string, path: string): string {
  // The module may be in a file that several programs import.
  const isMain = `Deno.mainModule.endsWith("/${bundledProgram(path)}")`;
  return [...text.matchAll(LOADED_LATER)].reduce(
    (changed, [line, name, module]) =>
      changed.replace(line, "").replace(`import(${name})`, `import(${module})`),
    text.replaceAll("import.meta.main", isMain),
  );
}

const MODULES: esbuild.Plugin = {
  name: "modules of the product",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await Deno.readTextFile(path);
      return { contents: moduleInBundle(text, path.slice(ROOT.length)), loader: "ts" };
    });
  },
};

/** Writes the bundle into `folder`, and `packages.json` with the names of the npm packages in it into its parent folder. */
async function bundleProduct(folder: string): Promise<void> {
  const { tasks, imports } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: listCommands(tasks).map(({ program }) => program),
    outbase: ROOT,
    // Names of the source maps are relative to it.
    outdir: ROOT,
    outExtension: { ".js": ".mjs" },
    chunkNames: "chunk-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "esnext",
    alias: aliasesOf(imports),
    plugins: [MODULES],
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    metafile: true,
    write: false,
    logLevel: "error",
  });
  for (const { path, text } of outputFiles) {
    const name = path.slice(ROOT.length);
    // Within the first line, so that the source map stays right.
    const start = name === SERVER ? `import "./${BUILTINS}";` : "";
    await write(`${folder}/${name}`, name.endsWith(".map") ? namingSources(text, name) : start + text);
  }
  const loaded = [...reachableOutputs(metafile, { from: SERVER, isOnDemand: false })];
  const builtins = loaded.filter((path) => path.startsWith("node:")).sort();
  await write(`${folder}/${BUILTINS}`, builtins.map((name) => `import "${name}";\n`).join(""));
  const inputs = Object.keys(metafile.inputs);
  const packages = inputs.flatMap((path) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  await write(`${folder}/../packages.json`, JSON.stringify([...new Set(packages)].sort()));
}

/** A source map with URLs: the runtime ignores the names of files that do not exist where it runs. */
function namingSources(text: string, name: string): string {
  const map = JSON.parse(text) as { readonly sources: readonly string[] };
  const sources = map.sources.map((path) => new URL(path, `countersign:/${name}`).href);
  return JSON.stringify({ ...map, sources });
}

/** Names of deno.json that are not names of npm packages: "@std/assert" → "deno-std/assert/mod.js". */
function aliasesOf(imports: Readonly<Record<string, string>>): Record<string, string> {
  const rows = Object.entries(imports).map(([name, specifier]) =>
    [name, specifier.replace(/^npm:((?:@[^/]+\/)?[^@]+)@[^/]+/, "$1")] as const
  );
  return Object.fromEntries(rows.filter(([name, path]) => name !== path));
}

if (import.meta.main) {
  const [folder] = Deno.args;
  if (folder === undefined) throw new Error("Usage: deno run -A packaging/bundle.ts <folder>");
  await bundleProduct(folder);
  await esbuild.stop();
}
