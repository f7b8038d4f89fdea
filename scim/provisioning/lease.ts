// A lease in the store: of several nodes over one store only its holder delivers. The deadline stands in the value, because the store's own expiry
// comes late.

import type { CancelTimer, Clock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";

export interface Lease {
  /** Takes or keeps the lease; `false` when another node has it. From then on it is renewed until {@link Lease.release}. */
  hold(): Promise<boolean>;
  /** When another node's lease ends, as last seen. */
  readonly freeAtMs: number;
  /** Gives it back. Harmless when it is not held. */
  release(): Promise<void>;
}

interface LeaseRecord {
  readonly owner: string;
  readonly untilMs: number;
}

/** Long enough for a slow disk, short enough for what a killed process left. */
const LIFE_MS = 15_000;
const RENEW_MS = 5000;

export function createLease(
  { store, clock, key, owner }: { store: Store; clock: Clock; key: Deno.KvKey; owner: string },
): Lease {
  let heldUntilMs = 0;
  let freeAtMs = 0;
  let timer: CancelTimer | null = null;

  const take = async (): Promise<boolean> => {
    const { value, versionstamp } = await store.get<LeaseRecord>(key);
    const nowMs = clock.nowMs();
    if (value !== null && value.owner !== owner && value.untilMs > nowMs) {
      heldUntilMs = 0;
      freeAtMs = value.untilMs;
      return false;
    }
    const untilMs = nowMs + LIFE_MS;
    const { ok } = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: { owner, untilMs } satisfies LeaseRecord }],
    });
    heldUntilMs = ok ? untilMs : 0;
    freeAtMs = ok ? 0 : nowMs + RENEW_MS;
    return ok;
  };
  const renewLater = (): void => {
    timer ??= clock.after(RENEW_MS, () => {
      timer = null;
      // A renewal that fails lets the lease expire: the delivery worker calls `hold` before the next piece of work.
      void take().then((held) => held ? renewLater() : undefined, () => undefined);
    });
  };

  return {
    get freeAtMs() {
      return freeAtMs;
    },
    async hold() {
      if (heldUntilMs - clock.nowMs() < RENEW_MS && !await take()) return false;
      renewLater();
      return true;
    },
    async release() {
      timer?.();
      timer = null;
      if (heldUntilMs === 0) return;
      heldUntilMs = 0;
      const { value, versionstamp } = await store.get<LeaseRecord>(key);
      if (value?.owner !== owner) return;
      await store.commit({ checks: [{ key, versionstamp }], mutations: [{ type: "delete", key }] });
    },
  };
}
