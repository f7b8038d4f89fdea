// Attack: connections send thousands of requests at once and read no response (HTTP pipelining). The responses must not
// accumulate in memory, and RADIUS must always answer.

import { assert, assertEquals } from "@std/assert";
import { startProgram } from "../support/program.ts";
import { residentMb } from "../support/process_memory.ts";
import { CODES } from "../support/radius_numbers.ts";
import { waitForHealth } from "./half_open.ts";

const CONNECTIONS = 8;
const REQUESTS = 2000;
const LOGINS = 40;
/** 64 MiB of unread responses, and as much for the runtime. Without limits, the responses are over 10 GB. */
const MAX_GROWTH_MB = 128;

Deno.test(`${CONNECTIONS} connections that pipeline ${REQUESTS} requests and read nothing use no memory, and stop no login`, async () => {
  await using gateway = await startProgram();
  using radius = gateway.client();
  const { now: before } = await residentMb(gateway.pid);
  const attack = startAttack(gateway.httpUrl);
  try {
    await attack.isUnderWay;
    for (let login = 0; login < LOGINS; login++) {
      // Each is sent once: a gateway that reads no datagrams for a long time loses it.
      const { code } = await radius.ask({ userName: "alice", password: "" }, { timeoutMs: 30_000, tries: 1 });
      assertEquals(code, CODES.accessChallenge);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    await attack.stop();
  }
  const { peak } = await residentMb(gateway.pid);
  assert(peak - before < MAX_GROWTH_MB, `growth ${Math.round(peak - before)} MB`);
  assertEquals(await waitForHealth(gateway.httpUrl), 200);
});

/** Connections that write and never read. A connection that the server closes is opened again. */
function startAttack(httpUrl: string): { isUnderWay: Promise<void>; stop(): Promise<void> } {
  const { hostname, port, host } = new URL(httpUrl);
  const requests = new TextEncoder().encode(
    `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(REQUESTS),
  );
  const open = new Set<Deno.TcpConn>();
  const { promise: isUnderWay, resolve: begun } = Promise.withResolvers<void>();
  let writes = 0;
  let stopped = false;
  const attack = async (): Promise<void> => {
    while (!stopped) {
      const connection = await Deno.connect({ hostname, port: Number(port) });
      open.add(connection);
      try {
        for (let at = 0; at < requests.length && !stopped;) {
          at += await connection.write(requests.subarray(at));
          writes += 1;
          if (writes >= CONNECTIONS) begun();
        }
        // A write fails once the server has closed the connection.
        while (!stopped) {
          await new Promise((resolve) => setTimeout(resolve, 100));
          await connection.write(requests.subarray(0, 1));
        }
      } catch (_closed) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      open.delete(connection);
      connection.close();
    }
  };
  const all = Promise.all(Array.from({ length: CONNECTIONS }, attack));
  return {
    isUnderWay,
    async stop() {
      stopped = true;
      // A write that waits for the server ends with its connection.
      for (const connection of open) await connection.closeWrite().catch(() => undefined);
      const stuck = setTimeout(() => open.forEach((connection) => connection.close()), 300);
      await all.catch(() => undefined);
      clearTimeout(stuck);
    },
  };
}
