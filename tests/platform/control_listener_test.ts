// The control socket: its permissions, its answers, and how it starts, stops and reopens.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  type ControlListener,
  type ControlListenerDeps,
  listenControl,
} from "../../platform/control_listener.ts";
import { DataDirFault } from "../../platform/data_dir.ts";
import { createLog } from "../../platform/log.ts";
import { openComposition } from "../fakes/composition.ts";
import { createManualClock, eventually, type ManualClock } from "../upstream/manual_clock.ts";

interface World extends AsyncDisposable {
  readonly path: string;
  readonly clock: ManualClock;
  readonly deps: ControlListenerDeps;
  readonly logged: () => string;
  listen(): Promise<ControlListener>;
  /** The status and the text of a response. */
  ask(path: string): Promise<readonly [number, string]>;
}

async function openWorld(change: Partial<ControlListenerDeps> = {}): Promise<World> {
  const home = await Deno.makeTempDir({ prefix: "countersign-socket-" });
  const path = `${home}/control.sock`;
  const clock = createManualClock();
  const logClock = createManualClock();
  const client = Deno.createHttpClient({ proxy: { transport: "unix", path }, poolMaxIdlePerHost: 0 });
  let logged = "";
  const log = createLog({
    format: "text",
    level: "debug",
    clock: logClock,
    write: (lines) => void (logged += new TextDecoder().decode(lines)),
  });
  const answer = (request: Request) => Promise.resolve(new Response(new URL(request.url).pathname));
  const deps = { path, answer, log, clock, ...change };
  return {
    path,
    clock,
    deps,
    logged() {
      logClock.advance(1000);
      return logged;
    },
    listen: () => listenControl(deps),
    async ask(at) {
      const init: RequestInit & { client: Deno.HttpClient } = { client };
      const response = await fetch(`http://localhost${at}`, init);
      return [response.status, await response.text()];
    },
    async [Symbol.asyncDispose]() {
      client.close();
      await Deno.remove(home, { recursive: true });
    },
  };
}

Deno.test("listenControl() creates a socket that only its owner may use, and answers requests there", async () => {
  await using world = await openWorld();
  const listener = await world.listen();
  const { mode, isSocket } = await Deno.lstat(world.path);
  assertEquals([isSocket, (mode ?? 0) & 0o777], [true, 0o600]);
  assertEquals(await world.ask("/console/api/live"), [200, "/console/api/live"]);
  await listener.close();
  await assertRejects(() => Deno.lstat(world.path), Deno.errors.NotFound);
});

Deno.test("listenControl() replaces a socket that an earlier process left", async () => {
  await using world = await openWorld();
  // Deno removes the name at which it listened; the second name stays, as after a kill.
  const earlier = Deno.listen({ transport: "unix", path: `${world.path}.old` });
  await Deno.link(`${world.path}.old`, world.path);
  earlier.close();
  const listener = await world.listen();
  assertEquals(await world.ask("/x"), [200, "/x"]);
  await listener.close();
});

Deno.test("listenControl() refuses the path of an existing file, and does not change the file", async () => {
  await using world = await openWorld();
  await Deno.writeTextFile(world.path, "notes");
  const fault = await assertRejects(world.listen, DataDirFault);
  assertStringIncludes(fault.message, `Cannot listen at the control socket "${world.path}"`);
  assertEquals(await Deno.readTextFile(world.path), "notes");
});

Deno.test("listenControl() refuses a path that is too long for a socket", async () => {
  await using world = await openWorld();
  const path = `${world.path}${"x".repeat(120)}`;
  await assertRejects(() => listenControl({ ...world.deps, path }), DataDirFault);
});

Deno.test("listenControl() answers 500 to a request whose handler fails, logs it, and answers the next one", async () => {
  const answer = (request: Request) =>
    request.url.endsWith("/bad")
      ? Promise.reject(new Error("out of order"))
      : Promise.resolve(new Response("ok"));
  await using world = await openWorld({ answer });
  const listener = await world.listen();
  assertEquals(await world.ask("/bad"), [500, ""]);
  assertEquals(await world.ask("/good"), [200, "ok"]);
  assertStringIncludes(world.logged(), "a request of the control socket failed");
  await listener.close();
});

/** An answer from the test, and the number of requests that wait for it. */
function heldAnswer() {
  const { promise, resolve } = Promise.withResolvers<Response>();
  let asked = 0;
  return {
    asked: () => asked,
    give: (text: string) => resolve(new Response(text)),
    answer: () => {
      asked += 1;
      return promise;
    },
  };
}

Deno.test("ControlListener.close() finishes requests in progress, accepts no others, and removes the socket", async () => {
  const held = heldAnswer();
  await using world = await openWorld(held);
  const listener = await world.listen();
  const asked = world.ask("/x");
  await eventually("the request arrives", () => held.asked() === 1);
  const closing = listener.close();
  await eventually("no connection is accepted", () => isRefused(world.path));
  held.give("in time");
  assertEquals(await asked, [200, "in time"]);
  await closing;
  await assertRejects(() => Deno.lstat(world.path), Deno.errors.NotFound);
});

async function isRefused(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return false;
  } catch (_refused) {
    return true;
  }
}

Deno.test("ControlListener.close() waits 10 s for a request in progress, and not longer", async () => {
  const held = heldAnswer();
  await using world = await openWorld(held);
  const listener = await world.listen();
  const asked = world.ask("/x");
  await eventually("the request arrives", () => held.asked() === 1);
  const closing = listener.close();
  await eventually("the deadline is set", () => world.clock.timers() === 1);
  world.clock.advance(9999);
  assertEquals(world.clock.timers(), 1);
  world.clock.advance(1);
  await closing;
  assertStringIncludes(world.logged(), "requests of the control socket did not end in time");
  held.give("late");
  assertEquals(await asked, [200, "late"]);
});

/** A server that the test ends. */
function fakeServe() {
  const served: { readonly end: (fault?: Error) => void }[] = [];
  const serve: ControlListenerDeps["serve"] = ({ path }) => {
    const socket = Deno.listen({ transport: "unix", path });
    const { promise: finished, resolve, reject } = Promise.withResolvers<void>();
    const end = (fault?: Error) => {
      socket.close();
      if (fault === undefined) resolve();
      else reject(fault);
    };
    served.push({ end });
    return {
      finished,
      shutdown() {
        end();
        return finished;
      },
    };
  };
  return { served, serve };
}

for (const fault of [undefined, new Error("too many open files")]) {
  Deno.test(`listenControl() opens the socket again a second after its server ended: ${fault?.message ?? "no fault"}`, async () => {
    const { served, serve } = fakeServe();
    await using world = await openWorld({ serve });
    const listener = await world.listen();
    served[0]?.end(fault);
    await eventually("the end is noticed", () => world.clock.timers() === 1);
    world.clock.advance(999);
    assertEquals(served.length, 1);
    world.clock.advance(1);
    await eventually("it is opened again", () => served.length === 2);
    await listener.close();
    const logged = world.logged();
    assertStringIncludes(logged, "the control socket stopped accepting connections; opening it again");
    assertStringIncludes(logged, fault?.message ?? "it ended");
    assertEquals(world.clock.timers(), 0);
  });
}

Deno.test("listenControl() tries again each second while the socket cannot be opened again", async () => {
  const { served, serve } = fakeServe();
  await using world = await openWorld({ serve });
  const listener = await world.listen();
  served[0]?.end();
  await eventually("the end is noticed", () => world.clock.timers() === 1);
  await Deno.writeTextFile(world.path, "notes");
  world.clock.advance(1000);
  await eventually("the fault is noticed", () => world.clock.timers() === 1);
  assertEquals(served.length, 1);
  await Deno.remove(world.path);
  world.clock.advance(1000);
  await eventually("it is opened again", () => served.length === 2);
  await listener.close();
});

Deno.test("ControlListener.close() ends the attempts to open the socket again", async () => {
  const { served, serve } = fakeServe();
  await using world = await openWorld({ serve });
  const listener = await world.listen();
  served[0]?.end();
  await eventually("the end is noticed", () => world.clock.timers() === 1);
  await listener.close();
  assertEquals(world.clock.timers(), 0);
});

Deno.test("ControlListener.close() while the socket is being opened again leaves it closed", async () => {
  const { served, serve } = fakeServe();
  await using world = await openWorld({ serve });
  const listener = await world.listen();
  served[0]?.end();
  await eventually("the end is noticed", () => world.clock.timers() === 1);
  world.clock.advance(1000);
  await listener.close();
  assertEquals([served.length, world.clock.timers()], [1, 0]);
  await assertRejects(() => Deno.lstat(world.path), Deno.errors.NotFound);
});

/** Paths of a server, and the status through its control socket. */
const PATHS = [
  ["/console/api/live", 200],
  ["/console/api/session/../users/ann", 200],
  ["/console/api/factors", 403],
  ["/idm/scim/default/Users", 404],
  ["/metrics", 200],
  ["/healthz", 200],
  ["/", 404],
  ["/me", 404],
] as const;

Deno.test("the control socket of a server serves only the console API and monitoring", async () => {
  await using gateway = await openComposition();
  await using world = await openWorld({ answer: gateway.app.answerControlSocket });
  const listener = await world.listen();
  for (const [path, status] of PATHS) assertEquals([path, (await world.ask(path))[0]], [path, status]);
  await listener.close();
});
