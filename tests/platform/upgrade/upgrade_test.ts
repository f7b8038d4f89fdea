// Migrations of the store: killed at every moment, beside nodes that write, and refused when nodes of an earlier version run. The sample
// migrations stand for those of later versions.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { BackupFault } from "../../../platform/backup/records.ts";
import type { KnownNode } from "../../../platform/cluster/nodes.ts";
import { createLog } from "../../../platform/log.ts";
import { systemClock } from "../../../platform/runtime.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import { type Migration, MIGRATIONS } from "../../../platform/upgrade/migrations.ts";
import {
  FORMAT_KEY,
  formatProblem,
  type FormatRecord,
  newestRecord,
  readFormat,
  StoreFormat,
} from "../../../platform/upgrade/store_format.ts";
import {
  followFormat,
  nodesBefore,
  startRollingUpgrade,
  type UpgradeDeps,
  upgradeStore,
} from "../../../platform/upgrade/upgrade.ts";
import { openNode } from "../../fakes/shared_store.ts";
import { createManualClock, eventually } from "../../upstream/manual_clock.ts";

const isText = (value: unknown): value is string => typeof value === "string";

/** Texts become lists, and then each entry moves to another table. */
const SAMPLES: readonly Migration[] = [
  ...MIGRATIONS,
  {
    to: 3,
    version: "0.4.0",
    reader: 3,
    tables: [
      { prefix: ["none"], convert: () => [] },
      {
        prefix: ["sample"],
        convert: ({ key, value }) => isText(value) ? [{ type: "set", key, value: [value] }] : [],
      },
    ],
  },
  {
    to: 4,
    version: "0.5.0",
    reader: 4,
    tables: [{
      prefix: ["sample"],
      convert: ({ key, value }) => [
        { type: "set", key: ["moved", ...key.slice(1)], value },
        { type: "delete", key },
      ],
    }],
  },
];
const KNOWN = 4;

const log = createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined });

interface Run {
  readonly deps: UpgradeDeps;
  /** The versions for which backups were made. */
  readonly backups: string[];
}

/** A process that opens the store. `onCommit` may end it. */
async function open(
  kv: Deno.Kv,
  { store = createStore(kv), onCommit = (commit) => commit(), lifetimeMs = 60_000, migrations = SAMPLES }: {
    store?: Store;
    onCommit?: (commit: () => ReturnType<Store["commit"]>) => ReturnType<Store["commit"]>;
    lifetimeMs?: number;
    migrations?: readonly Migration[];
  } = {},
): Promise<Run> {
  const backups: string[] = [];
  const known = migrations.at(-1)?.to ?? 1;
  const format = new StoreFormat(await readFormat(kv, "the store", { format: known }), known);
  const { isShared, reread } = store;
  const commit: Store["commit"] = (transaction) => onCommit(() => store.commit(transaction));
  const deps: UpgradeDeps = {
    ...{ store: { isShared, reread, commit }, kv, format, clock: systemClock, log, migrations },
    lifetimes: { auditRetentionMs: lifetimeMs, conversationTtlMs: lifetimeMs },
    backUp(version) {
      backups.push(version);
      return Promise.resolve(`/backups/before-${version}`);
    },
  };
  return { deps, backups };
}

async function fill(kv: Deno.Kv, entries: number): Promise<void> {
  const all = kv.atomic().set(["other"], "stays");
  for (let at = 0; at < entries; at++) all.set(["sample", at], `text ${at}`);
  await all.commit();
}

async function content(kv: Deno.Kv): Promise<[Deno.KvKey, unknown][]> {
  const entries = await Array.fromAsync(kv.list({ prefix: [] }), ({ key, value }) => [key, value] as const);
  return entries.filter(([[table]]) => ["moved", "other", "sample"].includes(String(table)))
    .map(([key, value]) => [[...key], value]);
}

const converted = (entries: number): [Deno.KvKey, unknown][] => [
  ...Array.from({ length: entries }, (_, at): [Deno.KvKey, unknown] => [["moved", at], [`text ${at}`]]),
  [["other"], "stays"],
];

class Killed extends Error {}

for (const isShared of [false, true]) {
  const entries = isShared ? 20 : 100;
  const openStore = async (kv: Deno.Kv, run: number) =>
    isShared ? (await openNode(kv, `node${run}`)).store : createStore(kv);

  Deno.test(`upgradeStore() continues after kill -9 at every commit; ${isShared ? "several nodes" : "a file"}`, async () => {
    let commits = 0;
    for (let at = 0; at === 0 || at <= commits; at++) {
      for (const isApplied of [false, true]) {
        using kv = await Deno.openKv(":memory:");
        await fill(kv, entries);
        let count = 0;
        const dying = await open(kv, {
          store: await openStore(kv, 0),
          async onCommit(commit) {
            if (++count === at) {
              if (isApplied) await commit();
              throw new Killed();
            }
            return await commit();
          },
        });
        const first = upgradeStore(dying.deps);
        if (at === 0) await first;
        else await assertRejects(() => first, Killed);
        if (at === 0) commits = count;
        const next = await open(kv, { store: await openStore(kv, 1) });
        await upgradeStore(next.deps);
        assertEquals(await content(kv), converted(entries));
        const { value } = await kv.get<FormatRecord>(FORMAT_KEY);
        assertEquals([value?.format, value?.reader, value?.needs, value?.cursor], [
          KNOWN,
          KNOWN,
          "0.5.0",
          null,
        ]);
        assertEquals(value?.backup.startsWith("/backups/before-0."), true);
        if (at === 0) break;
      }
    }
    assert(commits > 5, String(commits));
  });
}

Deno.test("upgradeStore() makes no second backup while a migration is in progress, and none without a migration", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 3);
  let count = 0;
  const { deps, backups } = await open(kv, {
    onCommit: (commit) => ++count === 3 ? Promise.reject(new Killed()) : commit(),
  });
  await assertRejects(() => upgradeStore(deps), Killed);
  assertEquals(backups, ["0.2.0"]);
  const next = await open(kv);
  await upgradeStore(next.deps);
  await upgradeStore(next.deps);
  assertEquals(next.backups, []);
});

Deno.test("upgradeStore() changes nothing if the backup fails", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 3);
  const { deps } = await open(kv);
  const backUp = () => Promise.reject(new BackupFault("no space"));
  await assertRejects(() => upgradeStore({ ...deps, backUp }), BackupFault, "no space");
  assertEquals((await kv.get(FORMAT_KEY)).value, null);
  assertEquals((await kv.get(["sample", 0])).value, "text 0");
});

Deno.test("upgradeStore() splits a commit that is too large, and keeps when an entry expires", async () => {
  using kv = await Deno.openKv(":memory:");
  const large = "x".repeat(60_000);
  for (let at = 0; at < 40; at++) await kv.set(["sample", at], large);
  const expiresMs = Date.now() + 1_000_000;
  await kv.set(["sent_passcode", "a"], { expiresMs, code: "old" });
  const written: (number | undefined)[] = [];
  const store = createStore(kv);
  const { deps } = await open(kv, {
    store: {
      ...store,
      commit(transaction) {
        for (const one of transaction.mutations) {
          if (one.type === "set" && one.key?.[0] === "sent_passcode") written.push(one.expireInMs);
        }
        return store.commit(transaction);
      },
    },
    migrations: [...SAMPLES.slice(0, 2), {
      ...{ to: 4, version: "0.5.0", reader: 4 },
      tables: [{
        prefix: ["sent_passcode"],
        convert: ({ key, value }) => [{ type: "set", key, value: { ...value as object, code: "new" } }],
      }],
    }],
  });
  await upgradeStore(deps);
  assertEquals((await kv.get(["sample", 39])).value, [large]);
  assertEquals((await kv.get<{ code: string }>(["sent_passcode", "a"])).value?.code, "new");
  assertEquals(written.length, 1);
  assert(Math.abs((written[0] ?? 0) - 1_000_000) < 60_000, String(written));
});

Deno.test("upgradeStore() converts what another node changes meanwhile, and its own memory follows", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 12);
  const [{ store: a }, { store: b }] = [await openNode(kv, "a"), await openNode(kv, "b")];
  const seen = new Map<string, unknown>();
  a.follow(["sample"], ({ key, value }) => void seen.set(String(key[1]), value));
  let count = 0;
  const { deps } = await open(kv, {
    store: a,
    migrations: SAMPLES.slice(0, 2),
    async onCommit(commit) {
      // The entry was read before, so its check fails.
      if (++count === 3) {
        await b.commit({ mutations: [{ type: "set", key: ["sample", 5], value: "changed" }] });
      }
      return await commit();
    },
  });
  await upgradeStore(deps);
  assertEquals((await kv.get(["sample", 5])).value, ["changed"]);
  assertEquals(seen.get("5"), ["changed"]);
});

const node = (name: string, format: number, rest: Partial<KnownNode> = {}): KnownNode => ({
  ...{
    node: name,
    name,
    version: `0.${format + 1}.0`,
    format,
    writes: format,
    startedMs: 0,
    radius: [],
    http: "",
  },
  ...{ beat: 1, writtenMs: 0, settings: "", publicKey: "", auditMark: "", firstAuditMark: "" },
  figures: { waiting: 0, requestsPerS: 0, rssOctets: 0, lagMs: 0, leases: [] },
  ...{ isSelf: false, isAlive: true, clockOffsetMs: 0 },
  ...rest,
});

const LEASE = {
  ...{ isHeld: true, check: null, claim: () => Promise.resolve(true), confirm: () => Promise.resolve() },
  run: <T>(task: () => Promise<T>) => task(),
  runIfHeld: <T>(task: () => Promise<T>) => task(),
};

Deno.test("nodesBefore() names the nodes that do not know a format, also those that stopped answering", () => {
  const nodes = [node("a", 2), node("b", 1), node("c", 1, { isAlive: false })];
  assertEquals(nodesBefore(nodes, 2), ["b (0.2.0)", "c (0.2.0)"]);
  assertEquals(nodesBefore(nodes, 1), []);
});

Deno.test("startRollingUpgrade() waits until no node of an earlier version is left", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 3);
  const { store } = await openNode(kv, "a");
  const { deps } = await open(kv, { store });
  let nodes = [node("a", KNOWN, { isSelf: true }), node("b", 1)];
  let passes = 0;
  const list = () => {
    passes++;
    return nodes;
  };
  const end = startRollingUpgrade({ ...deps, cluster: { list, openLease: () => LEASE } });
  await eventually("two passes", () => passes > 1);
  assertEquals((await kv.get(FORMAT_KEY)).value, null);
  nodes = [node("a", KNOWN, { isSelf: true })];
  await eventually(
    "the store is upgraded",
    () => deps.format.writes === KNOWN && deps.format.stored.record.cursor === null,
  );
  await end();
  assertEquals(await content(kv), converted(3));
});

Deno.test("startRollingUpgrade() notices that its own commit was applied although the answer was lost", async () => {
  for (const lost of [1, 2]) {
    using kv = await Deno.openKv(":memory:");
    await fill(kv, 3);
    const { store } = await openNode(kv, "a");
    let commits = 0;
    const clock = createManualClock();
    const { deps, backups } = await open(kv, {
      store,
      migrations: SAMPLES.slice(0, 2),
      async onCommit(commit) {
        const outcome = await commit();
        if (++commits === lost) throw new Error("the connection to the store is lost");
        return outcome;
      },
    });
    const list = () => [node("a", KNOWN, { isSelf: true })];
    const end = startRollingUpgrade({ ...deps, clock, cluster: { list, openLease: () => LEASE } });
    await eventually("the store is upgraded", () => {
      clock.advance(100);
      return deps.format.stored.record.format === 3;
    });
    await end();
    assertEquals(backups.length, lost === 1 ? 2 : 1);
    assertEquals((await kv.get(["sample", 2])).value, ["text 2"]);
  }
});

Deno.test("startRollingUpgrade() waits a minute after a backup that cannot be written", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 1);
  const { store } = await openNode(kv, "a");
  const clock = createManualClock();
  const { deps } = await open(kv, { store });
  let attempts = 0;
  const end = startRollingUpgrade({
    ...{
      ...deps,
      clock,
      cluster: { list: () => [node("a", KNOWN, { isSelf: true })], openLease: () => LEASE },
    },
    backUp: () => Promise.reject(new BackupFault(`no space ${++attempts}`)),
  });
  const startMs = clock.nowMs();
  await eventually("a second attempt", () => {
    if (attempts < 2) clock.advance(100);
    return attempts > 1;
  });
  await end();
  assert(clock.nowMs() - startMs > 50_000, String(clock.nowMs() - startMs));
});

Deno.test("startRollingUpgrade() converts nothing until every node writes the new form", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 3);
  const { store } = await openNode(kv, "a");
  const { deps } = await open(kv, { store, migrations: SAMPLES.slice(0, 2) });
  let other = node("b", KNOWN, { writes: 2 });
  let asked = 0;
  const list = () => {
    asked++;
    return [node("a", KNOWN, { isSelf: true }), other];
  };
  const end = startRollingUpgrade({ ...deps, cluster: { list, openLease: () => LEASE } });
  await eventually("the other node is asked twice", () => asked > 2);
  assertEquals((await kv.get<FormatRecord>(FORMAT_KEY)).value?.reader, 3);
  assertEquals((await kv.get(["sample", 0])).value, "text 0");
  other = { ...other, writes: 3 };
  await eventually("the store is upgraded", () => deps.format.stored.record.format === 3);
  await end();
  assertEquals((await kv.get(["sample", 0])).value, ["text 0"]);
});

Deno.test("followFormat() writes as another node says, and ends a program that is too old", async () => {
  using kv = await Deno.openKv(":memory:");
  const [{ store: a }, { store: b }] = [await openNode(kv, "a"), await openNode(kv, "b")];
  // A node logs what it follows itself.
  b.follow(FORMAT_KEY, () => undefined);
  const format = new StoreFormat(await readFormat(kv, "the store"), KNOWN);
  const problems: string[] = [];
  followFormat(a, {
    format,
    problemOf: (value) => formatProblem(value, "the store", { format: KNOWN }),
    onOutdated: (problem) => void problems.push(problem),
  });
  const write = async (value: FormatRecord) => {
    await b.commit({ mutations: [{ type: "set", key: FORMAT_KEY, value }] });
    await a.catchUp();
  };
  await write(record({ format: 2, reader: 3, cursor: { table: 0, after: null, entries: 0 } }));
  assertEquals([format.writes, problems], [3, []]);
  await write(record({ format: 5, reader: 5, needs: "0.6.0" }));
  assertEquals([format.writes, problems.length], [3, 1]);
  assert(problems[0]?.includes("Install version 0.6.0 or later"));
});

const record = (fields: Partial<FormatRecord>): FormatRecord => ({ ...newestRecord(0, SAMPLES), ...fields });

/** The record, the format that the program knows, and a part of the refusal; `null`: it may use the store. */
const REFUSALS: readonly (readonly [title: string, value: unknown, known: number, refusal: string | null])[] =
  [
    ["no record: a store of version 0.2", null, 2, null],
    ["the same format", record({}), KNOWN, null],
    ["a later format that this program can read", record({ reader: 2 }), 2, null],
    ["a later format", record({ needs: "0.5.0" }), 2, "Install version 0.5.0 or later, or restore a backup"],
    [
      "a later format with a backup",
      record({ backup: "gw1:/b/before" }),
      2,
      "the backup that the upgrade made, gw1:/b/before:",
    ],
    [
      "a migration to a later format in progress",
      record({ format: 2, reader: 3 }),
      2,
      "upgraded it to format 3",
    ],
    ["no format", {}, 2, "the record of its format is damaged"],
    ["a text", "2", 2, "the record of its format is damaged"],
    ["format 0", record({ format: 0 }), 2, "the record of its format is damaged"],
  ];

for (const [title, value, format, refusal] of REFUSALS) {
  Deno.test(`formatProblem(): ${title}`, () => {
    const problem = formatProblem(value, "/data/countersign.kv", { format });
    assertEquals(problem?.includes(refusal ?? "") ?? null, refusal === null ? null : true, problem ?? "");
  });
}

Deno.test("the formats have no gap, and each row names its version", () => {
  for (const [at, { to, reader, version }] of MIGRATIONS.entries()) {
    assertEquals(to, at + 2);
    assert(reader <= to && /^\d+\.\d+\.\d+$/.test(version));
  }
});
