// Memory of another process, on Linux.

import { runProgram } from "./child.ts";

/** Memory of a process in MB (10⁶ octets): now, and its maximum. Throws when there is no such process. */
export async function residentMb(pid: number): Promise<{ now: number; peak: number }> {
  // Another program reads it, because the runtime allows reads below /proc only with all permissions.
  const { code, stdout } = await runProgram("cat", { args: [`/proc/${pid}/status`], timeoutMs: 10_000 });
  if (code !== 0) throw new Error(`Cannot read the memory of process ${pid}: there is none`);
  const kib = (name: string) => {
    const line = stdout.split("\n").find((one) => one.startsWith(`${name}:`)) ?? "";
    return Number(line.split(/\s+/).filter((word) => word !== "").at(-2));
  };
  return { now: kib("VmRSS") * 1024 / 1e6, peak: kib("VmHWM") * 1024 / 1e6 };
}
