// The desk: what an operator's commands ask of the gateway, each change with its audit record in one commit. The same
// desk serves the control socket of a running server and a command that works on the store itself.

import { clientOperations } from "./desk_clients.ts";
import { credentialOperations } from "./desk_credentials.ts";
import { lockOperations } from "./desk_locks.ts";
import type { DeskDeps, Operation } from "./desk_operation.ts";
import { pairOperations } from "./desk_pairings.ts";
import { type DeskAnswer, refused } from "./desk_answer.ts";

export type { DeskDeps } from "./desk_operation.ts";
export type { DeskAnswer, DeskRequest } from "./desk_answer.ts";

export interface Desk {
  /** Does one operation. Takes anything, for it comes from a socket; never rejects. */
  handle(request: unknown): Promise<DeskAnswer>;
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  Object.entries({ ...pairOperations, ...lockOperations, ...clientOperations, ...credentialOperations }),
);

/** Operations that may wait for their turn. */
const MOST_WAITING = 32;

const FAILED = refused(
  "failed",
  "Cannot do that: the store or the program failed. Look before trying again.",
);

export function createDesk(deps: DeskDeps): Desk {
  // One at a time: two that add the same number at once would both find it new.
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  const inTurn = (work: (deps: DeskDeps) => Promise<DeskAnswer>): Promise<DeskAnswer> => {
    waiting += 1;
    const turn = last.then(() => work(deps))
      .catch((fault: unknown) => {
        deps.log?.error("an operator's command failed", { fault: String(fault) });
        return FAILED;
      }).finally(() => waiting -= 1);
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
      return await inTurn(work);
    },
  };
}
