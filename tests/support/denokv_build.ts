// Builds denokv, the self-hosted KV Connect server, for the tests of several nodes, and keeps the program between runs.
//
//   deno run -A tests/support/denokv_build.ts    builds it if it is missing

import { runProgram, signal } from "./child.ts";
import { TextLineStream } from "./lines.ts";

/** Built by `cargo install`. A new version builds into a new folder. */
export const DENOKV_VERSION = "0.14.0";
/** About twice the time that a busy machine with two cores takes. CI has 90 minutes for everything. */
const BUILD_TIMEOUT_MS = 2_400_000;
const PROGRESS_MS = 30_000;

/** The host, as far as the build needs it; a test passes its own. */
export interface BuildHost {
  /** Below it, the program survives the clone that built it. */
  readonly cacheDir: string;
  exists(path: string): boolean;
  /** The path of a program, or `null`. */
  find(program: "cargo" | "protoc"): string | null;
  /** Runs `task` while no other process runs one with the same file. The lock ends with the process. */
  withLock<T>(path: string, task: () => Promise<T>): Promise<T>;
  /** Runs cargo; `onLine` receives its messages. -1 after the deadline. */
  cargo(
    args: readonly string[],
    options: { program: string; protoc: string; onLine: (line: string) => void },
  ): Promise<number>;
  rename(from: string, to: string): void;
  remove(path: string): void;
  say(line: string): void;
}

/** Where the program of this version is kept: below XDG_CACHE_HOME or `~/.cache`. */
export function denokvFolder(cacheDir: string = userCacheDir()): string {
  return `${cacheDir}/countersign-tests/denokv-${DENOKV_VERSION}`;
}

/** The path of the program, or the reason why a test that needs it cannot run. */
export function findDenokv(
  host: Pick<BuildHost, "cacheDir" | "exists"> = systemBuildHost(),
): { path: string } | { missing: string } {
  const path = `${denokvFolder(host.cacheDir)}/denokv`;
  if (host.exists(path)) return { path };
  return {
    missing: `denokv ${DENOKV_VERSION} is not built here: install cargo and protobuf-compiler, then run ` +
      "deno run -A tests/support/denokv_build.ts",
  };
}

/**
 * Builds denokv unless the cache has it. Two runs at once build once. After an interrupted build, the next one continues.
 * Returns the path of the program, or `null` with a message when it cannot be built here. Never throws because of cargo.
 */
export async function buildDenokv(host: BuildHost = systemBuildHost()): Promise<string | null> {
  const folder = denokvFolder(host.cacheDir);
  const path = `${folder}/denokv`;
  if (host.exists(path)) return path;
  const cargo = host.find("cargo");
  const protoc = host.find("protoc");
  if (cargo === null || protoc === null) {
    const missing = [...cargo === null ? ["cargo"] : [], ...protoc === null ? ["protobuf-compiler"] : []];
    host.say(`denokv: not built, because ${missing.join(" and ")} is missing`);
    host.say("        tests that need it are skipped");
    return null;
  }
  return await host.withLock(`${folder}.lock`, async () => {
    // Another run may have built it while this one waited.
    if (host.exists(path)) return path;
    host.say(`denokv: building version ${DENOKV_VERSION} in ${folder}; about 5 minutes, only once`);
    const code = await compile(host, { cargo, protoc, folder });
    if (code !== 0 || !host.exists(`${folder}/bin/denokv`)) {
      host.say(`denokv: not built, because cargo ended with code ${code}; tests that need it are skipped`);
      return null;
    }
    // The rename makes the program appear complete. The objects need 1 GB and are of no more use.
    host.rename(`${folder}/bin/denokv`, path);
    host.remove(`${folder}/target`);
    host.say("denokv: built");
    return path;
  });
}

async function compile(
  host: BuildHost,
  { cargo, protoc, folder }: { cargo: string; protoc: string; folder: string },
): Promise<number> {
  const last: string[] = [];
  let crates = 0;
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
    host.say(`denokv: ${crates} of about 300 crates compiled (${minutes} min)`);
  }, PROGRESS_MS);
  try {
    // Objects below the cache and not in a temporary directory: an interrupted build continues there.
    const code = await host.cargo([
      "install",
      "denokv",
      "--locked",
      "--force",
      "--version",
      DENOKV_VERSION,
      "--root",
      folder,
      "--target-dir",
      `${folder}/target`,
    ], {
      program: cargo,
      protoc,
      onLine(line) {
        if (/^\s*Compiling /.test(line)) crates += 1;
        else last.push(line);
        if (last.length > 20) last.shift();
      },
    });
    if (code !== 0) { for (const line of last) host.say(`denokv: ${line}`); }
    return code;
  } finally {
    clearInterval(timer);
  }
}

/** This host. */
export function systemBuildHost(): BuildHost {
  return {
    cacheDir: userCacheDir(),
    exists: pathExists,
    find: (program) => searchFolders().map((at) => `${at}/${program}`).find(pathExists) ?? null,
    async withLock(path, task) {
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      using file = await Deno.open(path, { create: true, write: true });
      await file.lock(true);
      return await task();
    },
    cargo: runCargo,
    rename: (from, to) => Deno.renameSync(from, to),
    remove: (path) => Deno.removeSync(path, { recursive: true }),
    say: (line) => console.log(line),
  };
}

/** Runs cargo with the lowest priority, so that the tests that run at the same time keep their processors. */
async function runCargo(
  args: readonly string[],
  { program, protoc, onLine }: { program: string; protoc: string; onLine: (line: string) => void },
): Promise<number> {
  const folder = program.slice(0, program.lastIndexOf("/"));
  const child = new Deno.Command("nice", {
    args: ["-n", "19", program, ...args],
    env: {
      // cargo finds rustc in the PATH.
      PATH: `${folder}:${Deno.env.get("PATH") ?? ""}`,
      PROTOC: protoc,
      CARGO_TERM_COLOR: "never",
      CARGO_TERM_PROGRESS_WHEN: "never",
    },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    signal(child, "SIGTERM");
  }, BUILD_TIMEOUT_MS);
  try {
    for await (const line of child.stderr.pipeThrough(new TextLineStream())) onLine(line);
    const { code } = await child.status;
    return timedOut ? -1 : code;
  } finally {
    clearTimeout(timer);
  }
}

/** The PATH, and the folder of rustup, which is often only in the PATH of login shells. */
function searchFolders(): string[] {
  const home = Deno.env.get("HOME") ?? "";
  const ofCargo = Deno.env.get("CARGO_HOME") ?? `${home}/.cargo`;
  return [...(Deno.env.get("PATH") ?? "").split(":"), `${ofCargo}/bin`].filter((at) => at !== "");
}

function userCacheDir(): string {
  const named = Deno.env.get("XDG_CACHE_HOME") ?? "";
  return named === "" ? `${Deno.env.get("HOME") ?? "/tmp"}/.cache` : named;
}

function pathExists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.NotADirectory) return false;
    throw fault;
  }
}

if (import.meta.main) {
  const path = await buildDenokv();
  if (path !== null) {
    const { code } = await runProgram(path, { args: ["--help"] });
    console.log(`denokv: ${path}${code === 0 ? "" : ` ended with code ${code}`}`);
  }
  Deno.exit(path === null ? 1 : 0);
}
