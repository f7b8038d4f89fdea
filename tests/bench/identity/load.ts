// Runs the load generator against one server, and reports when the result is void.

import { runProgram } from "../../support/child.ts";
import { VoidMeasurement } from "../load.ts";
import type { OperationName } from "./operations.ts";
import type { LoadPlan, LoadResult } from "./generator.ts";
import type { MeasuredServer } from "./servers.ts";

const GENERATOR = new URL("./generator.ts", import.meta.url).pathname;
/** The time that pending answers may take beyond the measurement: 16 pages of a slow peer take two minutes. */
const GRACE_MS = 600_000;
const MOST_REQUESTS = 200_000;

export interface LoadOptions {
  readonly connections: number;
  readonly warmUpMs: number;
  readonly measuredMs: number;
  readonly seed: number;
  readonly firstNew?: number;
}

/** Throws a {@link VoidMeasurement} when an answer was wrong or nothing was answered. */
export async function runLoad(
  server: MeasuredServer,
  operation: OperationName,
  options: LoadOptions,
): Promise<LoadResult> {
  const { port, dialect, users } = server;
  const plan: LoadPlan = {
    port,
    dialect,
    users,
    operation,
    firstNew: 0,
    maxRequests: MOST_REQUESTS,
    ...options,
  };
  const ended = await runProgram(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--allow-net=127.0.0.1", GENERATOR],
    stdin: JSON.stringify(plan),
    timeoutMs: plan.warmUpMs + plan.measuredMs + GRACE_MS,
  });
  const what = `"${operation}" of ${server.name} at ${users} users`;
  if (ended.code !== 0) {
    throw new VoidMeasurement(
      `The measurement of ${what} is void: the generator ended with code ${ended.code}: ${
        ended.stderr.slice(-1000)
      }`,
    );
  }
  const result: LoadResult = JSON.parse(ended.stdout);
  if (result.answered === 0) {
    throw new VoidMeasurement(`The measurement of ${what} is void: nothing was answered in its time`);
  }
  if (result.wrong > 0) {
    throw new VoidMeasurement(
      `The measurement of ${what} is void: ${result.wrong} answers are wrong: ${result.fault}`,
    );
  }
  return result;
}
