// Figures of Linux about processes and about a UDP port.

import { runProgram } from "../support/child.ts";
import { residentMb } from "../support/process_memory.ts";

export { cpuSeconds, residentMb } from "../support/process_memory.ts";

/** `USER_HZ` of proc(5): the unit of times, on every Linux on which Deno runs. */
const TICKS_PER_SECOND = 100;

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/** These processes and all that they started and that still run. */
async function processTree(roots: readonly number[]): Promise<ProcessRow[]> {
  const rows: ProcessRow[] = [];
  for (const stat of (await readAll("/proc/[0-9]*/stat")).split("\n")) {
    // The second field is the program's name in brackets and may contain spaces; the fields are counted after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ").map(Number);
    // User and system time of the process, and of its children that have ended.
    const ticks = fields.slice(11, 15).reduce((sum, one) => sum + one, 0);
    if (stat !== "") rows.push({ pid: Number.parseInt(stat), parent: fields[1] ?? 0, ticks });
  }
  const inside = new Set(roots);
  for (let before = -1; before < inside.size;) {
    before = inside.size;
    for (const { pid, parent } of rows) if (inside.has(parent)) inside.add(pid);
  }
  return rows.filter(({ pid }) => inside.has(pid));
}

/** CPU time of these processes and of all that they started, all threads, in seconds. */
export async function treeCpuSeconds(roots: readonly number[]): Promise<number> {
  const rows = await processTree(roots);
  return rows.reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_PER_SECOND;
}

/** Memory of them in MB (10⁶ octets): that of one process, or the sum of several with shared pages divided among them. */
export async function treeMb(roots: readonly number[]): Promise<number> {
  const rows = await processTree(roots);
  if (rows.length === 1) return (await residentMb(rows[0]?.pid ?? 0)).now;
  const maps = await readAll(...rows.map(({ pid }) => `/proc/${pid}/smaps_rollup`));
  return [...maps.matchAll(/^Pss:\s+(\d+) kB$/gm)].reduce((sum, [, kib]) => sum + Number(kib), 0) * 1024 /
    1e6;
}

/** Files below /proc. Another program reads them, because the runtime allows that only with all permissions. Processes that end meanwhile are left out. */
async function readAll(...paths: readonly string[]): Promise<string> {
  const args = ["-c", `cat ${paths.join(" ")} 2>/dev/null`];
  return (await runProgram("sh", { args, timeoutMs: 10_000 })).stdout;
}

/** Sends SIGKILL to these processes and all that they started. */
export async function endAll(roots: readonly number[]): Promise<void> {
  for (const { pid } of await processTree(roots)) {
    try {
      Deno.kill(pid, "SIGKILL");
    } catch (fault) {
      // It may end because another one of them was killed.
      if (!(fault instanceof Deno.errors.NotFound)) throw fault;
    }
  }
}

/** Datagrams that the kernel dropped for sockets bound to `port` because their buffer was full. */
export async function bufferDrops(port: number): Promise<number> {
  let drops = 0;
  for (const table of ["/proc/net/udp", "/proc/net/udp6"]) {
    drops += dropsIn(await Deno.readTextFile(table), port);
  }
  return drops;
}

/** The same from the text of such a table; the port is hexadecimal, and the last column has the drops. */
export function dropsIn(table: string, port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return table.split("\n").slice(1).map((line) => line.trim().split(" ").filter((word) => word !== ""))
    .filter((words) => words[1]?.endsWith(local) === true)
    .reduce((sum, words) => sum + Number(words.at(-1)), 0);
}
