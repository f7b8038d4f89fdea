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
  /** Complete logins: both requests were answered as expected, the second one with an Access-Accept. */
  readonly logins: number;
  /** Logins that another answer ended. */
  readonly refused: number;
  readonly accepts: number;
  readonly rejects: number;
  readonly challenges: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
  readonly generatorCpuSeconds: number;
}

/** What the generator sends: single requests, complete logins, or packets that must be dropped. */
export type LoadMode = "requests" | "logins" | "garbage";

/** The generator's options on the command line, by name; times in seconds. `radius_load --help` explains each. */
export type LoadOptions = Readonly<
  & { mode?: LoadMode; garbage?: "structure" | "signature" | "mixed"; totp?: string }
  & Partial<
    Record<
      | "in-flight"
      | "rate"
      | "seconds"
      | "warm-up"
      | "give-up"
      | "count"
      | "burst"
      | "users"
      | "first-user"
      | "answer-port",
      number
    >
  >
>;

/** Complete logins. Each takes several commits, so a reply on a busy host may need longer than the default. */
export const LOGINS = { mode: "logins", "give-up": 5 } as const satisfies LoadOptions;

/** The server that gets the load. */
export interface LoadTarget {
  readonly port: number;
  readonly secret: string;
  readonly name: string;
}

const SOURCES = new URL("./load/", import.meta.url).pathname;

/** Compiles the generator into `directory` and returns the program's path. Throws with the compiler's messages. */
export async function compileLoad(directory: string): Promise<string> {
  const program = `${directory}/radius_load`;
  const sources = [...Deno.readDirSync(SOURCES)].map(({ name }) => name).filter((name) =>
    name.endsWith(".c")
  );
  const built = await runProgram("gcc", {
    args: [
      ...["-O2", "-Wall", "-Wextra", "-Werror", "-o", program],
      ...sources.map((name) => `${SOURCES}${name}`),
      "-lcrypto",
    ],
  });
  if (built.code !== 0) throw new Error(`Cannot compile the load generator: ${built.stderr}`);
  return program;
}

/** A void measurement, with the reason as its message. */
export class VoidMeasurement extends Error {}

/**
 * Runs it with one server. Throws when it fails; a {@link VoidMeasurement} when an answer is wrong or missing, is not
 * what the mode expects, or answers a packet that must not be answered.
 */
export async function runLoad(
  program: string,
  server: LoadTarget,
  options: LoadOptions = {},
): Promise<LoadResult> {
  const result = await countLoad(program, server, options);
  const fault = faultOf(result, options.mode);
  if (fault !== null) {
    throw new VoidMeasurement(
      `The measurement of ${server.name} is void: ${fault}\n${JSON.stringify(result)}`,
    );
  }
  return result;
}

/** The same without the check of the counts, for measurements of what is refused or lost. */
export async function countLoad(
  program: string,
  { port, secret }: LoadTarget,
  options: LoadOptions,
): Promise<LoadResult> {
  const ended = await runProgram(program, {
    args: Object.entries({ ...options, port, secret }).flatMap((
      [name, value],
    ) => [`--${name}`, String(value)]),
    timeoutMs: 120_000,
  });
  if (ended.code !== 0) throw new Error(`The load generator ended with code ${ended.code}: ${ended.stderr}`);
  return JSON.parse(ended.stdout);
}

/** The reason why a run is void, or `null`. */
export function faultOf(result: LoadResult, mode: LoadMode = "requests"): string | null {
  if (result.answered === 0) return "nothing was answered";
  if (result.wrong > 0) return `${result.wrong} answers do not verify`;
  // A late answer to a request that was given up is also a stray, but then the request counts as lost too.
  if (result.stray > result.lost) return `${result.stray} answers to what must not be answered`;
  const others = result.answered - expectedAnswers(result, mode);
  if (others > 0) return `${others} answers are not what was asked for`;
  if (result.refused > 0) return `${result.refused} logins were refused`;
  if (mode === "logins" && result.logins === 0) return "no login was completed";
  if (result.lost > Math.max(5, 0.01 * result.sent)) return `${result.lost} of ${result.sent} got no answer`;
  return null;
}

function expectedAnswers({ accepts, challenges }: LoadResult, mode: LoadMode): number {
  switch (mode) {
    case "requests":
      return challenges;
    case "logins":
      return challenges + accepts;
    case "garbage":
      // A Status-Server checks that it was handled; its answer is an Access-Accept (RFC 5997 §4.2).
      return accepts;
  }
}
