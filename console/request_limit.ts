// Limits what goes on at once: in total, and for each source address, so that one source cannot use up the total.

import { sourceKey } from "../platform/source_key.ts";

export interface RequestLimit {
  /** Counts one more until the returned function is called; `null`: there is no room. */
  begin(address: string): (() => void) | null;
}

export interface RequestLimitDeps {
  readonly maxRequests: number;
  readonly maxPerSource: number;
  /** Addresses of reverse proxies: many people share them, so only the total limit applies. */
  readonly isProxy: (address: string) => boolean;
}

export function createRequestLimit({ maxRequests, maxPerSource, isProxy }: RequestLimitDeps): RequestLimit {
  const perSource = new Map<string, number>();
  let total = 0;
  return {
    begin(address) {
      const source = sourceKey(address);
      const count = perSource.get(source) ?? 0;
      if (total >= maxRequests || (count >= maxPerSource && !isProxy(address))) return null;
      total += 1;
      perSource.set(source, count + 1);
      let ended = false;
      return () => {
        if (ended) return;
        ended = true;
        total -= 1;
        const left = (perSource.get(source) ?? 1) - 1;
        if (left === 0) perSource.delete(source);
        else perSource.set(source, left);
      };
    },
  };
}
