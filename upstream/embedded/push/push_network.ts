// The network of the host for push messages. Unlike other calls, they share connections: if the platform sends a message twice after
// a connection failed, its topic makes the second one replace the first.

import dns from "node:dns";
import type { PushNetwork } from "./push_exchange.ts";

const IDLE_CONNECTIONS_PER_HOST = 4;

export function openPushNetwork(): PushNetwork & { close(): void } {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: IDLE_CONNECTIONS_PER_HOST, http2: true });
  return {
    fetch(url, init) {
      const withClient: RequestInit & { client: Deno.HttpClient } = { ...init, client };
      return fetch(url, withClient);
    },
    async lookUp(hostname) {
      // The resolver of the host, which also reads /etc/hosts, as for the connection itself.
      const found = await dns.promises.lookup(hostname, { all: true });
      return found.map(({ address }) => address);
    },
    close: () => client.close(),
  };
}
