// The document's two checks of the literal `null`, for a State of the device step whose conversation is gone: bounded per client, so that forged States
// cannot make the gateway call anybody at speed.

import type { Clock } from "../../platform/runtime.ts";
import type { SecondFactorService } from "../ports.ts";

const ASKS_A_MINUTE = 10;
const MINUTE_MS = 60_000;

export interface NullAsks {
  /** Asks twice, unless the client used up its minute. Never rejects. */
  askTwice(client: string): Promise<void>;
}

export function createNullAsks(
  { clock, secondFactor }: { clock: Clock; secondFactor: SecondFactorService },
): NullAsks {
  const asked = new Map<string, number[]>();
  return {
    async askTwice(client) {
      const now = clock.nowMs();
      const recent = (asked.get(client) ?? []).filter((atMs) => atMs > now - MINUTE_MS);
      if (recent.length >= ASKS_A_MINUTE) return;
      asked.set(client, [...recent, now]);
      await secondFactor.status("null");
      await secondFactor.status("null");
    },
  };
}
