// Shared functions of the proxies in front of the gateway.

import { openRadiusClient } from "../../support/radius_client.ts";
import { CODES } from "../../support/radius_packets.ts";
import type { Door } from "./login.ts";

/**
 * Waits until a proxy answers on its own port: each answers Status-Server itself, without the gateway. Throws when the
 * proxy ends.
 */
export async function answersStatusServer(front: Door, proxy: Deno.ChildProcess): Promise<void> {
  using client = openRadiusClient(front);
  const ended = proxy.status.then(({ code }) => {
    throw new Error(`It ended with code ${code}`);
  });
  await Promise.race([client.ask({ code: CODES.statusServer }, { timeoutMs: 20, tries: 3000 }), ended]);
}
