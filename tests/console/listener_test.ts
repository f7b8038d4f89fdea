// The HTTP listener: connection limits, deadlines for silent connections, and reopening after a failure.

import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  connectionLimit,
  countFreeDescriptors,
  createConnectionTable,
  PROBED_DESCRIPTORS,
} from "../../platform/http/connection_table.ts";
import type { HttpApp } from "../../platform/http/http_server.ts";
import { type ListenerDeps, type ProbeResult, serveHttp } from "../../platform/http/http_listener.ts";
import { createLog } from "../../platform/log.ts";
import { systemClock } from "../../platform/runtime.ts";
import { INCOMPLETE_HEAD, openHalf, waitForHealth } from "../security/attack_world.ts";

const log = createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined });
const answer = () => Promise.resolve(new Response("ok"));
const app: HttpApp = Object.assign(answer, { answerControlSocket: answer, close: () => undefined });
const start = (more: Partial<ListenerDeps>) =>
  serveHttp({
    listen: { hostname: "127.0.0.1", port: 0 },
    tls: null,
    app,
    log,
    clock: systemClock,
    maxConnections: 100,
    ...more,
  });

for (const [what, text] of [["a silent connection", ""], ["an incomplete head", INCOMPLETE_HEAD]] as const) {
  Deno.test(`serveHttp() closes ${what} after the deadline`, async () => {
    const listener = await start({ silenceMs: 300 });
    using held = await openHalf(listener.address.port, { count: 5, text });
    assertEquals(await held.closedByServer(30_000), 5);
    await listener.stop({ deadlineMs: 500 });
  });
}

Deno.test("serveHttp() opens the listener again on the same port when it accepts no connections", async () => {
  let dead = true;
  const listener = await start({
    // A listener whose accept loop ended looks like this: clients connect, and are never accepted.
    probe: () =>
      Promise.resolve<ProbeResult>(
        dead ? { outcome: "connected", port: -1, close: () => undefined } : { outcome: "unknown" },
      ),
  });
  const { port } = listener.address;
  const lost = new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (listener.isServing()) return;
      clearInterval(look);
      resolve();
    }, 20);
  });
  await lost;
  dead = false;
  assertEquals(await waitForHealth(`http://127.0.0.1:${port}`), 200);
  assertEquals(listener.address.port, port);
  await listener.stop({ deadlineMs: 500 });
});

Deno.test("createConnectionTable() closes the oldest idle connection when it is full, and never a busy one", () => {
  const closed: number[] = [];
  const table = createConnectionTable({ maxConnections: 2 });
  const of = (port: number) => ({ address: `192.0.2.${port}`, port, close: () => void closed.push(port) });
  assert(table.add(of(1)) && table.add(of(2)));
  table.begin(of(1));
  assert(table.add(of(3)));
  assertEquals(closed, [2]);
  table.begin(of(3));
  assertEquals([table.add(of(4)), closed], [false, [2]]);
  table.end(of(1));
  assert(table.add(of(4)));
  assertEquals([closed, table.size()], [[2, 1], 2]);
});

Deno.test("createConnectionTable() reserves half of the connections for other sources, but a proxy may use all", () => {
  const closed: number[] = [];
  const table = createConnectionTable({ maxConnections: 4, isProxy: (address) => address === "10.0.0.1" });
  const of = (address: string, port: number) => ({ address, port, close: () => void closed.push(port) });
  for (const port of [1, 2, 3]) table.add(of(`2001:db8:0:1::${port}`, port));
  assertEquals([closed, table.size()], [[1], 2]);
  table.close("all");
  closed.length = 0;
  for (const port of [1, 2, 3, 4]) table.add(of("10.0.0.1", port));
  assertEquals([closed, table.size()], [[], 4]);
});

Deno.test("connectionLimit() leaves file descriptors for the other parts", () => {
  let open = 0;
  const descriptor = () => {
    if (open === 230) throw new Error("Too many open files");
    open += 1;
    return { [Symbol.dispose]: () => void (open -= 1) };
  };
  assertEquals([countFreeDescriptors(descriptor), open], [230, 0]);
  assertEquals([connectionLimit(230), connectionLimit(PROBED_DESCRIPTORS)], [130, 2400]);
});

Deno.test("serveHttp() refuses connections after stop()", async () => {
  const listener = await start({});
  await listener.stop({ deadlineMs: 500 });
  await assertRejects(() => Deno.connect({ hostname: "127.0.0.1", port: listener.address.port }));
});
