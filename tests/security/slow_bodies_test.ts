// Attack: one address opens hundreds of connections, declares a body on each, and sends one octet of it. Other
// addresses and /healthz must still be answered.

import { assertEquals } from "@std/assert";
import { OWNER, startSecured } from "./console_caller.ts";

const CONNECTIONS = 560;
const OTHER_ADDRESS = "127.0.0.2";
const ATTACK_MS = 1500;

Deno.test(`${CONNECTIONS} slow bodies from one address do not stop other addresses`, async () => {
  await using site = await startSecured();
  const { httpUrl } = site.gateway;
  using client = Deno.createHttpClient({ localAddress: OTHER_ADDRESS });
  const call = (path: string, init: RequestInit = {}): Promise<Response> => {
    const withClient: RequestInit & { client: Deno.HttpClient } = { ...init, client };
    return fetch(httpUrl + path, { ...withClient, signal: AbortSignal.timeout(20_000) });
  };
  const statusOf = async (path: string, init: RequestInit = {}): Promise<number> => {
    const response = await call(path, init);
    await response.body?.cancel();
    return response.status;
  };
  const started = await call("/device/api/phrase", {
    method: "POST",
    headers: { "content-type": "application/json", origin: httpUrl },
    body: "{}",
  });
  await started.body?.cancel();
  const phone = (started.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const attack = startAttack(httpUrl);
  try {
    await new Promise((resolve) => setTimeout(resolve, ATTACK_MS));
    assertEquals(await statusOf("/healthz"), 200);
    assertEquals(await statusOf("/readyz"), 200);
    assertEquals(await statusOf("/device/api/view", { headers: { cookie: phone } }), 200);
    const signIn = {
      method: "POST",
      headers: { "content-type": "application/json", origin: httpUrl },
      body: JSON.stringify(OWNER),
    };
    assertEquals(await statusOf("/console/api/session", signIn), 200);
    const own = await fetch(`${httpUrl}/healthz`);
    await own.body?.cancel();
    assertEquals(own.status, 200, "/healthz from the address of the attack");
  } finally {
    await attack.stop();
  }
});

/** Connections that send one octet of a body, and are opened again when the server closes them. */
function startAttack(httpUrl: string): { stop(): Promise<void> } {
  const { hostname, port, host, origin } = new URL(httpUrl);
  const head = new TextEncoder().encode(
    `POST /console/api/session HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\n` +
      "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
  );
  const open = new Set<Deno.TcpConn>();
  let stopped = false;
  const attack = async (): Promise<void> => {
    while (!stopped) {
      const connection = await Deno.connect({ hostname, port: Number(port) }).catch(() => null);
      if (connection !== null) {
        open.add(connection);
        await connection.write(head).catch(() => 0);
        await connection.read(new Uint8Array(1000)).catch(() => null);
        if (open.delete(connection)) connection.close();
      }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  };
  const all = Promise.all(Array.from({ length: CONNECTIONS }, attack));
  return {
    async stop() {
      stopped = true;
      for (const connection of open) connection.close();
      open.clear();
      await all;
    },
  };
}
