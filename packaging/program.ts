// Runs the programs that build packages, with a deadline, and shows the progress of a build.

/** Options of {@link run} besides the program and its arguments. */
interface RunOptions {
  readonly cwd?: string;
  /** Added to the environment of this process, in which {@link NEUTRAL} replaces what could change the result. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written to the standard input. */
  readonly stdin?: string;
  /** The program is killed after this time; 30 minutes by default. */
  readonly timeoutMs?: number;
}

/** A program that failed; `message` has its name and the end of what it said. */
class ProgramFailed extends Error {}

/** Sorted output, and times, in the same language and zone on each machine. */
const NEUTRAL = { LC_ALL: "C.UTF-8", TZ: "UTC", NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
const TIMEOUT_MS = 1_800_000;
/** Of the output of a program that failed: enough for the errors of several tests. */
const MAX_SHOWN_LINES = 100;

/**
 * Runs a program to its end and returns its standard output.
 *
 * @throws ProgramFailed if it cannot be started, its exit code is not 0, or the time is over.
 */
export async function run(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const child = start(program, args, options);
  const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? TIMEOUT_MS);
  try {
    // At the same time: a program that writes while it reads stops when its output is not read.
    const writing = options.stdin === undefined ? null : writeAll(child.stdin, options.stdin);
    const { code, stdout, stderr } = await child.output();
    await writing;
    const decoder = new TextDecoder();
    const said = decoder.decode(stdout);
    if (code === 0) return said;
    const end = `${said}\n${decoder.decode(stderr)}`.trim().split("\n").slice(-MAX_SHOWN_LINES).join("\n");
    throw new ProgramFailed(`${program} ${args.slice(0, 3).join(" ")} ended with code ${code}:\n${end}`);
  } finally {
    clearTimeout(timer);
  }
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

function start(program: string, args: readonly string[], { cwd, env, stdin }: RunOptions): Deno.ChildProcess {
  try {
    return new Deno.Command(program, {
      args: [...args],
      env: { ...NEUTRAL, ...env },
      stdin: stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
      ...(cwd === undefined ? {} : { cwd }),
    }).spawn();
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) {
      throw new ProgramFailed(`${program} is not installed (docs/releasing.md lists what a build needs)`);
    }
    throw fault;
  }
}

/** Shows a step of the build and its duration. */
export async function buildStep<T>(title: string, task: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  console.log(`${title} …`);
  const result = await task();
  console.log(`${title}: ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  return result;
}

/** 1 MB is 1,000,000 octets. */
export const inMegabytes = (octets: number): string => `${(octets / 1e6).toFixed(1)} MB`;
