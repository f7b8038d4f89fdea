// Limits of requests that need no guess to be a burden: changes of a user of the account page or of a phone, starts of sign-ins, and test messages.

import { createRateLimit, type LimitTableDeps } from "../../platform/limit_table.ts";
import type { ErrorCode } from "./error_codes.ts";
import { Refusal } from "./errors.ts";

export interface ChangeLimit {
  /** Counts a change of a person, a phone or a source. @throws Refusal with Retry-After */
  take(key: string): Promise<void>;
}

const WINDOW_MS = 60_000;

/** The limit holds for all nodes that share the store. @param options.name differs for each limit @param options.refusal the code of the refusal */
export function createChangeLimit(
  deps: LimitTableDeps,
  { name, perMinute, refusal = "too_many_changes" }: {
    name: string;
    perMinute: number;
    refusal?: ErrorCode;
  },
): ChangeLimit {
  const limit = createRateLimit(deps, { name, count: perMinute, windowMs: WINDOW_MS });
  return {
    async take(key) {
      if (await limit.take(key)) return;
      const waitS = Math.max(1, Math.ceil((await limit.waitMs(key)) / 1000));
      throw new Refusal(refusal, { "retry-after": String(waitS) });
    },
  };
}
