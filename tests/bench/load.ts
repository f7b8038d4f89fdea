// Compiles the load generator and runs it.

import { runProgram } from "../support/child.ts";

/** The counts of one run of the generator; times in microseconds. */
export interface LoadResult {
  readonly seconds: number;
  readonly sent: number;
  readonly answered: number;
  readonly lost: number;
  /** Answers that do not verify. */
  readonly wrong: number;
  /** Answers without a pending request, so also answers to garbage. */
  readonly stray: number;
  readonly garbage: number;
  readonly accepts: number;
  readonly rejects: number;
  readonly challenges: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
  readonly generatorCpuSeconds: number;
}

/** The generator's options on the command line, by name; times in seconds. */
export type LoadOptions = Readonly<
  Partial<
    Record<
      "mode" | "in-flight" | "rate" | "seconds" | "warm-up" | "give-up" | "count" | "garbage" | "burst",
      string | number
    >
  >
>;

const SOURCES = new URL("./load/", import.meta.url).pathname;

/** Compiles into `directory` and returns the program's path. Throws with the compiler's messages. */
export async function compileLoad(directory: string): Promise<string> {
  const program = `${directory}/radius_load`;
  const sources = [`${SOURCES}load.c`, `${SOURCES}packets.c`];
  const built = await runProgram("gcc", {
    args: ["-O2", "-Wall", "-Wextra", "-Werror", "-o", program, ...sources, "-lcrypto"],
  });
  if (built.code !== 0) throw new Error(`Cannot compile the load generator: ${built.stderr}`);
  return program;
}

/** A void measurement, with the reason as its message. */
export class VoidMeasurement extends Error {}

/**
 * Runs it with one server. Throws when it fails; a {@link VoidMeasurement} when an answer is wrong or missing, is no
 * challenge, or answers a packet that must not be answered.
 */
export async function runLoad(
  program: string,
  server: { readonly port: number; readonly secret: string; readonly name: string },
  options: LoadOptions = {},
): Promise<LoadResult> {
  const words = Object.entries({ ...options, port: server.port, secret: server.secret });
  const ended = await runProgram(program, {
    args: words.flatMap(([name, value]) => [`--${name}`, String(value)]),
    timeoutMs: 120_000,
  });
  if (ended.code !== 0) throw new Error(`The load generator ended with code ${ended.code}: ${ended.stderr}`);
  const result: LoadResult = JSON.parse(ended.stdout);
  const fault = faultOf(result);
  if (fault !== null) {
    throw new VoidMeasurement(`The measurement of ${server.name} is void: ${fault}\n${ended.stdout}`);
  }
  return result;
}

/** The reason why a run is void, or `null`. */
export function faultOf(result: LoadResult): string | null {
  if (result.answered === 0) return "nothing was answered";
  if (result.wrong > 0) return `${result.wrong} answers do not verify`;
  // A late answer to a request that was given up is also a stray, but then the request counts as lost too.
  if (result.stray > result.lost) return `${result.stray} answers to what must not be answered`;
  // After garbage a Status-Server checks that it was handled; its answer is an Access-Accept (RFC 5997 §4.2).
  const expected = result.garbage > 0 ? result.accepts : result.challenges;
  if (expected < result.answered) {
    return `${result.answered - expected} answers are not what was asked for`;
  }
  if (result.lost > Math.max(5, 0.01 * result.sent)) return `${result.lost} of ${result.sent} got no answer`;
  return null;
}
