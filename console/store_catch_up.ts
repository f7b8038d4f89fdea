// With several nodes on one store, a request first waits until this node has what other nodes changed before it.

import type { MiddlewareHandler } from "hono";
import { type Clock, withTimeout } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import { Refusal } from "./api/errors.ts";
import type { HttpEnv } from "./api/hono_env.ts";

const DEADLINE_MS = 3000;

/** @throws Refusal `store_silent` if the store does not answer in time. Costs nothing if only this node uses the store. */
export function createStoreCatchUp(
  { store, clock }: { store: Pick<Store, "catchUp">; clock: Clock },
): MiddlewareHandler<HttpEnv> {
  return async (_c, next) => {
    const catchingUp = store.catchUp();
    if (catchingUp !== null) {
      const reading = catchingUp.then(() => true, () => false);
      const caughtUp = await withTimeout(reading, { clock, timeoutMs: DEADLINE_MS });
      if (!caughtUp.inTime || !caughtUp.value) throw new Refusal("store_silent", { "retry-after": "1" });
    }
    await next();
  };
}
