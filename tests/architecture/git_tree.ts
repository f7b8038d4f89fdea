// Files and renames in git.

import { runProgram } from "../support/child.ts";

const ROOT = new URL("../../", import.meta.url);

/** Unpacks a revision into a temporary folder for the time of `use`. Throws when git does not know the revision. */
export async function withRevision<T>(revision: string, use: (root: URL) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "countersign-revision-" });
  try {
    await git(["archive", "--format=tar", `--output=${folder}/tree.tar`, revision]);
    await run("tar", ["-xf", `${folder}/tree.tar`, "-C", folder]);
    await Deno.remove(`${folder}/tree.tar`);
    return await use(new URL(`file://${folder}/`));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The files that moved since the last commit that changed `path`, also those that are only staged. */
export async function renamesSince(path: string): Promise<Map<string, string>> {
  const commit = (await git(["log", "-1", "--format=%H", "--", path])).trim();
  if (commit === "") return new Map();
  const lines = (await git(["diff", "-M", "--diff-filter=R", "--name-status", commit])).trim().split("\n");
  return new Map(lines.map((line) => line.split("\t")).map(([, from = "", to = ""]) => [from, to]));
}

function git(args: readonly string[]): Promise<string> {
  return run("git", ["-C", ROOT.pathname, ...args]);
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, { args, timeoutMs: 60_000 });
  if (code !== 0) throw new Error(`Cannot run ${program} ${args.join(" ")}: ${stderr.trim()}`);
  return stdout;
}
