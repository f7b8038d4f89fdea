// Files of a git revision.

import { runProgram } from "../ground/child.ts";

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

function git(args: readonly string[]): Promise<string> {
  return run("git", ["-C", ROOT.pathname, ...args]);
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, { args, timeoutMs: 60_000 });
  if (code !== 0) throw new Error(`Cannot run ${program} ${args.join(" ")}: ${stderr.trim()}`);
  return stdout;
}
