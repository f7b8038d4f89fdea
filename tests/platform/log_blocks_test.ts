// Blocks of the history and the audit log: readers find in them what they would find in keys.

import { assert, assertEquals } from "@std/assert";
import {
  type AuditEntry,
  auditEntry,
  auditIndexKey,
  auditKey,
  createAuditSlot,
} from "../../platform/audit.ts";
import { auditIdAt } from "../../platform/log_blocks.ts";
import { readLogPage } from "../../platform/log_export/record_reader.ts";
import { createStore, type Mutation } from "../../platform/store.ts";
import fc from "../packages/fast_check.ts";
import { historyMutation, idsOf, LAST, login, NAMES, open, START_MS, type World } from "./log_world.ts";

/** `kv`, with another `list`. */
const withList = (kv: Deno.Kv, list: Deno.Kv["list"]): Deno.Kv =>
  new Proxy(kv, {
    get(target, name) {
      const value: unknown = name === "list" ? list : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

const ofUser = { name: fc.nat(2) };
/** What happens: a login ends, another event is recorded, time passes, all commits end, the index is written, or the process is another one. */
const STEPS = fc.array(
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({
        ...{ kind: fc.constant("login" as const), ...ofUser },
        tookMs: fc.oneof(fc.nat(60_000), fc.nat(400_000)),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.oneof(
        fc.record({ kind: fc.constant("change" as const), ...ofUser }),
        fc.record({ kind: fc.constant("both" as const), ...ofUser }),
      ),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("wait" as const),
        ms: fc.integer({ min: -5000, max: 90_000 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constantFrom("settle" as const, "index" as const, "restart" as const),
      }),
    },
  ),
  { maxLength: 60 },
);
type Step = typeof STEPS extends fc.Arbitrary<infer Steps>
  ? Steps extends readonly (infer One)[] ? One : never
  : never;

/** What a store with a key for each record has after the steps. */
interface Model {
  /** The history, by id. */
  readonly logins: Map<string, Uint8Array>;
  /** The events in the order of their commits, with their names. */
  readonly events: { readonly text: string; readonly names: readonly string[] }[];
}

async function take(world: World, steps: readonly Step[]): Promise<Model> {
  const model: Model = { logins: new Map(), events: [] };
  const commits: Promise<unknown>[] = [];
  const event = (action: AuditEntry["action"], user: number): Mutation => {
    const [object, text] = [NAMES[user] as string, `event ${model.events.length}`];
    model.events.push({ text, names: [object, "client:vpn"] });
    return auditEntry({ action, actor: "radius", object, client: "vpn", caller: text });
  };
  for (const [at, step] of steps.entries()) {
    if (step.kind === "login") {
      const id = `${auditIdAt(world.nowMs - step.tookMs)}${String(at).padStart(6, "0")}`;
      const value = new TextEncoder().encode(`login\n${at}`);
      model.logins.set(id, value);
      const mutations = [historyMutation(id, value), event("login.accepted", step.name)];
      commits.push(world.store.commit({ mutations }));
    } else if (step.kind === "change") {
      commits.push(world.store.commit({ mutations: [event("pairing.add", step.name)] }));
    } else if (step.kind === "both") {
      const mutations = [event("login.rejected", step.name), event("user.locked", step.name)];
      commits.push(world.store.commit({ mutations }));
    } else if (step.kind === "wait") world.nowMs += step.ms;
    else if (step.kind === "index") await world.store.indexAudit({ all: true });
    else {
      await Promise.all(commits);
      if (step.kind === "restart") await world.restart();
    }
  }
  await Promise.all(commits);
  return model;
}

Deno.test("a store with blocks answers as one with a key for each record", async () => {
  const options = fc.record({
    bounds: fc.tuple(fc.nat(), fc.nat()),
    reverse: fc.boolean(),
    limit: fc.integer({ min: 1, max: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(STEPS, options, async (steps, { bounds, reverse, limit }) => {
      await using world = await open();
      const { logins, events } = await take(world, steps);
      const { store } = world;
      const assertReads = async (prefix: Deno.KvKey, ids: readonly string[]) => {
        assertEquals(await idsOf(store, prefix), ids);
        assertEquals(await idsOf(store, prefix, { reverse: true, limit }), ids.toReversed().slice(0, limit));
        const [start = "", end = LAST] = bounds.map((at) => ids[at % (ids.length + 1)]).sort();
        const part = ids.filter((id) => id >= start && id < end);
        const inOrder = reverse ? part.toReversed() : part;
        assertEquals(await idsOf(store, prefix, { start, end, reverse }), inOrder);
      };
      await assertReads(["history"], [...logins.keys()].sort());
      for (const [id, value] of logins) assertEquals((await store.get(["history", id])).value, value);

      const records = await Array.fromAsync(store.list<{ caller: string }>(["audit"]));
      assertEquals(records.map(({ value }) => value?.caller), events.map(({ text }) => text));
      const ids = records.map(({ key }) => String(key[1]));
      await assertReads(["audit"], ids);
      for (const { key, value } of records) assertEquals((await store.get<unknown>(key)).value, value);
      for (const name of NAMES) {
        await assertReads(
          auditIndexKey("object", name),
          ids.filter((_id, at) => events[at]?.names.includes(name)),
        );
      }
    }),
    { numRuns: 150 },
  );
});

Deno.test("hundreds of blocks with logins that overlap are read in the order of their starts", async () => {
  await using world = await open();
  const ids: string[] = [];
  for (let at = 0; at < 600; at++) {
    world.nowMs += 1000;
    // From 0 to 100 s, in an order without a pattern.
    const tookMs = (at * 7919) % 101 * 1000;
    ids.push(`${auditIdAt(world.nowMs - tookMs)}${String(at).padStart(6, "0")}`);
    await world.store.commit({ mutations: [historyMutation(ids.at(-1) ?? "", new Uint8Array(9))] });
  }
  ids.sort();
  assertEquals(await idsOf(world.store, ["history"]), ids);
  assertEquals(await idsOf(world.store, ["history"], { reverse: true }), ids.toReversed());
});

Deno.test("the logins of one commit are two values of the store", async () => {
  await using world = await open();
  await Promise.all(Array.from({ length: 100 }, (_, at) =>
    world.store.commit({
      mutations: [historyMutation(`${auditIdAt(START_MS)}${at}`, new Uint8Array(9)), login(`u${at}`)],
    })));
  const keys = await Array.fromAsync(world.kv.list({ prefix: [] }), ({ key }) => key);
  assertEquals(keys.map(([table, , more]) => [table, more]), [
    ["audit", "block"],
    ["history", "block"],
  ]);
  assertEquals((await idsOf(world.store, ["audit"])).length, 100);
});

Deno.test("a record that later commits replace, and one with an event of another kind, keeps its key", async () => {
  await using world = await open();
  const slot = createAuditSlot();
  const entry: AuditEntry = { action: "login.rejected", actor: "radius", object: "user:ada" };
  await world.store.commit({ mutations: [auditEntry(entry, slot)] });
  await world.store.commit({ mutations: [auditEntry(entry, slot)] });
  await world.store.commit({
    mutations: [auditEntry({ ...entry, action: "user.locked" }), auditEntry(entry)],
  });
  const keys = await Array.fromAsync(world.kv.list({ prefix: ["audit"] }), ({ key }) => key.length);
  assertEquals(keys, [2, 2, 2]);
  assertEquals((await idsOf(world.store, auditIndexKey("object", "user:ada"))).length, 3);
});

Deno.test("a record that fills a value of the store is written, and a longer one fails alone", async () => {
  await using world = await open();
  const write = (octets: number, at: number) =>
    world.store.commit({
      mutations: [historyMutation(`${auditIdAt(START_MS)}${at}`, new Uint8Array(octets))],
    })
      .then(() => true, () => false);
  assertEquals(await Promise.all([9, 59_000, 30_000, 70_000, 30_000].map(write)), [
    true,
    true,
    true,
    false,
    true,
  ]);
  assertEquals((await idsOf(world.store, ["history"])).length, 4);
});

Deno.test("a login that began in the moment of its block is found", async () => {
  await using world = await open();
  const id = `${auditIdAt(START_MS + 1 / 1024)}zzzzzz`;
  await world.store.commit({ mutations: [historyMutation(id, new Uint8Array(9))] });
  assertEquals((await world.store.get(["history", id])).value, new Uint8Array(9));
});

/** A store whose reads of several keys are counted. */
async function openCounted() {
  const kv = await Deno.openKv(":memory:");
  let lists = 0;
  const list: Deno.Kv["list"] = (...args) => {
    lists++;
    return kv.list(...args);
  };
  const store = createStore(withList(kv, list), { nowMs: () => START_MS });
  return { store, lists: () => lists, [Symbol.asyncDispose]: () => store.close() };
}

Deno.test("a log is read in parts without a cursor, which a client of KV Connect has not", async () => {
  const kv = await Deno.openKv(":memory:");
  const list: Deno.Kv["list"] = (...args) =>
    Object.defineProperty(kv.list(...args), "cursor", {
      get: () => {
        throw new TypeError("Cannot use a cursor");
      },
    });
  const store = createStore(withList(kv, list), { nowMs: () => START_MS });
  const change = auditEntry({ action: "pairing.add", actor: "grace" });
  for (let at = 0; at < 30; at++) await store.commit({ mutations: [at % 3 === 0 ? change : login("ada")] });
  const ids = await idsOf(store, ["audit"]);
  assertEquals(ids.length, 30);
  assertEquals(await idsOf(store, ["audit"], { reverse: true }), ids.toReversed());
  await store.close();
});

Deno.test("a text that is not an id of a login is not searched for in the blocks", async () => {
  await using world = await openCounted();
  const { store, lists } = world;
  await store.commit({ mutations: [historyMutation(`${auditIdAt(START_MS)}a`, new Uint8Array(9))] });
  for (const id of ["0", "01234567", "ada"]) assertEquals((await store.get(["history", id])).value, null);
  assertEquals(lists(), 0);
});

Deno.test("the logins of a page are found with one read of each block", async () => {
  await using world = await openCounted();
  const { store, lists } = world;
  const idOf = (at: number) => `${auditIdAt(START_MS - 1000)}${at + 1000}`;
  const mutation = (at: number) => historyMutation(idOf(at), new Uint8Array([at]));
  for (const first of [0, 100]) {
    await Promise.all(
      Array.from({ length: 100 }, (_, at) => store.commit({ mutations: [mutation(first + at)] })),
    );
  }
  const found = await Promise.all(
    Array.from({ length: 200 }, (_, at) => store.get<Uint8Array>(["history", idOf(at)])),
  );
  assertEquals(found.map(({ value }) => value?.[0]), Array.from({ length: 200 }, (_, at) => at));
  assert(lists() <= 4, `${lists()} reads`);
});

Deno.test("a reader that continues after its last record reads each record once, while logins are written", async () => {
  await using world = await open();
  const { store } = world;
  const marks = () => [];
  const clock = { nowMs: () => world.nowMs };
  const read: string[] = [];
  let position = { upTo: auditIdAt(START_MS - 1), nodes: {} };
  let isWriting = true;
  const writing = (async () => {
    for (let at = 0; at < 40; at++) {
      const mutations = at % 3 === 0
        ? [auditEntry({ action: "pairing.add", actor: "grace" })]
        : [login(`u${at}`)];
      await Promise.all(Array.from({ length: at }, () => store.commit({ mutations })));
      world.nowMs += at;
    }
  })().finally(() => isWriting = false);
  for (let isLast = false; !isLast;) {
    isLast = !isWriting;
    for (let isEnd = false; !isEnd;) {
      const page = await readLogPage({ store, clock, marks }, position, { limit: 7 });
      read.push(...page.records.map(({ id }) => id));
      ({ isEnd } = page);
      position = page.position as typeof position;
    }
  }
  await writing;
  assertEquals(read, await idsOf(store, ["audit"]));
  assertEquals(read.length, 39 * 40 / 2);
});

Deno.test("a range of several tables has keys, not records", async () => {
  await using world = await open();
  const mutations = [
    historyMutation(`${auditIdAt(START_MS)}1`, new Uint8Array(9)),
    login("ada"),
    login("bob"),
  ];
  await world.store.commit({ mutations });
  await world.store.indexAudit({ all: true });
  const ranges: [Deno.KvKey, Deno.KvKey][] = [[[], [true]], [["audit"], ["audit\0"]], [["audit_by"], [
    "history\0",
  ]]];
  for (const [start, end] of ranges) {
    assertEquals(
      (await Array.fromAsync(world.store.range({ start, end }))).map(({ key }) => key),
      await Array.fromAsync(world.kv.list({ start, end }), ({ key }) => key),
    );
  }
});

Deno.test("a damaged block hides none of the others", async () => {
  await using world = await open();
  await world.store.commit({ mutations: [login("ada")] });
  const entry = (await Array.fromAsync(world.kv.list<Uint8Array>({ prefix: ["audit"] })))[0];
  if (entry === undefined) throw new Error("no block was written");
  const id = String(entry.key[1]);
  for (
    const octets of [entry.value.slice(0, 9), new Uint8Array(300), new Uint8Array([0, 3, 65, 10, 66]), "text"]
  ) {
    await world.kv.set(["audit", `${auditIdAt(START_MS - 5)}x`, "block"], octets);
    assertEquals(await idsOf(world.store, ["audit"]), [id]);
    assertEquals(await idsOf(world.store, auditIndexKey("object", "user:ada")), [id]);
  }
  assertEquals((await world.store.get(auditKey(`${auditIdAt(START_MS - 5)}x`))).value, null);
});
