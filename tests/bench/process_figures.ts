// Figures of Linux about a process and about a UDP port.

export { cpuSeconds, residentMb } from "../support/process_memory.ts";

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
