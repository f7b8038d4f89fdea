// Runs other programs for the tests, with a deadline, and ends them in every case.

import { cpus } from "node:os";

/** The result of a program. `code` is -1 when the deadline ended it. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  readonly elapsedMs: number;
}

/** Options of {@link runProgram} besides the program and its arguments. */
export interface RunOptions {
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** The program is killed after this time; 60 s by default. */
  readonly timeoutMs?: number;
  /** The program is killed when this process ends, also when this process is killed. Works where setpriv is. */
  readonly endsWithParent?: boolean;
  /** The program gets SIGINT when this resolves. */
  readonly interruptAfter?: () => Promise<void>;
  /** Called with the id of the process when it has started. */
  readonly onStart?: (pid: number) => void;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** Runs a program to its end and returns its output. Throws only when it cannot be started. */
export async function runProgram(program: string, options: RunOptions = {}): Promise<Ended> {
  const startedMs = performance.now();
  const args = [...options.args ?? []];
  const [command, commandArgs] = options.endsWithParent ? endingWithParent(program, args) : [program, args];
  const child = new Deno.Command(command, {
    args: commandArgs,
    cwd: options.cwd,
    env: options.env,
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  options.onStart?.(child.pid);
  const deadline = killAfter(child, options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const interrupted = options.interruptAfter?.().then(() => signal(child, "SIGINT"));
  try {
    if (options.stdin !== undefined) await writeAll(child.stdin, options.stdin);
    const { code, stdout, stderr } = await child.output();
    await interrupted;
    return {
      code: deadline.passed() ? -1 : code,
      stdout: new TextDecoder().decode(stdout),
      stderr: new TextDecoder().decode(stderr),
      timedOut: deadline.passed(),
      elapsedMs: performance.now() - startedMs,
    };
  } finally {
    deadline.clear();
  }
}

/**
 * The command of a program that is killed when this process ends, also when this process is killed: it keeps running
 * otherwise. Where setpriv of util-linux is missing, the program as it is.
 */
export function endingWithParent(program: string, args: string[]): [program: string, args: string[]] {
  return SETPRIV === undefined ? [program, args] : [SETPRIV, ["--pdeathsig", "KILL", program, ...args]];
}

const SETPRIV = ["/usr/bin/setpriv", "/bin/setpriv"].find((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});

/**
 * Measures the processor time of a process and of the programs that it started, again and again, because the system
 * forgets it with the process. Programs that still run are not included. It needs /proc; elsewhere it is 0.
 */
export function meterCpu(): { follow(pid: number): void; stop(): number } {
  let seconds = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  return {
    follow: (pid) => void (timer = setInterval(() => (seconds = cpuSecondsOf(pid) ?? seconds), 250)),
    stop: () => {
      clearInterval(timer);
      return seconds;
    },
  };
}

/** Call the result for the share of the time since then in which the processors of the host were busy, in percent. */
export function meterHost(): () => number {
  const read = () => {
    const times = cpus().map(({ times }) => times);
    const sum = (pick: (one: typeof times[number]) => number) =>
      times.reduce((all, one) => all + pick(one), 0);
    const idle = sum((one) => one.idle);
    return { idle, all: idle + sum((one) => one.user + one.nice + one.sys + one.irq) };
  };
  const start = read();
  return () => {
    const now = read();
    return Math.round(100 * (1 - (now.idle - start.idle) / Math.max(1, now.all - start.all)));
  };
}

function cpuSecondsOf(pid: number): number | null {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // After the name: field 14 to 17 of proc(5), in hundredths of a second.
    const times = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 15);
    return times.reduce((sum, one) => sum + Number(one), 0) / 100;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return null;
    throw fault;
  }
}

/** Ends a child: sends SIGTERM, then, after `graceMs`, kills it. Does nothing when it has already ended. */
export async function endChild(child: Deno.ChildProcess, graceMs: number): Promise<Deno.CommandStatus> {
  signal(child, "SIGTERM");
  const force = setTimeout(() => signal(child, "SIGKILL"), graceMs);
  try {
    return await child.status;
  } finally {
    clearTimeout(force);
  }
}

/** Sends a signal to a child that may already have ended. */
export function signal(child: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    child.kill(name);
  } catch (fault) {
    // Deno throws a TypeError for a child that has ended, which is the wanted result.
    if (!(fault instanceof TypeError) && !(fault instanceof Deno.errors.NotFound)) throw fault;
  }
}

function killAfter(child: Deno.ChildProcess, timeoutMs: number): { passed(): boolean; clear(): void } {
  let passed = false;
  const timer = setTimeout(() => {
    passed = true;
    signal(child, "SIGKILL");
  }, timeoutMs);
  return { passed: () => passed, clear: () => clearTimeout(timer) };
}

async function writeAll(pipe: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = pipe.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch (fault) {
    // A program may end without reading its whole input.
    if (!(fault instanceof Deno.errors.BrokenPipe)) throw fault;
  }
}
