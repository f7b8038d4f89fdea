// Makes the folder tree that all packages contain, from the files of a commit and the npm packages of deno.lock.

import {
  type LockFile,
  type NpmPackage,
  packagesOf,
  packageSpecifiers,
  parseLock,
  reducedLock,
} from "./lock_file.ts";
import { APP, type Architecture, DOC, ENTRIES, FILES, LIBRARY } from "./layout.ts";
import { copy, listTree, makeFolder, write } from "./tree.ts";
import { buildStep, run } from "./program.ts";

/** What is packaged. */
interface Source {
  /** The folder of the repository. */
  readonly repository: string;
  readonly commit: string;
  /** The time of the commit, in seconds since 1970: the time of every file. */
  readonly epoch: number;
  /** Of the product, "0.3.0". */
  readonly version: string;
}

/** The files of a commit, built. */
export interface Sources extends Source {
  /** A folder with the files of the commit, and the built pages. */
  readonly folder: string;
  readonly lock: LockFile;
  /** The modules that the product loads, below {@link folder}, sorted. */
  readonly modules: readonly string[];
  /** The imports of deno.json that these modules use: name → "npm:…". */
  readonly imports: Readonly<Record<string, string>>;
}

/** The staged tree. */
export interface Tree {
  readonly root: string;
  readonly runtime: NpmPackage;
  /** The folder of its package, which has its licence. */
  readonly runtimeFolder: string;
}

interface ProjectFile {
  readonly unstable: readonly string[];
  readonly imports: Readonly<Record<string, string>>;
}

/** Reads which commit the repository is at. Files that are not committed are not packaged. */
export async function findSource(repository: string): Promise<Source> {
  const git = (...args: string[]) => run("git", ["-C", repository, ...args]).then((said) => said.trim());
  const [commit = "", epoch = ""] = (await git("show", "-s", "--format=%H %ct", "HEAD")).split(" ");
  if (await git("status", "--porcelain") !== "") {
    console.log("Changes that are not committed are not packaged.");
  }
  const compose = await git("show", "HEAD:compose.ts");
  const version = /^export const VERSION = "([^"]+)";$/m.exec(compose)?.[1];
  if (version === undefined) throw new Error("compose.ts has no VERSION");
  return { repository, commit, epoch: Number(epoch), version };
}

/** Extracts the commit into a folder of `work`, builds the pages, and finds the modules of the product. */
export async function prepareSources(
  source: Source,
  work: string,
  buildPages = (folder: string) => deno(folder, "task", "--quiet", "build", "--release"),
): Promise<Sources> {
  const folder = `${work}/source`;
  await Deno.mkdir(folder, { recursive: true });
  const archive = `${work}/source.tar`;
  await run("git", ["-C", source.repository, "archive", `--output=${archive}`, source.commit]);
  await run("tar", ["-x", "-C", folder, "-f", archive]);
  await buildStep(
    "Installing the packages of the build",
    () => deno(folder, "install", "--frozen", "--quiet"),
  );
  await buildStep("Building the pages", () => buildPages(folder));
  const project = await readProject(folder);
  const lock = parseLock(await Deno.readTextFile(`${folder}/deno.lock`));
  const { modules, packages } = await findModules(folder);
  const used = Object.entries(project.imports).filter(([, specifier]) =>
    packages.some((one) => one === specifier || one.startsWith(`${specifier}/`))
  );
  return { ...source, folder, lock, modules, imports: Object.fromEntries(used) };
}

const deno = (cwd: string, ...args: string[]) => run(Deno.execPath(), args, { cwd });
const readProject = async (folder: string): Promise<ProjectFile> =>
  JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));

interface Graph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly { readonly code?: { readonly specifier?: string } }[];
  }[];
}

/** Follows the imports of the entries, except those of types. */
async function findModules(folder: string): Promise<{ modules: string[]; packages: string[] }> {
  const tracked = (await listFiles(folder, "cli")).concat(["main.ts", "console/app.ts"]);
  const entries = tracked.filter((path) => ENTRIES.some((pattern) => pattern.test(path)));
  const base = new URL(`file://${folder}/`).href;
  const entry = `${folder}/entries.ts`;
  await Deno.writeTextFile(entry, entries.map((path) => `import "./${path}";\n`).join(""));
  const graph = JSON.parse(await deno(folder, "info", "--json", entry)) as Graph;
  await Deno.remove(entry);
  const edges = new Map(graph.modules.map(({ specifier, dependencies = [] }) => [
    specifier,
    dependencies.flatMap(({ code }) => code?.specifier ?? []),
  ]));
  const found = new Set<string>();
  const queue = entries.map((path) => `${base}${path}`);
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    queue.push(...edges.get(next) ?? []);
  }
  const all = [...found].sort();
  return {
    modules: all.filter((one) => one.startsWith(base)).map((one) => one.slice(base.length)),
    packages: all.filter((one) => one.startsWith("npm:")).map((one) => one.replace("npm:/", "npm:")),
  };
}

async function listFiles(folder: string, below: string): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isFile } of Deno.readDir(`${folder}/${below}`)) {
    if (isFile) files.push(`${below}/${name}`);
  }
  return files.sort();
}

/** Makes the tree of one architecture in `work`. */
export async function stage(sources: Sources, architecture: Architecture, work: string): Promise<Tree> {
  const root = `${work}/tree-${architecture}`;
  await copyProduct(sources, root);
  await buildStep("Installing the packages of the product", () => installProduct(sources, `${root}/${APP}`));
  const installed = await buildStep(
    `Installing the runtime for ${architecture}`,
    () => installRuntime(sources, { architecture, work, root }),
  );
  await buildStep("Writing the man page and the completions", () => writeCommandFiles(sources, root));
  await buildStep("Transpiling the modules", () => writeCache(sources, { work, root }));
  return { root, ...installed };
}

async function copyProduct({ folder, modules }: Sources, root: string): Promise<void> {
  for (const path of modules) await copy(`${folder}/${path}`, `${root}/${APP}/${path}`);
  for (const { from, to } of FILES) await copy(`${folder}/${from}`, `${root}/${to}`);
  await run("cp", ["-R", `${folder}/console/dist`, `${root}/${APP}/console/dist`]);
  // Messages of the product name pages as "docs/operating.md".
  const pages = (await listFiles(folder, "docs")).filter((path) => path.endsWith(".md"));
  for (const path of ["README.md", "CHANGELOG.md", ...pages]) {
    await copy(`${folder}/${path}`, `${root}/${DOC}/${path}`);
  }
}

async function installProduct({ folder, lock, imports }: Sources, app: string): Promise<void> {
  const { unstable } = await readProject(folder);
  const project = { unstable, imports };
  const projectFile = (rest: Record<string, unknown>) =>
    write(`${app}/deno.json`, `${JSON.stringify({ ...rest, ...project }, null, 2)}\n`);
  await projectFile({ nodeModulesDir: "auto", lock: { path: "deno.lock", frozen: true } });
  await write(`${app}/deno.lock`, reducedLock(lock, packageSpecifiers(imports)));
  await deno(app, "install", "--frozen", "--quiet");
  // "manual": the installed program finds its packages in node_modules and never looks for others.
  await projectFile({ nodeModulesDir: "manual", lock: false });
  // What the installation notes for its next run.
  const notes = ".*/\\.\\(deno\\.lock\\|initialized\\|setup-cache\\.bin\\)";
  await run("find", [`${app}/node_modules`, "-regex", notes, "-delete"]);
}

/** Installs the runtime's npm package, whose digest packaging/runtime/deno.lock has. */
async function installRuntime(
  { folder }: Sources,
  { architecture, work, root }: { architecture: Architecture; work: string; root: string },
): Promise<Omit<Tree, "root">> {
  const from = `${folder}/packaging/runtime`;
  const { imports } = await readProject(from);
  const specifier = imports[architecture];
  if (specifier === undefined) {
    throw new Error(`packaging/runtime/deno.json has no runtime for ${architecture}`);
  }
  const lock = parseLock(await Deno.readTextFile(`${from}/deno.lock`));
  const at = `${work}/runtime-${architecture}`;
  await write(
    `${at}/deno.json`,
    JSON.stringify({
      nodeModulesDir: "auto",
      lock: { path: "deno.lock", frozen: true },
      imports: { deno: specifier },
    }),
  );
  await write(`${at}/deno.lock`, reducedLock(lock, [specifier]));
  await deno(at, "install", "--frozen", "--quiet");
  const [runtime] = packagesOf(lock, [specifier]);
  if (runtime === undefined) throw new Error(`packaging/runtime/deno.lock has no ${specifier}`);
  const runtimeFolder = `${at}/node_modules/${runtime.name}`;
  // The package of the runtime for one system has no text of its licence.
  await copy(`${from}/LICENSE`, `${runtimeFolder}/LICENSE`);
  await copy(`${runtimeFolder}/deno`, `${root}/${LIBRARY}/deno`);
  return { runtime, runtimeFolder };
}

async function writeCommandFiles({ folder, epoch }: Sources, root: string): Promise<void> {
  await run(Deno.execPath(), ["run", "-A", "packaging/command_files.ts", root], {
    cwd: folder,
    env: { SOURCE_DATE_EPOCH: String(epoch) },
  });
  for (const { path, isFolder } of await listTree(`${root}/usr/share/man`)) {
    // Without a name and a time in the archive.
    if (!isFolder) await run("gzip", ["-9", "--no-name", `${root}/usr/share/man/${path}`]);
  }
}

/** In namespaces of its own, which need no rights: a root folder with the tree, and with the libraries of this machine. */
const CACHE_SCRIPT = `set -eu
jail=$1 tree=$2 deno=$3
shift 3
mkdir -p "$jail/${LIBRARY}" "$jail/cache"
touch "$jail/deno"
mount --bind "$tree/${LIBRARY}" "$jail/${LIBRARY}"
mount --bind "$deno" "$jail/deno"
for folder in /lib /lib64; do
    [ ! -d "$folder" ] || { mkdir "$jail$folder"; mount --rbind "$folder" "$jail$folder"; }
done
exec chroot "$jail" /deno "$@"
`;

/**
 * Writes the transpiled modules, so that no command transpiles. Their source maps name the modules by their installed
 * paths, so the runtime must find them there.
 */
async function writeCache(sources: Sources, { work, root }: { work: string; root: string }): Promise<void> {
  const jail = await makeFolder(`${work}/jail`);
  const modules = sources.modules.filter((path) => ENTRIES.some((pattern) => pattern.test(path)));
  const command = [
    "cache",
    "--quiet",
    "--no-check",
    "--no-remote",
    ...modules.map((path) => `/${APP}/${path}`),
  ];
  const shell = ["sh", "-c", CACHE_SCRIPT, "sh", jail, root, Deno.execPath(), ...command];
  await run("unshare", ["--map-root-user", "--mount", "--pid", "--fork", ...shell], {
    env: { DENO_DIR: "/cache", HOME: "/cache" },
  });
  await run("cp", ["-R", `${jail}/cache/gen`, await makeFolder(`${root}/${LIBRARY}/cache`)]);
  await Deno.remove(jail, { recursive: true });
}
