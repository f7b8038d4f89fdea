// Answered accounting survives kill -9 of the real program (invariant I5).

import { assertEquals } from "@std/assert";
import { startProgram } from "../support/program.ts";
import { buildAccountingRequest, CODES, readReply, TYPES } from "../support/radius_packets.ts";

const SESSIONS = 60;

Deno.test("every session whose Start was answered exists after kill -9, and a repeated Start adds none", async () => {
  await using gateway = await startProgram();
  const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const to = (): Deno.NetAddr => ({
    transport: "udp",
    hostname: "127.0.0.1",
    port: gateway.accountingPort,
  });
  const starts = Array.from({ length: SESSIONS }, (_, identifier) =>
    buildAccountingRequest(gateway.secret, {
      identifier,
      userName: `user${identifier}`,
      more: [
        { type: TYPES.acctStatusType, value: Uint8Array.of(0, 0, 0, 1) },
        { type: TYPES.acctSessionId, value: new TextEncoder().encode(`session-${identifier}`) },
      ],
    }));
  const sendAll = async () => {
    const answered = new Set<number>();
    for (const { bytes } of starts) await socket.send(bytes, to());
    while (answered.size < SESSIONS) {
      const [octets] = await socket.receive(new Uint8Array(4096));
      const request = starts[octets[1] ?? 0];
      if (request === undefined) throw new Error(`There was no request ${octets[1]}`);
      const { code, problems } = readReply(octets.slice(), request, gateway.secret);
      assertEquals([code, problems], [CODES.accountingResponse, []]);
      answered.add(request.identifier);
    }
  };
  try {
    await sendAll();
    await gateway.kill9();
    await gateway.restart();
    assertEquals(await gateway.metric("accounting_sessions_connected"), SESSIONS);
    await sendAll();
    assertEquals(await gateway.metric("accounting_sessions_connected"), SESSIONS);
    assertEquals(await gateway.metric("accounting_requests_total"), 60);
  } finally {
    socket.close();
  }
});
