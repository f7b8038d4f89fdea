// The data directories of several nodes on one store: one master key, one generated secret, audit ids in order.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { auditEntry, auditIndexKey } from "../../platform/audit.ts";
import { auditIdAt } from "../../platform/log_blocks.ts";
import { DataDirFault, loadSharedSecret, openDataDir } from "../../platform/data_dir.ts";
import { readLogPage } from "../../platform/log_export/record_reader.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";

const random = createSystemRandom();
const KV_URL = "https://kv.example.com";

/** A handle of `kv` that can be closed alone, as a node closes its own connection. `read` collects the tables of its reads. */
function handleOf(kv: Deno.Kv, read: unknown[] = []): Deno.Kv {
  const list: Deno.Kv["list"] = (selector, options) => {
    read.push("prefix" in selector ? selector.prefix[0] : selector.start[0]);
    return kv.list(selector, options);
  };
  return new Proxy(kv, {
    get(target, name) {
      if (name === "list") return list;
      const value: unknown = name === "close" ? () => undefined : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Two nodes of one store in memory, in place of a KV Connect server. */
async function twoNodes() {
  const home = await Deno.makeTempDir({ prefix: "countersign-nodes-" });
  const kv = await Deno.openKv(":memory:");
  const read: unknown[] = [];
  const options = { random, kvUrl: KV_URL, open: () => Promise.resolve(handleOf(kv, read)) };
  const node = (name: string) => ({
    path: `${home}/${name}`,
    keyFile: `${home}/${name}/master.key`,
    open: (masterKeyHex = "") => openDataDir(`${home}/${name}`, { ...options, masterKeyHex }),
  });
  return {
    a: node("a"),
    b: node("b"),
    readsOf: (table: string) => read.filter((one) => one === table).length,
    async [Symbol.asyncDispose]() {
      kv.close();
      await Deno.remove(home, { recursive: true });
    },
  };
}

const filesOf = async (path: string) =>
  (await Array.fromAsync(Deno.readDir(path), ({ name }) => name)).sort();
const isThere = (path: string) => Deno.stat(path).then(() => true, () => false);

Deno.test("openDataDir() keeps only the lock and the master key in the directory if the store is remote", async () => {
  await using nodes = await twoNodes();
  const dir = await nodes.a.open();
  await dir.store.commit({ mutations: [{ type: "set", key: ["x"], value: 1 }] });
  await dir.close();
  assertEquals(await filesOf(nodes.a.path), ["lock", "master.key"]);
  const again = await nodes.a.open();
  assertEquals([again.isNew, (await again.store.get(["x"])).value], [false, 1]);
  await again.close();
});

Deno.test("openDataDir() opens a remote store on a second node that has the master key of the first", async () => {
  await using nodes = await twoNodes();
  const first = await nodes.a.open();
  const { secret } = await loadSharedSecret(first, random);
  const hex = (await Deno.readTextFile(nodes.a.keyFile)).trim();
  const second = await nodes.b.open(hex);
  assertEquals(await loadSharedSecret(second, random), { secret, isNew: false });
  await Promise.all([first.close(), second.close()]);
});

Deno.test("openDataDir() creates no master key for a remote store that is not empty", async () => {
  await using nodes = await twoNodes();
  await (await nodes.a.open()).close();
  const { message } = await assertRejects(() => nodes.b.open(), DataDirFault);
  assert(message.includes(`Copy master.key from the first node to "${nodes.b.keyFile}"`), message);
  assert(message.includes("COUNTERSIGN_MASTER_KEY") && message.includes(KV_URL), message);
  assert(!await isThere(nodes.b.keyFile));
});

Deno.test("openDataDir() refuses a remote store that another master key sealed, and keeps the key file", async () => {
  await using nodes = await twoNodes();
  await (await nodes.a.open()).close();
  await Deno.mkdir(nodes.b.path);
  await Deno.writeTextFile(nodes.b.keyFile, "ab".repeat(32));
  const { message } = await assertRejects(() => nodes.b.open(), DataDirFault);
  assert(message.includes("another key") && message.includes("Copy master.key from the first node"), message);
  assertEquals(await Deno.readTextFile(nodes.b.keyFile), "ab".repeat(32));
});

Deno.test("openDataDir() lets one of two nodes create an empty remote store, and the other keeps no key", async () => {
  for (let round = 0; round < 5; round++) {
    await using nodes = await twoNodes();
    const ends = await Promise.allSettled([nodes.a.open(), nodes.b.open()]);
    const dirs = ends.flatMap((end) => end.status === "fulfilled" ? [end.value] : []);
    const faults = ends.flatMap((end) => end.status === "rejected" ? [String(end.reason)] : []);
    assertEquals([dirs.length, faults.length], [1, 1]);
    assert(faults[0]?.includes("Copy master.key from the first node"), faults[0]);
    assertEquals([await isThere(nodes.a.keyFile), await isThere(nodes.b.keyFile)].sort(), [false, true]);
    await dirs[0]?.close();
  }
});

Deno.test("loadSharedSecret() returns one secret to two nodes that start at the same moment", async () => {
  await using nodes = await twoNodes();
  const hex = "ab".repeat(32);
  const dirs = [await nodes.a.open(hex), await nodes.b.open(hex)];
  const loaded = await Promise.all(dirs.map((dir) => loadSharedSecret(dir, random)));
  assertEquals(loaded[0]?.secret, loaded[1]?.secret);
  assertEquals(loaded.filter(({ isNew }) => isNew).length, 1);
  await Promise.all(dirs.map((dir) => dir.close()));
});

Deno.test("openDataDir() refuses an empty remote store while the directory has a store of its own", async () => {
  await using nodes = await twoNodes();
  await (await openDataDir(nodes.a.path, { random, masterKeyHex: "" })).close();
  const { message } = await assertRejects(() => nodes.a.open(), DataDirFault);
  assert(message.includes("deno task move-store"), message);
});

Deno.test("openDataDir() continues the audit ids of the other nodes", async () => {
  await using nodes = await twoNodes();
  const hex = "ab".repeat(32);
  const first = await nodes.a.open(hex);
  // The clock of the node that wrote it is ahead.
  const newest = `${auditIdAt(Date.now() + 60_000)}ffffffff`;
  await first.store.commit({ mutations: [{ type: "set", key: ["audit", newest], value: { atMs: 0 } }] });
  const second = await nodes.b.open(hex);
  const write = (object: string) => ({
    mutations: [auditEntry({ action: "user.locked", actor: "radius", object })],
  });
  await Promise.all(
    [first, second].flatMap(({ store }) => ["user:a", "user:b"].map((one) => store.commit(write(one)))),
  );
  const ids = (await Array.fromAsync(second.store.list(["audit"]))).map(({ key }) => String(key[1]));
  assertEquals(ids.length, 5);
  assertEquals(ids.filter((id) => id > newest).length, 2);
  await Promise.all([first.close(), second.close()]);
});

const audited = (store: Store, count: number) =>
  Promise.all(Array.from({ length: count }, () => {
    const event = { action: "login.accepted", actor: "radius", object: "user:ada" } as const;
    return store.commit({ mutations: [auditEntry(event)] });
  }));

Deno.test("with several nodes, a page of the log is one read, also behind a record that was read", async () => {
  await using nodes = await twoNodes();
  const { store, close } = await nodes.a.open();
  await audited(store, 450);
  const deps = { store, clock: { nowMs: Date.now }, marks: () => [] };
  let { position } = await readLogPage(deps, { upTo: auditIdAt(0), nodes: {} });
  const before = nodes.readsOf("audit");
  const page = await readLogPage(deps, position);
  assertEquals([page.records.length, nodes.readsOf("audit") - before], [200, 1]);
  ({ position } = page);
  assertEquals((await readLogPage(deps, position)).records.length, 50);
  await close();
});

Deno.test("with several nodes, a page of a name reads none of the other records, as there are no blocks", async () => {
  await using nodes = await twoNodes();
  const first = await nodes.a.open();
  await audited(first.store, 20);
  await first.close();
  const { store, close } = await nodes.a.open();
  assertEquals(await store.indexAudit({ all: true }), false);
  await audited(store, 20);
  const before = nodes.readsOf("audit");
  const prefix = auditIndexKey("object", "user:ada");
  const range = { start: [...prefix, ""], end: [...prefix, "\u{10ffff}"] };
  assertEquals((await Array.fromAsync(store.range(range))).length, 40);
  assertEquals(nodes.readsOf("audit"), before);
  // The next start reads what is after the mark.
  assertEquals(await store.indexAudit({ all: true }), false);
  const [newest] = await Array.fromAsync(store.list(["audit"], { reverse: true, limit: 1 }));
  assertEquals((await store.get(["audit_names_mark"])).value, newest?.key[1]);
  await close();
});
