// The program of the previous release, for tests in which both versions run. It is kept between runs, like denokv.

import { runProgram } from "./child.ts";
import { denokvFolder } from "./denokv_build.ts";

/** The commit of version 0.2.0. */
const COMMIT = "d80b2931";
const ROOT = new URL("../../", import.meta.url).pathname;
const TIMEOUT_MS = 900_000;

/** Whether this clone has the commit. A shallow clone does not. */
export function hasPreviousRelease(): boolean {
  const { success } = new Deno.Command("git", {
    args: ["cat-file", "-e", `${COMMIT}^{commit}`],
    ...{ cwd: ROOT, stdout: "null", stderr: "null" },
  }).outputSync();
  return success;
}

/** Unpacks and installs it, once. @returns its folder, with a slash at the end */
export async function previousRelease(): Promise<string> {
  const folder = `${denokvFolder()}/../countersign-${COMMIT}/`;
  if (await exists(`${folder}complete`)) return folder;
  await Deno.mkdir(folder, { recursive: true });
  await unpackCommit(COMMIT, folder);
  await Deno.writeTextFile(`${folder}complete`, "");
  return folder;
}

/** Writes the tree of a commit of this clone into `folder`, installs its packages and builds its pages. */
export async function unpackCommit(commit: string, folder: string): Promise<void> {
  await run("sh", ["-c", `git archive "$1" | tar -x -C "$2"`, "sh", commit, folder], ROOT);
  await run(Deno.execPath(), ["install", "--quiet"], folder);
  await run(Deno.execPath(), ["task", "--quiet", "build"], folder);
}

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, stderr } = await runProgram(program, { args, cwd, timeoutMs: TIMEOUT_MS });
  if (code !== 0) {
    throw new Error(`Cannot prepare an earlier commit: ${program} ${args.join(" ")}: ${stderr}`);
  }
}

const exists = (path: string) => Deno.stat(path).then(() => true, () => false);
