// Attack: many connections send large bodies without a credential. They are refused before the body is read, and the
// memory of the process stays bounded.

import { assert, assertEquals } from "@std/assert";
import { startProgram } from "../support/program.ts";
import { residentMb } from "../support/process_memory.ts";

const CONNECTIONS = 300;
const BODY_OCTETS = 1024 * 1024;
/** 300 bodies of 1 MiB would be 315 MB. */
const MAX_GROWTH_MB = 120;

Deno.test(`${CONNECTIONS} connections with bodies of 1 MiB to paths that need a credential do not fill the memory`, async () => {
  await using gateway = await startProgram();
  const before = await residentMb(gateway.pid);
  const port = Number(new URL(gateway.httpUrl).port);
  const paths = [["/nothing", 404], ["/idm/scim/default/Users", 401], ["/console/api/users", 403]] as const;
  const statuses = await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, at) => {
      const [path, expected] = paths[at % paths.length] ?? paths[0];
      return [path, expected, await sendBody(port, path)] as const;
    }),
  );
  for (const [path, expected, status] of statuses) assertEquals([path, status], [path, expected]);
  const { peak } = await residentMb(gateway.pid);
  assert(peak - before.now < MAX_GROWTH_MB, `grew from ${before.now} MB to ${peak} MB`);
});

/** Sends a head and a body of 1 MiB as fast as the server reads it; returns the status of the answer. */
async function sendBody(port: number, path: string): Promise<number> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${BODY_OCTETS}\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  const sending = sendRest(connection);
  const buffer = new Uint8Array(4096);
  const count = await connection.read(buffer) ?? 0;
  connection.close();
  await sending;
  return Number(new TextDecoder().decode(buffer.subarray(0, count)).split(" ")[1]);
}

async function sendRest(connection: Deno.TcpConn): Promise<void> {
  const chunk = new Uint8Array(64 * 1024).fill(32);
  try {
    for (let sent = 0; sent < BODY_OCTETS; sent += chunk.length) await connection.write(chunk);
  } catch (_closed) {
    // The server closed the connection, or the answer has arrived.
  }
}
