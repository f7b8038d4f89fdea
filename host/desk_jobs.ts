// Work that takes longer than a command waits for an answer: it goes on, and the command asks again.

import type { Clock } from "../runtime.ts";
import { within } from "./deadline.ts";
import { type DeskAnswer, done, refused } from "./desk_answer.ts";
import { createShelf } from "./desk_shelf.ts";

/** Tells how far the work is: a few words. */
export type TellProgress = (progress: string) => void;

export interface Jobs {
  /** Begins the work. Its answer, or, when it takes longer, one with `job`. */
  run(work: (tell: TellProgress) => Promise<DeskAnswer>): Promise<DeskAnswer>;
  /** The answer of work that was begun, or again one with `job`. An answer is given once. */
  wait(id: string): Promise<DeskAnswer>;
}

/** Less than the control socket gives a request. */
const PATIENCE_MS = 2500;
const MOST = 16;
const IDLE_MS = 600_000;

interface Job {
  readonly ending: Promise<DeskAnswer>;
  progress: string;
  hasEnded: boolean;
}

export function createJobs({ clock, newId }: { clock: Clock; newId: () => string }): Jobs {
  const shelf = createShelf<Job>({
    clock,
    newId,
    most: MOST,
    idleMs: IDLE_MS,
    mayGo: ({ hasEnded }) => hasEnded,
    drop: () => undefined,
  });

  const answerOf = async (id: string, job: Job): Promise<DeskAnswer> => {
    const waited = await within(clock, PATIENCE_MS, job.ending);
    if (!waited.inTime) return done("It is under way.", { job: { id, progress: job.progress } });
    shelf.remove(id);
    return waited.value;
  };

  return {
    async run(work) {
      const { promise: ending, resolve, reject } = Promise.withResolvers<DeskAnswer>();
      const job: Job = { ending, progress: "", hasEnded: false };
      const id = shelf.put(job);
      if (id === null) return refused("busy", "Cannot do that now: too much is under way. Try again.");
      work((progress) => void (job.progress = progress)).finally(() => void (job.hasEnded = true))
        .then(resolve, reject);
      // The caller that asks for it receives the error; without one, an unhandled rejection must not end the program.
      ending.catch(() => undefined);
      return await answerOf(id, job);
    },
    async wait(id) {
      const job = shelf.take(id);
      if (job === null) {
        return refused("unknown_job", "Cannot say how it ended: nothing of that id is under way.");
      }
      return await answerOf(id, job);
    },
  };
}
