// What the measurements with the load generator share: rounds, fresh servers, and the repetition of a void measurement.

import { VoidMeasurement } from "./load.ts";

/** The words of the command line that all of them have, for `parseArgs()`. */
export const ROUND_WORDS = {
  help: { type: "boolean" },
  quick: { type: "boolean" },
  rounds: { type: "string" },
  seconds: { type: "string" },
} as const;

/** How many rounds there are, and how long a measurement takes, in seconds. */
export interface RoundOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

/** Reads the words of {@link ROUND_WORDS}. Throws with a message for the user if one is invalid. */
export function readRounds(
  values: { readonly quick?: boolean; readonly rounds?: string; readonly seconds?: string },
  { quickRounds }: { quickRounds: number },
): RoundOptions {
  const quick = values.quick === true;
  const rounds = Number(values.rounds ?? (quick ? quickRounds : 5));
  const seconds = Number(values.seconds ?? (quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 50) throw new Error("--rounds must be 1 to 50");
  if (!(seconds >= 0.5 && seconds <= 60)) throw new Error("--seconds must be 0.5 to 60");
  return { rounds, seconds, warmUpSeconds: quick ? 0.3 : 1 };
}

/**
 * Runs one measurement with a fresh server, and always stops the server. A void measurement (a busy host drops packets)
 * is repeated, at most twice.
 */
export async function onFresh<Server extends { stop(): Promise<void> }, Result>(
  start: () => Promise<Server>,
  measure: (server: Server) => Promise<Result>,
): Promise<Result> {
  for (let again = 2;; again--) {
    const server = await start();
    try {
      return await measure(server);
    } catch (fault) {
      if (!(fault instanceof VoidMeasurement) || again === 0) throw fault;
      console.log(`again: ${fault.message.split("\n")[0]}`);
    } finally {
      await server.stop();
    }
  }
}
