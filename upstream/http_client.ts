// The real `fetch` with connections of its own: idle ones are dropped before most servers drop them, so that a POST,
// which is never repeated, seldom meets a connection that has just died.

import type { Fetch } from "./http_exchange.ts";

const IDLE_MS = 4_000;

/** `fetch` over a pool, and what closes the pool. Opens nothing before the first call. */
export function openHttpClient({ idlePerHost }: { idlePerHost: number }): {
  fetch: Fetch;
  close: () => void;
} {
  const client = Deno.createHttpClient({
    poolMaxIdlePerHost: idlePerHost,
    poolIdleTimeout: IDLE_MS,
    http2: false,
  });
  const pooledFetch: Fetch = (url, init) => {
    const pooled: RequestInit & { client: Deno.HttpClient } = { ...init, client };
    return fetch(url, pooled);
  };
  return { fetch: pooledFetch, close: () => client.close() };
}
