// Tests of startProgram() with a stub of the program.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { overlay } from "./gateway_settings.ts";
import { startProgram } from "./program.ts";

const program = new URL("./stub_program.ts", import.meta.url).pathname;

Deno.test("startProgram() returns the ports and the log of a program that reports that it is ready", async () => {
  await using gateway = await startProgram({ program });
  assert(gateway.radiusPort > 0);
  assertEquals(await (await fetch(gateway.httpUrl)).text(), "here");
  const status = await gateway.stop();
  assertEquals(status.code, 0);
  assertEquals(gateway.logLines(), [`data in ${gateway.dataDir}`, "goodbye"]);
});

Deno.test("restart() starts the program again on the same ports, also after kill9()", async () => {
  await using gateway = await startProgram({ program });
  const before = [gateway.radiusPort, gateway.httpUrl, gateway.pid];
  await gateway.kill9();
  await gateway.restart();
  assertEquals([gateway.radiusPort, gateway.httpUrl], before.slice(0, 2));
  assert(gateway.pid !== before[2]);
});

Deno.test("restart() waits for a port that another process took while the program was stopped", async () => {
  await using gateway = await startProgram({ program });
  const { radiusPort } = gateway;
  await gateway.stop();
  const holder = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: radiusPort });
  const restarting = gateway.restart();
  await gateway.logged("Address already in use");
  holder.close();
  await restarting;
  assertEquals(gateway.radiusPort, radiusPort);
});

Deno.test("startProgram() fails with the output of a program that does not start", async () => {
  const refused = '[server]\nlog_level = "refused"\n';
  const fault = await assertRejects(() => startProgram({ program, toml: refused }), Error);
  assertStringIncludes(fault.message, "fault: server.log_level is wrong");
});

Deno.test("dispose() removes the temporary directory", async () => {
  const gateway = await startProgram({ program });
  await gateway.dispose();
  await assertRejects(() => Deno.stat(gateway.configPath), Deno.errors.NotFound);
});

Deno.test("overlay() merges tables and replaces everything else", () => {
  assertEquals(
    overlay({ a: { b: 1, c: [1] }, d: 1 }, { a: { c: [2], e: 3 }, f: 4 }),
    { a: { b: 1, c: [2], e: 3 }, d: 1, f: 4 },
  );
});
