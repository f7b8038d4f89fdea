// Makes the folder tree that all packages contain, from the files of a commit and the npm packages of deno.lock.

import { type LockFile, type NpmPackage, packagesOf, parseLock, reducedLock } from "./lock_file.ts";
import { APP, type Architecture, DOC, FILES, LIBRARY } from "./layout.ts";
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
  /** A folder with the bundle of the server and the commands. */
  readonly bundle: string;
  /** The imports of deno.json in the bundle: name → "npm:…". */
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

/** Extracts the commit into a folder of `work`, builds the pages, and bundles the product. */
export async function prepareSources(
  source: Source,
  work: string,
  buildPages = deno,
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
  await buildStep(
    "Building the pages",
    () => buildPages(folder, "task", "--quiet", "build", "--release"),
  );
  const project = await readProject(folder);
  const lock = parseLock(await Deno.readTextFile(`${folder}/deno.lock`));
  const bundle = `${work}/bundle`;
  await buildStep(
    "Bundling the server and the commands",
    () => deno(folder, "run", "-A", "packaging/bundle.ts", bundle),
  );
  const packages: string[] = JSON.parse(await Deno.readTextFile(`${work}/packages.json`));
  const used = Object.entries(project.imports).filter(([, specifier]) =>
    packages.some((one) => specifier.startsWith(`npm:${one}@`))
  );
  return { ...source, folder, lock, bundle, imports: Object.fromEntries(used) };
}

const deno = (cwd: string, ...args: string[]) => run(Deno.execPath(), args, { cwd });
const readProject = async (folder: string): Promise<ProjectFile> =>
  JSON.parse(await Deno.readTextFile(`${folder}/deno.json`));

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
  const installed = await buildStep(
    `Installing the runtime for ${architecture}`,
    () => installRuntime(sources, { architecture, work, root }),
  );
  await buildStep("Writing the man page and the completions", () => writeCommandFiles(sources, root));
  return { root, ...installed };
}

async function copyProduct({ folder, bundle }: Sources, root: string): Promise<void> {
  const app = `${root}/${APP}`;
  await makeFolder(app.slice(0, app.lastIndexOf("/")));
  await run("cp", ["-R", bundle, app]);
  for (const { from, to } of FILES) await copy(`${folder}/${from}`, `${root}/${to}`);
  await run("cp", ["-R", `${folder}/console/dist`, `${await makeFolder(`${app}/console`)}/dist`]);
  const { unstable } = await readProject(folder);
  // The bundle has all packages, so the runtime looks for none.
  const project = { nodeModulesDir: "manual", lock: false, unstable };
  await write(`${root}/${LIBRARY}/deno.json`, `${JSON.stringify(project, null, 2)}\n`);
  // Messages of the product name pages as "docs/operating.md".
  const pages = (await listFiles(folder, "docs")).filter((path) => path.endsWith(".md"));
  for (const path of ["README.md", "CHANGELOG.md", ...pages]) {
    await copy(`${folder}/${path}`, `${root}/${DOC}/${path}`);
  }
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
