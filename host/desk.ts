// The desk: what an operator's commands ask of the gateway, each change with its audit record in one commit. The same
// desk serves the control socket of a running server and a command that works on the store itself.

import { clientOperations } from "./desk_clients.ts";
import { credentialOperations } from "./desk_credentials.ts";
import { lockOperations } from "./desk_locks.ts";
import { createJobs } from "./desk_jobs.ts";
import type { DeskDeps, DeskState, Operation } from "./desk_operation.ts";
import { pairOperations } from "./desk_pairings.ts";
import { peopleOperations } from "./desk_people.ts";
import { createShelf } from "./desk_shelf.ts";
import { targetOperations } from "./desk_targets.ts";
import { type DeskAnswer, refused } from "./desk_answer.ts";

export type { DeskDeps } from "./desk_operation.ts";
export type { DeskAnswer, DeskRequest } from "./desk_answer.ts";

export interface Desk {
  /** Does one operation. Takes anything, for it comes from a socket; never rejects. */
  handle(request: unknown): Promise<DeskAnswer>;
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  Object.entries({
    ...pairOperations,
    ...lockOperations,
    ...clientOperations,
    ...credentialOperations,
    ...peopleOperations,
    ...targetOperations,
  }),
);

/** Operations that may wait for their turn. */
const MOST_WAITING = 32;

/** Exports that may be under way, and how long one may be forgotten. */
const MOST_LISTINGS = 4;
const LISTING_IDLE_MS = 60_000;

const FAILED = refused(
  "failed",
  "Cannot do that: the store or the program failed. Look before trying again.",
);

export function createDesk(deps: DeskDeps): Desk {
  // One at a time: two that add the same number at once would both find it new.
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  const newId = deps.orderedId;
  const state: DeskState = {
    ...deps,
    jobs: createJobs({ clock: deps.clock, newId }),
    listings: createShelf({
      clock: deps.clock,
      newId,
      most: MOST_LISTINGS,
      idleMs: LISTING_IDLE_MS,
      mayGo: () => true,
      drop: (listing) =>
        void listing.close().catch((fault: unknown) =>
          deps.log?.warn("an export could not be closed", { fault: String(fault) })
        ),
    }),
  };

  type Work = (state: DeskState) => Promise<DeskAnswer>;
  const watched = (work: Promise<DeskAnswer>): Promise<DeskAnswer> => {
    waiting += 1;
    return work.catch((fault: unknown) => {
      deps.log?.error("an operator's command failed", { fault: String(fault) });
      return FAILED;
    }).finally(() => waiting -= 1);
  };
  const inTurn = (work: Work): Promise<DeskAnswer> => {
    const turn = watched(last.then(() => work(state)));
    last = turn;
    return turn;
  };

  return {
    async handle(request) {
      if (
        typeof request !== "object" || request === null || !("op" in request) ||
        typeof request.op !== "string"
      ) {
        return refused("not_a_request", "Cannot read the request: it is no operation.");
      }
      const row = OPERATIONS.get(request.op);
      if (row === undefined) {
        return refused("not_a_request", "Cannot do that: this version does not know the operation.");
      }
      const work = row.prepare(request);
      if (typeof work !== "function") return work;
      if (waiting >= MOST_WAITING) {
        return refused("busy", "Cannot do that now: too much is asked at once. Try again.");
      }
      return await (row.apart ? watched(work(state)) : inTurn(work));
    },
  };
}
