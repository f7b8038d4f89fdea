// Memory, CPU time and state of another process, on Linux.

import { runProgram } from "./child.ts";

/** Memory of a process in MB (10⁶ octets): now, and its maximum. Throws when there is no such process. */
export async function residentMb(pid: number): Promise<{ now: number; peak: number }> {
  const stdout = await readProcess(pid, "status");
  const kib = (name: string) => {
    const line = stdout.split("\n").find((one) => one.startsWith(`${name}:`)) ?? "";
    return Number(line.split(/\s+/).filter((word) => word !== "").at(-2));
  };
  return { now: kib("VmRSS") * 1024 / 1e6, peak: kib("VmHWM") * 1024 / 1e6 };
}

/** `USER_HZ`: the unit of times in /proc/<pid>/stat, 100 on every Linux on which Deno runs. */
const TICKS_PER_SECOND = 100;

/** CPU time of a process until now, user and system, all threads, in seconds. Throws when there is no such process. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readProcess(pid, "stat");
  // The second field is the program's name in brackets and may contain spaces; the fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The state of a process, such as `T` for stopped (proc(5)). Throws when there is no such process. */
export async function processState(pid: number): Promise<string> {
  const stat = await readProcess(pid, "stat");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[0] ?? "";
}

/** Another program reads it, because the runtime allows reads below /proc only with all permissions. */
async function readProcess(pid: number, file: "stat" | "status"): Promise<string> {
  const { code, stdout } = await runProgram("cat", { args: [`/proc/${pid}/${file}`], timeoutMs: 10_000 });
  if (code !== 0) throw new Error(`Cannot read /proc/${pid}/${file}: there is no such process`);
  return stdout;
}
