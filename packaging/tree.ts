// The files of a staged tree: listed, written, and with the same modes and times in each build.

import { FILES, LIBRARY, SETTINGS_FILE } from "./layout.ts";
import { run } from "./program.ts";

/** A file of the tree. */
export interface TreeFile {
  /** Without a slash at the start. */
  readonly path: string;
  readonly octets: number;
  readonly isFolder: boolean;
  readonly isLink: boolean;
}

/** Everything below `root`, sorted. */
export async function listTree(root: string): Promise<TreeFile[]> {
  const said = await run("find", [root, "-mindepth", "1", "-printf", "%P\\t%s\\t%y\\n"]);
  return said.trimEnd().split("\n").map((line) => {
    const [path = "", size = "", kind = ""] = line.split("\t");
    return { path, octets: Number(size), isFolder: kind === "d", isLink: kind === "l" };
  }).sort((a, b) => a.path < b.path ? -1 : 1);
}

/** Gives every file of the tree the time of the commit and one of two modes, so that a build depends on nothing else. */
export async function normalize(root: string, epoch: number): Promise<void> {
  await run("find", [root, "-type", "d", "-exec", "chmod", "0755", "{}", "+"]);
  await run("find", [root, "-type", "f", "-exec", "chmod", "0644", "{}", "+"]);
  await Deno.chmod(`${root}/${LIBRARY}/deno`, 0o755);
  for (const { to, mode } of FILES) if (mode !== undefined) await Deno.chmod(`${root}/${to}`, mode);
  await Deno.chmod(`${root}/${SETTINGS_FILE}`, 0o640);
  await run("find", [root, "-exec", "touch", "--no-dereference", `--date=@${epoch}`, "{}", "+"]);
}

export async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, text);
}

export async function makeFolder(path: string): Promise<string> {
  await Deno.mkdir(path, { recursive: true });
  return path;
}

export async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
  await Deno.copyFile(from, to);
}
