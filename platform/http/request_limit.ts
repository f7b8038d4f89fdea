// The address of a client behind proxies, and the limit on concurrent requests: in total and for each source address, so that one
// source cannot use up the total.

import { sourceKey } from "../addresses.ts";

export interface RequestLimit {
  /** Counts a request until the returned function is called; `null`: the limit is reached. */
  begin(address: string): (() => void) | null;
}

interface RequestLimitDeps {
  readonly maxRequests: number;
  readonly maxPerSource: number;
  /** Addresses of reverse proxies: many users share them, so only the total limit applies. */
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

/** Bounds the work. No real chain of trusted proxies is longer. */
const MAX_HOPS = 32;

/**
 * @param remoteAddress the peer of the connection.
 * @param forwarded the values of X-Forwarded-For, joined by commas; `null` without one.
 */
export function clientAddress(
  remoteAddress: string,
  { forwarded, isProxy }: { forwarded: string | null; isProxy: (address: string) => boolean },
): string {
  if (forwarded === null || !isProxy(remoteAddress)) return remoteAddress;
  const hops = forwarded.split(",").slice(-MAX_HOPS).map((hop) => bareAddress(hop.trim()));
  let client = remoteAddress;
  for (const hop of hops.toReversed()) {
    // A trusted proxy writes an address, so any other text comes from the client.
    if (hop === null) return client;
    client = hop;
    if (!isProxy(hop)) return hop;
  }
  return client;
}

const IPV4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;
const IPV6 = /^[0-9a-f:.]+$/i;

/** An address without brackets and port, as some proxies write it; `null` if it is not an address. */
function bareAddress(hop: string): string | null {
  const inBrackets = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(hop)?.[1];
  const text = inBrackets ?? hop.replace(/^([\d.]+):\d{1,5}$/, "$1");
  if (IPV4.test(text)) return text.split(".").every((part) => Number(part) < 256) ? text : null;
  const isIpv6 = IPV6.test(text) && text.includes(":") && URL.canParse(`http://[${text}]/`);
  return isIpv6 ? text.toLowerCase() : null;
}
