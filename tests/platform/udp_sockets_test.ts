// The UDP sockets: an accounting port that is in use stops the start only if the settings name it.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { listenAccounting, ListenFault } from "../../platform/udp_listener.ts";
import { createLog } from "../../platform/log.ts";
import { systemClock } from "../../platform/runtime.ts";

function createTestLog() {
  const written: string[] = [];
  const log = createLog({
    ...{ format: "text", level: "info", clock: systemClock },
    write: (lines) => void written.push(new TextDecoder().decode(lines)),
  });
  return { log, written };
}

Deno.test("listenAccounting() warns about a default port that is in use, and refuses one that the settings name", async () => {
  const holder = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const { hostname, port } = holder.addr as Deno.NetAddr;
  const { log, written } = createTestLog();
  const listen = [{ hostname, port }];
  assertEquals(listenAccounting({ listen, isGiven: false }, log), []);
  await log.flush();
  const text = written.join("");
  for (const part of ["authentication port", `127.0.0.1:${port}`, "radius.accounting_listen"]) {
    assertStringIncludes(text, part);
  }
  const fault = assertThrows(() => listenAccounting({ listen, isGiven: true }, log), ListenFault);
  assertStringIncludes(fault.message, `127.0.0.1:${port}: another program holds it`);
  assertStringIncludes(fault.message, "radius.accounting_listen");
  holder.close();
});
