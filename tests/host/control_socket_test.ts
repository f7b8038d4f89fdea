// The control socket: one line in, one line out, whatever arrives; and what a command learns without an answer.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { callControlSocket, type ControlCall } from "../../host/control_call.ts";
import { type ControlSocket, serveControlSocket } from "../../host/control_socket.ts";
import { DataDirFault } from "../../host/data_dir.ts";
import { type DeskAnswer, done } from "../../host/desk_answer.ts";
import { MAX_LINE_OCTETS } from "../../host/socket_line.ts";
import { createLog } from "../../log.ts";
import { createManualClock, eventually, type ManualClock } from "../upstream/manual_clock.ts";

interface World extends AsyncDisposable {
  readonly path: string;
  readonly clock: ManualClock;
  /** What was asked. */
  readonly asked: unknown[];
  readonly logged: () => string;
  readonly socket: ControlSocket;
  dial(): Promise<Deno.UnixConn>;
}

interface Options {
  readonly handle?: (request: unknown) => Promise<DeskAnswer>;
  /** What stands in the socket's place before. */
  readonly before?: (path: string) => void;
}

async function openWorld(
  { handle = () => Promise.resolve(done("It is done.")), before }: Options = {},
): Promise<World> {
  const home = await Deno.makeTempDir({ prefix: "countersign-socket-" });
  const path = `${home}/control.sock`;
  before?.(path);
  const clock = createManualClock();
  const asked: unknown[] = [];
  const dialled: Deno.Conn[] = [];
  let logged = "";
  const log = createLog({
    format: "text",
    level: "debug",
    clock,
    write: (lines) => void (logged += new TextDecoder().decode(lines)),
  });
  const socket = await serveControlSocket({
    path,
    log,
    clock,
    handle(request) {
      asked.push(request);
      return handle(request);
    },
  });
  return {
    path,
    clock,
    asked,
    socket,
    logged() {
      clock.advance(10);
      return logged;
    },
    async dial() {
      const connection = await Deno.connect({ transport: "unix", path });
      dialled.push(connection);
      return connection;
    },
    async [Symbol.asyncDispose]() {
      for (const connection of dialled) connection.close();
      await socket.close();
      await Deno.remove(home, { recursive: true });
    },
  };
}

/** Everything that comes until the server closes. */
async function readAll(connection: Deno.Conn): Promise<string> {
  const parts: string[] = [];
  const buffer = new Uint8Array(4096);
  for (let count = await connection.read(buffer); count !== null; count = await connection.read(buffer)) {
    parts.push(new TextDecoder().decode(buffer.subarray(0, count)));
  }
  return parts.join("");
}

/** Why a server that was reached refused; `null` otherwise. */
function reasonOf(called: ControlCall): string | null {
  return called.reached && !called.answer.ok ? called.answer.reason : null;
}

/** Waits until as many requests are worked on. */
const beingAsked = (world: World, count: number) =>
  eventually(`${count} requests`, () => world.asked.length === count);
/** Waits until something waits with a deadline. */
const waiting = ({ clock }: { clock: ManualClock }) => eventually("a deadline", () => clock.timers() > 0);

const octets = (text: string) => new TextEncoder().encode(text);

Deno.test("serveControlSocket() hands one request over and gives its answer back", async () => {
  await using world = await openWorld({
    handle: (request) => Promise.resolve(done(JSON.stringify(request))),
  });
  const request = { op: "pair.list", user: "Ann Ä" };
  const called = await callControlSocket(world.path, request);
  assertEquals(called, { reached: true, answer: done(JSON.stringify(request)) });
  assertEquals(world.asked, [request]);
});

Deno.test("serveControlSocket() makes a socket that only its owner may use", async () => {
  await using world = await openWorld();
  const { mode, isSocket } = await Deno.lstat(world.path);
  assertEquals([isSocket, (mode ?? 0) & 0o777], [true, 0o600]);
});

/** What may arrive instead of a request, and the reason in the answer. */
const GARBAGE = [
  ["an empty line", octets("\n"), "not_a_request"],
  ["no JSON", octets("hello JBSWY3DPEHPK3PXP\n"), "not_a_request"],
  ["octets that are no UTF-8", Uint8Array.of(0x22, 0xff, 0xfe, 0x22, 0x0a), "not_a_request"],
  ["2 MiB without a line end", new Uint8Array(MAX_LINE_OCTETS).fill(0x20), "too_long"],
  ["a deep nest of brackets without a line end", octets("[".repeat(MAX_LINE_OCTETS)), "too_long"],
] as const;

for (const [what, sent, reason] of GARBAGE) {
  Deno.test(`serveControlSocket() answers ${what} with ${reason} and runs no operation`, async () => {
    await using world = await openWorld();
    const connection = await world.dial();
    for (let at = 0; at < sent.length;) at += await connection.write(sent.subarray(at));
    const text = await readAll(connection);
    assertEquals(JSON.parse(text).reason, reason);
    assert(!text.includes("JBSWY3DP") && !world.logged().includes("JBSWY3DP"));
    assertEquals(world.asked, []);
    assertEquals((await callControlSocket(world.path, { op: "x" })).reached, true);
  });
}

Deno.test("serveControlSocket() answers a request that ends before its line does", async () => {
  await using world = await openWorld();
  const connection = await world.dial();
  await connection.write(octets('{"op":'));
  await connection.closeWrite();
  assertEquals(JSON.parse(await readAll(connection)).reason, "not_a_request");
  assertEquals(world.asked, []);
});

Deno.test("serveControlSocket() looks at the first line only", async () => {
  await using world = await openWorld();
  const connection = await world.dial();
  await connection.write(octets('{"op":"a"}\n{"op":"b"}\n'));
  assertEquals(JSON.parse((await readAll(connection)).trimEnd()).ok, true);
  assertEquals(world.asked, [{ op: "a" }]);
});

Deno.test("serveControlSocket() gives up on a request that takes longer than 5 s to arrive", async () => {
  await using world = await openWorld();
  const connection = await world.dial();
  await connection.write(octets('{"op":'));
  await waiting(world);
  world.clock.advance(5000);
  assertEquals(JSON.parse(await readAll(connection)).reason, "too_slow");
});

Deno.test("serveControlSocket() says so when the work takes longer than 5 s", async () => {
  const { promise, resolve } = Promise.withResolvers<DeskAnswer>();
  await using world = await openWorld({ handle: () => promise });
  const called = callControlSocket(world.path, { op: "slow" });
  await beingAsked(world, 1);
  world.clock.advance(5000);
  assertEquals(reasonOf(await called), "too_slow");
  resolve(done("too late"));
});

Deno.test("serveControlSocket() works on eight at once and turns the ninth away", async () => {
  const { promise, resolve } = Promise.withResolvers<DeskAnswer>();
  await using world = await openWorld({ handle: () => promise });
  const calls = Array.from({ length: 8 }, (_, at) => callControlSocket(world.path, { op: `${at}` }));
  await beingAsked(world, 8);
  const ninth = await callControlSocket(world.path, { op: "ninth" });
  assertEquals(reasonOf(ninth), "busy");
  resolve(done("all"));
  assertEquals(await Promise.all(calls), Array(8).fill({ reached: true, answer: done("all") }));
  assertEquals(world.asked.length, 8);
  assertEquals((await callControlSocket(world.path, { op: "tenth" })).reached, true);
});

Deno.test("serveControlSocket() outlives a handler that fails, and repeats nothing of its fault", async () => {
  await using world = await openWorld({ handle: () => Promise.reject(new Error("seed JBSWY3DP")) });
  const called = await callControlSocket(world.path, { op: "x" });
  assertEquals(reasonOf(called), "failed");
  assert(!JSON.stringify(called).includes("JBSWY3DP"));
  const logged = world.logged();
  assert(logged.includes("a command failed") && !logged.includes("JBSWY3DP"));
});

Deno.test("serveControlSocket() outlives a command that goes away before its answer", async () => {
  const { promise, resolve } = Promise.withResolvers<DeskAnswer>();
  await using world = await openWorld({ handle: () => promise });
  const connection = await Deno.connect({ transport: "unix", path: world.path });
  await connection.write(octets('{"op":"x"}\n'));
  await beingAsked(world, 1);
  connection.close();
  resolve(done("nobody listens"));
  assertEquals((await callControlSocket(world.path, { op: "y" })).reached, true);
});

Deno.test("serveControlSocket() takes the place of a socket that an earlier run left", async () => {
  await using world = await openWorld({
    before(path) {
      // Deno removes the name that it listened at; the second name stays, as after a kill.
      const listener = Deno.listen({ transport: "unix", path: `${path}.old` });
      Deno.linkSync(`${path}.old`, path);
      listener.close();
    },
  });
  assertEquals((await callControlSocket(world.path, { op: "x" })).reached, true);
});

Deno.test("serveControlSocket() refuses a path where something else stands, and leaves that alone", async () => {
  const home = await Deno.makeTempDir({ prefix: "countersign-socket-" });
  const path = `${home}/control.sock`;
  await Deno.writeTextFile(path, "somebody's notes");
  const clock = createManualClock();
  const log = createLog({ format: "text", level: "error", clock, write: () => {} });
  const handle = () => Promise.resolve(done(""));
  await assertRejects(() => serveControlSocket({ path, handle, log, clock }), DataDirFault);
  assertEquals(await Deno.readTextFile(path), "somebody's notes");
  const long = `${home}/${"x".repeat(120)}`;
  await assertRejects(() => serveControlSocket({ path: long, handle, log, clock }), DataDirFault);
  await Deno.remove(home, { recursive: true });
});

Deno.test("ControlSocket.close() finishes what is worked on, ends what only arrives, and removes the socket", async () => {
  const { promise, resolve } = Promise.withResolvers<DeskAnswer>();
  await using world = await openWorld({ handle: () => promise });
  const arriving = await world.dial();
  await waiting(world);
  const called = callControlSocket(world.path, { op: "x" });
  await beingAsked(world, 1);
  const closing = world.socket.close();
  assertEquals(await readAll(arriving), "");
  assertEquals((await callControlSocket(world.path, { op: "late" })).reached, false);
  resolve(done("in time"));
  assertEquals(await called, { reached: true, answer: done("in time") });
  await closing;
  await assertRejects(() => Deno.lstat(world.path), Deno.errors.NotFound);
});

Deno.test("callControlSocket() says absent where there is no socket, and where no process serves it", async () => {
  const home = await Deno.makeTempDir({ prefix: "countersign-socket-" });
  const path = `${home}/control.sock`;
  assertEquals(await callControlSocket(path, { op: "x" }), { reached: false, reason: "absent" });
  await Deno.writeTextFile(path, "");
  assertEquals(await callControlSocket(path, { op: "x" }), { reached: false, reason: "absent" });
  await Deno.remove(home, { recursive: true });
});

/** Answers that are none. */
const NO_ANSWERS = [
  "",
  "\n",
  "[]\n",
  '{"ok":true}\n',
  '{"ok":false,"reason":"toString","message":""}\n',
  '{"ok":true',
];

for (const sent of NO_ANSWERS) {
  Deno.test(`callControlSocket() calls a server silent that says ${JSON.stringify(sent)}`, async () => {
    const home = await Deno.makeTempDir({ prefix: "countersign-socket-" });
    const path = `${home}/control.sock`;
    using listener = Deno.listen({ transport: "unix", path });
    const serving = listener.accept().then(async (connection) => {
      await connection.read(new Uint8Array(1024));
      if (sent !== "") await connection.write(octets(sent));
      connection.close();
    });
    assertEquals(await callControlSocket(path, { op: "x" }), { reached: false, reason: "silent" });
    await serving;
    await Deno.remove(home, { recursive: true });
  });
}

Deno.test("callControlSocket() waits for an answer no longer than its deadline", async () => {
  const home = await Deno.makeTempDir({ prefix: "countersign-socket-" });
  const path = `${home}/control.sock`;
  using listener = Deno.listen({ transport: "unix", path });
  const clock = createManualClock();
  const called = callControlSocket(path, { op: "x" }, { clock });
  using _connection = await listener.accept();
  await waiting({ clock });
  clock.advance(16_000);
  assertEquals(await called, { reached: false, reason: "silent" });
  await Deno.remove(home, { recursive: true });
});
