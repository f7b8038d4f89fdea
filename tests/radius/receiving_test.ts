// Whether every RADIUS socket is read: for /readyz, and for the watchdog of the service manager.

import { assertEquals } from "@std/assert";
import { restartReason } from "../../console/api/health/readiness.ts";
import { openComposition } from "../fakes/composition.ts";
import { nextTurn } from "../support/settle.ts";

/** A socket that waits for ever, until `fail`. */
function openSocket() {
  const failing = Promise.withResolvers<[Uint8Array, Deno.Addr]>();
  return {
    receive: () => failing.promise,
    send: (octets: Uint8Array) => Promise.resolve(octets.length),
    close: () => failing.reject(new Deno.errors.BadResource("closed")),
    fail: () => failing.reject(new Deno.errors.BadResource("closed")),
  };
}

Deno.test("a RADIUS socket that is not read any more is in /readyz, and a reason for another start", async () => {
  await using gateway = await openComposition("");
  const { readiness, radius: { server } } = gateway;
  const [one, two] = [openSocket(), openSocket()];
  const served = [server.serve(one), server.serve(two, "accounting")];
  assertEquals([readiness().parts.radius, server.isReceiving()], ["listening", true]);
  two.fail();
  await served[1];
  assertEquals(readiness().parts.radius, "does not receive packets");
  assertEquals(
    restartReason(readiness()),
    "radius does not receive packets, http does not accept connections",
  );
  await server.stop(0);
  await served[0];
  // A gateway that stops is not started again.
  assertEquals(server.isReceiving(), true);
});

Deno.test("a socket whose calls fail for seconds is not read", async () => {
  await using gateway = await openComposition("");
  const { clock, radius: { server } } = gateway;
  let calls = 0;
  const served = server.serve({
    ...{ send: (octets: Uint8Array) => Promise.resolve(octets.length), close: () => undefined },
    receive: () => {
      calls++;
      return Promise.reject(new Error("no memory"));
    },
  });
  for (let turn = 0; server.isReceiving() && turn < 5000; turn++) {
    clock.advance(1);
    await nextTurn();
  }
  assertEquals([server.isReceiving(), calls >= 2000], [false, true]);
  const stopped = server.stop(0);
  await nextTurn();
  clock.advance(1);
  await Promise.all([stopped, served]);
});

Deno.test("restartReason() is null while only a store of several nodes is silent", () => {
  const rows = [
    [{ radius: "listening", store: "answers", http: "listening" }, null],
    [
      { radius: "listening", store: "does not answer for 12 s", http: "listening" },
      "store does not answer for 12 s",
    ],
    [{ radius: "listening", store: "does not answer for 12 s", changes: "read", http: "listening" }, null],
    [{ radius: "listening", store: "answers", changes: "not read for 9 s", http: "listening" }, null],
    [{ radius: "x", store: "answers", changes: "read", http: "listening" }, "radius x"],
  ] as const;
  for (const [parts, reason] of rows) assertEquals(restartReason({ ok: false, parts }), reason);
});
