// The real `fetch` for calls that must not be made twice. When a connection that was used before dies under a request,
// the platform's `fetch` sends that request again by itself, a POST too (measured on Deno 2.9.6): a second text, a second
// push. Over a fresh connection it does not. So every call has a connection of its own, and none is kept.

import type { Fetch } from "./fetch_with_deadline.ts";

/** `fetch` without kept connections, and what closes it. Opens nothing before the first call. */
export function openHttpClient(): { fetch: Fetch; close: () => void } {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0, http2: false });
  const singleUseFetch: Fetch = (url, init) => {
    const withClient: RequestInit & { client: Deno.HttpClient } = { ...init, client };
    return fetch(url, withClient);
  };
  return { fetch: singleUseFetch, close: () => client.close() };
}
