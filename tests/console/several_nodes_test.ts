// The console on several nodes.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { createManualClock, startConsole } from "../fakes/console_app.ts";
import { openComposition } from "../fakes/composition.ts";
import { openNode } from "../fakes/shared_store.ts";
import { createWorkRegistry } from "../../console/api/jobs/jobs.ts";
import { createTargetRefreshes } from "../../console/api/targets/target_routes.ts";
import { Refusal } from "../../console/api/errors.ts";
import { AdminStore } from "../../console/api/auth/admin_store.ts";
import { Sessions } from "../../console/api/auth/sessions.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import type { Target } from "../../scim/ports.ts";
import type { RefreshReport } from "../../scim/backend_port.ts";
import { apiValue } from "../../cli/admin_connection.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { createFakeCluster, knownNode, threeNodes } from "../fakes/console_cluster.ts";
import { nodeParts } from "../../console/api/nodes/node_routes.ts";
import { STORE_SILENT_MS } from "../../platform/store.ts";

// The console on two nodes that share a store: sessions, limits, the set-up link, streams, and a store that does not answer.

const SESSION = "/console/api/session";

async function startTwo(options: Parameters<typeof startConsole>[0] = {}) {
  const kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const stores = [(await openNode(kv, "a")).store, (await openNode(kv, "b")).store] as const;
  const a = await startConsole({ clock, ...options, store: stores[0] });
  const b = await startConsole({ clock, ...options, store: stores[1] });
  return {
    ...{ a, b, clock, stores },
    async [Symbol.asyncDispose]() {
      await a[Symbol.asyncDispose]();
      await b[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

Deno.test("a session that begins on one node is valid on the other, and ends on both", async () => {
  await using two = await startTwo();
  const cookie = await two.a.signIn("owner");
  const status = async () => {
    const response = await two.b.call("/console/api/administrators", { cookie });
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await status(), 200);
  await (await two.a.call(SESSION, { method: "DELETE", cookie })).body?.cancel();
  assertEquals(await status(), 401);
});

Deno.test("failed sign-ins on two nodes count together", async () => {
  await using two = await startTwo();
  const attempt = async (at: number) => {
    const site = at % 2 === 0 ? two.a : two.b;
    const response = await site.call(SESSION, { method: "POST", json: { name: "owner", password: "wrong" } });
    await response.body?.cancel();
    return response.status;
  };
  const statuses = await Promise.all(Array.from({ length: 8 }, (_, at) => attempt(at)));
  assertEquals(statuses.toSorted(), [401, 401, 401, 401, 401, 429, 429, 429]);
  two.clock.advance(60_001);
  assertEquals(await attempt(1), 401);
});

Deno.test("the set-up link of each node is valid until one is used, and every node then removes its own", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const random = createSystemRandom();
  const removals = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() };
  const open = async (name: keyof typeof removals) => {
    const { store } = await openNode(kv, name);
    const onSetUp = () => Promise.resolve(removals[name].resolve());
    const log = { error: () => undefined, info: () => undefined, warn: () => undefined } as never;
    const vault = createVault(new Uint8Array(32).fill(7), random);
    const deps = { store, vault, clock, random, log, configAdmins: [], http: { publicUrl: "http://gate" } };
    return { store, admins: new AdminStore({ ...deps, onSetUp }) };
  };
  const [a, b] = [await open("a"), await open("b")];
  const links = [await a.admins.setupLink(), await b.admins.setupLink()];
  const [first = "", second = ""] = links.map((link) => link?.split("#")[1]);
  assertEquals((await b.admins.link(first)).kind, "set_up");
  await b.admins.setUp({ token: second, name: "Ada", password: "a long enough one", source: "" });
  await removals.b.promise;
  await a.store.catchUp();
  await removals.a.promise;
  const outcome = await a.admins.link(first).catch((fault) => fault instanceof Refusal ? fault.code : fault);
  assertEquals(outcome, "bad_set_up_link");
});

/** The API waits; static files and the liveness check do not. */
const PATHS = [
  [SESSION, 503],
  ["/device/api/view", 503],
  ["/me/api/session", 503],
  ["/me/approve/1", 503],
  ["/healthz", 200],
  ["/assets/web.js", 200],
] as const;
for (
  const [how, catchUp] of [
    ["is silent", () => new Promise<void>(() => undefined)],
    ["fails", () => Promise.reject(new Error("connection refused"))],
  ] as const
) {
  Deno.test(`a store that ${how} gives 503 with a code, and only where state is read`, async () => {
    const clock = createManualClock();
    await using site = await startConsole({
      clock,
      change: (deps) => ({ ...deps, store: { ...deps.store, catchUp } }),
    });
    for (const [path, status] of PATHS) {
      const asking = site.call(path);
      // The deadline of the wait. The request reaches the server first.
      const timer = setInterval(() => clock.advance(1000), 5);
      const response = await asking;
      clearInterval(timer);
      const text = await response.text();
      assertEquals(response.status, status, path);
      if (status === 503) {
        assertEquals([JSON.parse(text).error.code, response.headers.get("retry-after")], [
          "store_silent",
          "1",
        ]);
      }
    }
  });
}

Deno.test("the work of another node is named as such", async () => {
  using kv = await Deno.openKv(":memory:");
  const deps = { clock: createManualClock(), random: createSystemRandom() };
  const limits = { most: 2, mostEach: 2, idleMs: 1000 };
  const [a, b] = [(await openNode(kv, "a")).store, (await openNode(kv, "b")).store]
    .map((store) => createWorkRegistry({ ...deps, store }, limits));
  const begun = a?.put((id) => ({ id, owner: "ada", isBusy: () => true }));
  assertEquals(a?.take(begun?.id ?? "", "ada")?.id, begun?.id);
  let code = "";
  try {
    b?.take(begun?.id ?? "", "ada");
  } catch (fault) {
    code = fault instanceof Refusal ? fault.code : "";
  }
  assertEquals([code, b?.take("0000.b", "ada"), b?.take("0000", "ada")], ["other_node", null, null]);
});

Deno.test("a refresh of one node shows on the other, and ends there if its node stops", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  let living = ["a", "b"];
  const cluster = { list: () => living.map((node) => ({ node, isAlive: true }) as never) };
  const log = { error: () => undefined, warn: () => undefined } as never;
  const [storeA, storeB] = [(await openNode(kv, "a")).store, (await openNode(kv, "b")).store];
  const [a, b] = [storeA, storeB].map((store) => createTargetRefreshes({ store, clock, log, cluster }));
  const { promise, resolve } = Promise.withResolvers<RefreshReport>();
  const target = { name: "staff", refreshAll: () => promise } as unknown as Target;
  a?.begin(target, { name: "ada", source: "" });
  await storeA.get(["after the commit"]);
  await storeB.catchUp();
  assertEquals(b?.state("staff").running, true);
  living = ["b"];
  assertEquals([b?.state("staff").running, typeof b?.state("staff").problem], [false, "string"]);
  living = ["a", "b"];
  resolve({ tookMs: 5 } as RefreshReport);
  await promise;
  await storeA.commit({ mutations: [] });
  await storeB.catchUp();
  assertEquals([b?.state("staff").running, b?.state("staff").report?.tookMs], [false, 5]);
});

/** The text of a stream until it contains `mark`. */
async function readUntil(stream: ReadableStreamDefaultReader<Uint8Array>, mark: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(mark)) {
    const { done, value } = await stream.read();
    if (done) return `${text}<end>`;
    text += decoder.decode(value, { stream: true });
  }
  return text;
}

Deno.test("a phone whose stream is on one node sees the request of a login on the other, and decides it there", async () => {
  using kv = await Deno.openKv(":memory:");
  await using a = await openComposition("", { joins: { kv, node: "aaaaaaaa" } });
  await using b = await openComposition("", { joins: { kv, node: "bbbbbbbb" } });
  const ask = (
    method: string,
    path: string,
    { json, cookie = "" }: { json?: unknown; cookie?: string } = {},
  ) => {
    const url = `${b.config.http.publicUrl}${path}`;
    const headers = {
      host: new URL(url).host,
      origin: new URL(url).origin,
      cookie,
      "content-type": "application/json",
    };
    const body = json === undefined ? null : JSON.stringify(json);
    return b.app(new Request(url, { method, headers, body }), { remoteAddress: "192.0.2.1" });
  };
  const { admin, service } = a.services.embedded ?? {};
  const { invitation } = await admin?.invite("ada") ?? { invitation: "" };
  const accepted = await ask("POST", "/device/api/invitation/accept", { json: { invitation } });
  const { pairingId } = await accepted.json();
  const cookie = (accepted.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const stream = (await ask("GET", "/device/api/stream", { cookie })).body?.getReader();
  if (stream === undefined || service === undefined) throw new Error("no stream");
  await readUntil(stream, "event: view");
  await a.store.catchUp();
  const context = { client: "vpn-1", place: "", hasPrompt: false };
  const opened = await service.initiate({ pairingId, terminalName: "VPN", context });
  const id = opened.ok ? opened.value.id : "";
  let decided = 0;
  service.onDecision(id, () => void decided++);
  await b.store.catchUp();
  b.clock.advance(50);
  await readUntil(stream, id);
  const json = { approve: true, number: null };
  assertEquals((await ask("POST", `/device/api/requests/${id}`, { cookie, json })).status, 200);
  await a.store.catchUp();
  const status = await service.status(id);
  assertEquals([decided, status.ok && status.value.granted], [1, true]);
  await stream.cancel();
});

Deno.test("each node lists both, also on the control socket, and forgets the one that ends", async () => {
  using kv = await Deno.openKv(":memory:");
  await using a = await openComposition("", { joins: { kv, node: "aaaaaaaa" } });
  const listed = async () => {
    const { items } = JSON.parse((await a.ask("GET", "/nodes")).text);
    return items.map(({ id, isSelf, isAlive }: Record<string, unknown>) => [id, isSelf, isAlive]);
  };
  {
    await using _b = await openComposition("", { joins: { kv, node: "bbbbbbbb" } });
    assertEquals(await listed(), [["aaaaaaaa", true, true], ["bbbbbbbb", false, true]]);
  }
  assertEquals(await listed(), [["aaaaaaaa", true, true]]);
});

Deno.test("a factor is recorded although a request to the other node touches the session at the same moment", async () => {
  await using two = await startTwo();
  const cookie = await two.a.signIn("owner");
  const [row] = await Array.fromAsync(two.stores[0].list<{ usedMs: number }>(["console_session"]));
  if (row === undefined) throw new Error("no session");
  let raced = 0;
  const vault = createVault(new Uint8Array(32).fill(7), createSystemRandom());
  const sessions = new Sessions({
    ...{ vault, clock: two.clock, random: createSystemRandom(), admins: two.a.admins },
    settings: { sessionMs: 3_600_000, idleMs: 900_000 },
    store: {
      ...two.stores[0],
      async commit(transaction) {
        if (raced++ === 0) {
          await two.stores[1].commit({ mutations: [{ type: "set", key: row.key, value: row.value }] });
        }
        return await two.stores[0].commit(transaction);
      },
    },
  });
  assertEquals([cookie !== "", (await sessions.recordFactor(String(row.key[1])))?.admin.name], [
    true,
    "owner",
  ]);
});

// The nodes of a cluster in the API, in the details of a login, in /metrics and in /readyz.

Deno.test("GET /nodes lists the nodes with their state, and is empty for a process of its own", async () => {
  await using alone = await startConsole();
  const cookie = await alone.signIn("viewer");
  const { isShared, items } = await (await alone.call("/console/api/nodes", { cookie })).json();
  assertEquals([isShared, items], [false, []]);
  await using site = await startConsole({
    change: (deps) => ({ ...deps, cluster: createFakeCluster(() => threeNodes()) }),
  });
  const answer = await (await site.call("/console/api/nodes", { cookie: await site.signIn("viewer") }))
    .json();
  assertEquals(answer.isShared, true);
  const rows = answer.items.map((
    row: Record<string, unknown>,
  ) => [row.id, row.isSelf, row.isAlive, row.clockOffsetMs]);
  assertEquals(rows, [
    ["0a1b2c3d", true, true, 0],
    ["1a1b2c3d", false, true, 7300],
    ["2a1b2c3d", false, false, 0],
  ]);
  // The key of a process and its counters are not for people.
  assertEquals(Object.keys(answer.items[0]).filter((name) => ["publicKey", "beat"].includes(name)), []);
});

Deno.test("GET /live/logins/:id names the node that handles the login, if there are several", async () => {
  let nodes = threeNodes();
  await using site = await startConsole({
    change: (deps) => ({ ...deps, cluster: createFakeCluster(() => nodes) }),
  });
  const cookie = await site.signIn("viewer");
  const view = conversation(1);
  const nodeOf = async (node?: string) => {
    site.watch.put({ ...view, ...(node === undefined ? {} : { node }) } as typeof view);
    return (await (await site.call(`/console/api/live/logins/${view.id}`, { cookie })).json()).node;
  };
  assertEquals([await nodeOf("1a1b2c3d"), await nodeOf("ffffffff"), await nodeOf()], [
    "gate-2 (1a1b2c3d)",
    "ffffffff",
    null,
  ]);
  nodes = [knownNode("1a1b2c3d", { isSelf: true })];
  assertEquals(await nodeOf("1a1b2c3d"), null);
});

Deno.test("GET /live names the nodes, those of one host with their id, and none while there is one node", async () => {
  let nodes = threeNodes();
  await using site = await startConsole({
    change: (deps) => ({ ...deps, cluster: createFakeCluster(() => nodes) }),
  });
  const cookie = await site.signIn("viewer");
  const names = async () => (await (await site.call("/console/api/live", { cookie })).json()).nodes;
  assertEquals((await names())["1a1b2c3d"], "gate-2");
  nodes = nodes.map((node) => ({ ...node, name: node.isSelf ? "gate-1" : "gate-2" }));
  assertEquals(await names(), {
    "0a1b2c3d": "gate-1",
    "1a1b2c3d": "gate-2 (1a1b2c3d)",
    "2a1b2c3d": "gate-2 (2a1b2c3d)",
  });
  nodes = nodes.slice(0, 1);
  assertEquals(await names(), {});
});

Deno.test("nodeParts() has a part for each node: silent, of another version, with another time; none while there is one node", () => {
  let nodes = threeNodes();
  const cluster = createFakeCluster(() => nodes);
  const states = () => nodeParts(cluster).map(({ name, state, note }) => [name, state, note ?? ""]);
  assertEquals(states(), [
    ["gate-0a1b2c3d", "ok", ""],
    ["gate-2", "warning", "node_version"],
    ["gate-2a1b2c3d", "bad", "node_silent"],
  ]);
  nodes = nodes.map((node) => ({ ...node, version: "0.2.0" }));
  assertEquals(states()[1], ["gate-2", "warning", "node_clock"]);
  nodes = nodes.slice(0, 1);
  assertEquals(states(), []);
});

Deno.test("a node says where it listens for HTTP, because all nodes have one public URL", async () => {
  using kv = await Deno.openKv(":memory:");
  const toml = '[http]\nlisten = "127.0.0.1:18080"\npublic_url = "https://login.example.com"';
  await using node = await openComposition(toml, { joins: { kv, node: "aaaaaaaa" } });
  const { items } = await apiValue(node.api.nodes.$get());
  assertEquals(items.map(({ http }) => http), ["127.0.0.1:18080"]);
});

Deno.test("/metrics counts the nodes, their leases, and the changes that were read", async () => {
  await using site = await startConsole({
    change: (deps) => ({ ...deps, cluster: createFakeCluster(() => threeNodes()) }),
  });
  const metrics = await (await site.call("/metrics")).text();
  for (
    const line of [
      "nodes_alive 2",
      "nodes_silent 1",
      "leases_held 2",
      "changes_read_total 40",
      "change_lag_seconds 0.012",
    ]
  ) {
    assertStringIncludes(metrics, `\ncountersign_${line}\n`);
  }
});

Deno.test("/readyz and /metrics say that the store does not answer, and for how long", async () => {
  using kv = await Deno.openKv(":memory:");
  await using node = await openComposition("", { joins: { kv, node: "aaaaaaaa" } });
  const get = async (path: string) => {
    const url = `${node.config.http.publicUrl}${path}`;
    const request = new Request(url, { headers: { host: new URL(url).host } });
    return await (await node.app(request, { remoteAddress: "192.0.2.1" })).text();
  };
  assertEquals(JSON.parse(await get("/readyz")).parts, {
    ...{ radius: "listening", store: "answers", changes: "read", http: "does not accept connections" },
  });
  const list = kv.list.bind(kv);
  const broken = () => {
    throw new Error("connection closed");
  };
  Object.defineProperty(kv, "list", { value: broken, configurable: true });
  node.clock.advance(STORE_SILENT_MS + 2000);
  const { ok, parts } = JSON.parse(await get("/readyz"));
  assertEquals([ok, parts.changes], [false, "not read for 7 s"]);
  assertStringIncludes(await get("/metrics"), "\ncountersign_change_lag_seconds 7\n");
  Object.defineProperty(kv, "list", { value: list, configurable: true });
});
