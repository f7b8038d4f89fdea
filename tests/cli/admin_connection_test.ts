// The connection of a command to the administration API: through the control socket or the store, and its error
// messages.

import { assertEquals, assertRejects } from "@std/assert";
import {
  type AdminConnection,
  AdminRefusal,
  AdminUnreachable,
  apiValue,
  openAdminConnection,
  readLines,
} from "../../cli/admin_connection.ts";
import { DataDirFault, DataDirInUse, openDataDir } from "../../platform/data_dir.ts";
import { openOfflineAdmin } from "../../cli/admin_connection.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { configOf, settingsFileOf } from "../platform/config/samples.ts";
import { createManualClock, eventually, type ManualClock } from "../upstream/manual_clock.ts";
import { openStandIn } from "./operator.ts";

const random = createSystemRandom();

interface World extends AsyncDisposable {
  readonly dataDir: string;
  readonly socket: string;
  readonly clock: ManualClock;
  readonly connection: AdminConnection;
}

/**
 * @param options.masterKeyHex the value in the environment
 * @param options.openOffline opens the store without a server
 */
async function openWorld(
  { masterKeyHex = "", openOffline = openOfflineAdmin }: {
    masterKeyHex?: string;
    openOffline?: typeof openOfflineAdmin;
  } = {},
): Promise<World> {
  const home = await Deno.makeTempDir({ prefix: "countersign-admin-" });
  const dataDir = `${home}/data`;
  const clock = createManualClock();
  const toml = `[server]\ndata_dir = ${JSON.stringify(dataDir)}\nlog_level = "error"\n`;
  const settingsFile = settingsFileOf(toml);
  const connection = openAdminConnection(configOf(toml), { masterKeyHex, settingsFile, clock, openOffline });
  return {
    dataDir,
    socket: `${dataDir}/control.sock`,
    clock,
    connection,
    async [Symbol.asyncDispose]() {
      await connection.close();
      await Deno.remove(home, { recursive: true });
    },
  };
}

const NUMBER = { kind: "sms", number: "+14155550123" } as const;
const pair = ({ connection: { api } }: World, id = "ann") =>
  apiValue(api.users[":id"].pairings.$post({ param: { id }, json: NUMBER }));

Deno.test("openAdminConnection() opens nothing before the first call", async () => {
  await using world = await openWorld();
  await assertRejects(() => Deno.stat(world.dataDir), Deno.errors.NotFound);
});

Deno.test("openAdminConnection() uses the API of the server that answers on the socket", async () => {
  await using world = await openWorld();
  await using server = await openStandIn(world);
  await pair(world);
  assertEquals(server.radius.pairings.of("ann").length, 1);
});

Deno.test("openAdminConnection() opens the store without a server, also for simultaneous calls", async () => {
  await using world = await openWorld();
  await Promise.all([pair(world, "ann"), pair(world, "bob")]);
  const { rows } = await apiValue(world.connection.api.devices.$get({ query: {} }));
  assertEquals(rows.map(({ user }) => user).toSorted(), ["ann", "bob"]);
  await assertRejects(() => openDataDir(world.dataDir, { random, masterKeyHex: "" }), DataDirFault);
});

Deno.test("openAdminConnection() opens the store when its server has ended between two calls", async () => {
  await using world = await openWorld();
  {
    await using _server = await openStandIn(world);
    await pair(world, "ann");
  }
  await pair(world, "bob");
  const { total } = await apiValue(world.connection.api.devices.$get({ query: {} }));
  assertEquals(total, 2);
});

/** Advances the clock until the call has ended. */
async function ended(clock: ManualClock, call: Promise<unknown>): Promise<void> {
  let hasEnded = false;
  const noted = call.then(() => hasEnded = true, () => hasEnded = true);
  await eventually("the call ends", () => {
    if (clock.timers() > 1) clock.advance(200);
    return hasEnded;
  });
  await noted;
}

Deno.test("openAdminConnection() waits 5 s for a process that holds the store, and reports when no server answers", async () => {
  await using world = await openWorld();
  const held = await openDataDir(world.dataDir, { random, masterKeyHex: "" });
  const startMs = world.clock.nowMs();
  const call = pair(world);
  await ended(world.clock, call);
  await held.close();
  const fault = await assertRejects(() => call, AdminUnreachable);
  assertEquals(
    fault.message,
    `Cannot use the data directory "${world.dataDir}": another process has locked it and does not answer at control.sock. ` +
      "If the server is starting or stopping, try again. Otherwise, stop that process.",
  );
  assertEquals(world.clock.nowMs() - startMs, 5000);
});

Deno.test("openAdminConnection() continues when the process that held the store releases it", async () => {
  await using world = await openWorld();
  const held = await openDataDir(world.dataDir, { random, masterKeyHex: "" });
  const call = pair(world);
  await eventually("the command waits", () => world.clock.timers() === 2);
  await held.close();
  await ended(world.clock, call);
  assertEquals((await call).user.name, "ann");
});

Deno.test("openAdminConnection() tries again when the process that held the store ended just after the attempt", async () => {
  let attempts = 0;
  await using world = await openWorld({
    openOffline: (options) => {
      attempts++;
      // The lock is free again as soon as this attempt has failed.
      if (attempts === 1) return Promise.reject(new DataDirInUse("Cannot use the data directory"));
      return openOfflineAdmin(options);
    },
  });
  const call = pair(world);
  await ended(world.clock, call);
  assertEquals([(await call).user.name, attempts], ["ann", 2]);
});

Deno.test("openAdminConnection() does not wait for a data directory that cannot be used at all", async () => {
  await using world = await openWorld({ masterKeyHex: "no key" });
  const fault = await assertRejects(() => pair(world), DataDirFault);
  assertEquals(fault.message, "Cannot use COUNTERSIGN_MASTER_KEY: it must be 64 hexadecimal digits");
  assertEquals(world.clock.timers(), 0);
});

/**
 * The action of a server after the first request of a connection. `next` reads a further one; `false`: the client
 * closed it.
 */
type Handle = (connection: Deno.UnixConn, next: () => Promise<boolean>) => Promise<void>;

/**
 * Listens on the control socket instead of a server. A connection that sends nothing only checks that a server listens.
 */
async function listenRaw({ dataDir, socket }: World, handle: Handle) {
  await Deno.mkdir(dataDir, { mode: 0o700 });
  const listener = Deno.listen({ transport: "unix", path: socket });
  const connections: Deno.UnixConn[] = [];
  let requests = 0;
  const hasRequest = async (connection: Deno.UnixConn): Promise<boolean> => {
    if (await connection.read(new Uint8Array(4096)) === null) return false;
    requests += 1;
    return true;
  };
  const serving = (async () => {
    for await (const connection of listener) {
      connections.push(connection);
      if (await hasRequest(connection)) await handle(connection, () => hasRequest(connection));
    }
  })();
  return {
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
      for (const connection of connections) connection.close();
    },
  };
}

const octets = (text: string) => new TextEncoder().encode(text);
const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const SILENT =
  "The result is unknown: the server accepted the request but did not answer. Check the state before you retry.";

Deno.test("a call reports that its result is unknown when the server does not answer within 120 s", async () => {
  await using world = await openWorld();
  await using server = await listenRaw(world, () => Promise.resolve());
  const call = pair(world);
  await eventually("the request arrives", () => server.requests() === 1);
  world.clock.advance(120_000);
  const fault = await assertRejects(() => call, AdminUnreachable);
  assertEquals(fault.message, SILENT);
});

/** The octets that a server sends before it closes the connection. */
const NO_RESPONSES = { nothing: "", "no HTTP": "hello\r\n\r\n", "half a head": "HTTP/1.1 200 O" };
for (const [what, sent] of Object.entries(NO_RESPONSES)) {
  Deno.test(`a call reports that its result is unknown when the server sends ${what}, and is not repeated`, async () => {
    await using world = await openWorld();
    await using server = await listenRaw(world, async (connection) => {
      if (sent !== "") await connection.write(octets(sent));
      await connection.closeWrite();
    });
    const fault = await assertRejects(() => pair(world), AdminUnreachable);
    assertEquals([fault.message, server.requests()], [SILENT, 1]);
  });
}

Deno.test("a call is not repeated when a connection of an earlier call ends during it", async () => {
  await using world = await openWorld();
  const { api } = world.connection;
  await using server = await listenRaw(world, async (connection, next) => {
    if (server.requests() === 1) {
      await connection.write(octets(`${HEAD}content-length: 2\r\n\r\n{}`));
      // A client that keeps the connection sends its next request here.
      if (!await next()) return;
    }
    await connection.closeWrite();
  });
  await apiValue(api.clients.$get());
  await assertRejects(() => pair(world), AdminUnreachable);
  assertEquals(server.requests(), 2);
});

/** Bodies of an export that break off, and the lines before that. */
const BROKEN = [
  ["a body that ends before its length", `${HEAD}content-length: 100\r\n\r\n{"a":1}\n{"b"`],
  ["a chunk that never comes", `${HEAD}transfer-encoding: chunked\r\n\r\n8\r\n{"a":1}\n\r\n`],
  ["a last line without its end", `${HEAD}content-length: 11\r\n\r\n{"a":1}\n{"b`],
] as const;
for (const [what, sent] of BROKEN) {
  Deno.test(`readLines() reports that an export broke off: ${what}`, async () => {
    await using world = await openWorld();
    await using _server = await listenRaw(world, async (connection) => {
      await connection.write(octets(sent));
      await connection.closeWrite();
    });
    const query = { target: "default", format: "jsonl" } as const;
    const lines: string[] = [];
    const fault = await assertRejects(async () => {
      for await (const some of readLines(world.connection.api.export.users.$get({ query }))) {
        lines.push(...some);
      }
    }, AdminUnreachable);
    assertEquals(
      fault.message,
      "The connection to the server closed in the middle of the response. Run the command again.",
    );
    assertEquals(lines, ['{"a":1}']);
  });
}

/** A response whose body comes from the test. */
function responseOf(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
  return Promise.resolve(new Response(body));
}

Deno.test("readLines() gives up a body without new data for 120 s", async () => {
  const clock = createManualClock();
  const lines = readLines(responseOf(new ReadableStream()), { clock });
  const next = assertRejects(() => lines.next(), AdminUnreachable);
  await eventually("the body is awaited", () => clock.timers() === 1);
  clock.advance(120_000);
  await next;
  assertEquals(clock.timers(), 0);
});

Deno.test("readLines() joins lines that arrive in parts, and cancels the body when its reader stops", async () => {
  let isCancelled = false;
  const parts = ["on", "e\ntwo\nth", "ree\n"];
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const part = parts.shift();
      if (part !== undefined) controller.enqueue(octets(part));
    },
    cancel: () => void (isCancelled = true),
  });
  const read: string[] = [];
  for await (const some of readLines(responseOf(body))) {
    read.push(...some);
    if (read.length === 3) break;
  }
  assertEquals([read, isCancelled], [["one", "two", "three"], true]);
});

Deno.test("readLines() returns the refusal of the API", async () => {
  await using world = await openWorld();
  await using _server = await openStandIn(world);
  const query = { target: "corp", format: "jsonl" } as const;
  const lines = readLines(world.connection.api.export.users.$get({ query }));
  const fault = await assertRejects(() => lines.next(), AdminRefusal);
  assertEquals(fault.code, "unknown_target");
});
