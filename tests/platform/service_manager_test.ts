// Reports to the service manager (sd_notify), received by real sockets, and the watchdog on a manual clock.

import { assertEquals } from "@std/assert";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { ServiceManager, type ServiceManagerDeps } from "../../platform/service_manager.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

function openManager(env: Readonly<Record<string, string>>, deps: Partial<ServiceManagerDeps> = {}) {
  const clock = createManualClock();
  const lines: string[] = [];
  const log = createLog({
    format: "text",
    level: "debug",
    clock,
    write: (line) => void lines.push(new TextDecoder().decode(line)),
  });
  const sent: string[] = [];
  const manager = new ServiceManager({
    ...{ env: (name: string) => env[name], clock, random: createSystemRandom(), log, pid: 7 },
    open: () => ({
      send(octets) {
        sent.push(new TextDecoder().decode(octets));
        return Promise.resolve(octets.length);
      },
    }),
    ...deps,
  });
  return { manager, clock, sent, log, lines };
}

Deno.test("ServiceManager reports to a socket with a path and to an abstract one", async () => {
  const folder = await Deno.makeTempDir();
  const name = `countersign-test-${Deno.pid}-${crypto.randomUUID()}`;
  for (
    const [address, path] of [[`${folder}/notify`, `${folder}/notify`], [`@${name}`, `\0${name}`]] as const
  ) {
    const receiver = Deno.listenDatagram({ transport: "unixpacket", path });
    const next = async () => new TextDecoder().decode((await receiver.receive())[0]);
    const { manager } = openManager({ NOTIFY_SOCKET: address }, {
      open: (own) => {
        const socket = Deno.listenDatagram({ transport: "unixpacket", path: own });
        closing.push(socket);
        return socket;
      },
    });
    const closing: Deno.DatagramConn[] = [];
    await manager.ready("Serving\nMAINPID=1\u2028");
    assertEquals(await next(), "READY=1\nSTATUS=Serving\\u000aMAINPID=1\\u2028\n");
    await manager.reloading();
    assertEquals(
      await next(),
      "RELOADING=1\nSTATUS=Reading the settings and certificates again\n",
    );
    await manager.stopping();
    assertEquals(await next(), "STOPPING=1\nSTATUS=Finishing requests in progress\n");
    for (const socket of [receiver, ...closing]) socket.close();
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("ServiceManager opens no socket without a service manager, and warns once about one that it cannot reach", async () => {
  const open = () => {
    throw new Deno.errors.NotFound("no such socket");
  };
  const { manager, clock } = openManager({ WATCHDOG_USEC: "1000000" }, { open });
  await manager.ready("Serving");
  manager.watch(() => null);
  assertEquals(clock.timers(), 0);
  for (const [address, times] of [["/run/none", 1], ["vsock:2:1", 1]] as const) {
    const { manager, log, lines } = openManager({ NOTIFY_SOCKET: address }, { open });
    await manager.ready("Serving");
    await manager.reloading();
    await log.flush();
    assertEquals(lines.join("").split("warn").length - 1, times, address);
  }
});

Deno.test("ServiceManager.watch() reports twice in the time of the watchdog, only while nothing is wrong", async () => {
  const { manager, clock, sent } = openManager({
    NOTIFY_SOCKET: "@x",
    WATCHDOG_USEC: "60000000",
    WATCHDOG_PID: "7",
  });
  await manager.ready("Serving");
  let problem: string | null = null;
  const take = () => sent.splice(0).map((text) => text.trimEnd().replaceAll("\n", " "));
  take();
  manager.watch(() => problem);
  assertEquals(take(), ["WATCHDOG=1"]);
  clock.advance(29_999);
  assertEquals(take(), []);
  clock.advance(30_001);
  assertEquals(take(), ["WATCHDOG=1", "WATCHDOG=1"]);
  problem = "store does not answer for 12 s";
  clock.advance(59_999);
  assertEquals(take(), ["STATUS=Not healthy: store does not answer for 12 s"]);
  problem = null;
  clock.advance(3000);
  assertEquals(take(), ["WATCHDOG=1 STATUS=Serving"]);
  await manager.stopping();
  take();
  clock.advance(120_000);
  assertEquals([take(), clock.timers()], [[], 0]);
  // The time is that of another process.
  const other = openManager({ NOTIFY_SOCKET: "@x", WATCHDOG_USEC: "60000000", WATCHDOG_PID: "8" });
  other.manager.watch(() => null);
  assertEquals(other.clock.timers(), 0);
});
