// The delivery to a receiver that a test controls: repetition after failures, the bound of the backlog, and stops.

import { assert, assertEquals } from "@std/assert";
import { auditEntry } from "../../../platform/audit.ts";
import { auditIdAt } from "../../../platform/log_blocks.ts";
import { NO_LEASE } from "../../../platform/cluster/lease.ts";
import { createLog } from "../../../platform/log.ts";
import { Delivery } from "../../../platform/log_export/delivery.ts";
import { cursorKey, type DestinationCursor } from "../../../platform/log_export/destination.ts";
import {
  DESTINATION_DEFAULTS,
  type DestinationSettings,
} from "../../../platform/log_export/destination_choices.ts";
import { toEcsRecord } from "../../../platform/log_export/ecs_fields.ts";
import { ChannelFault, type LogChannel } from "../../../platform/log_export/log_channel.ts";
import {
  type ExportPosition,
  followNodes,
  type NodeMark,
  positionAt,
  readLogPage,
} from "../../../platform/log_export/record_reader.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import fc from "../../packages/fast_check.ts";
import { createManualClock, eventually, type ManualClock } from "../../upstream/manual_clock.ts";

const HOUR_MS = 3_600_000;

/** A receiver that loses what is not confirmed. */
class Receiver {
  confirmed: string[] = [];
  problem: ChannelFault | null = null;
  /** The object of a record that is refused for its content. */
  poison = "";
  confirmAfterMs = 0;
  opened = 0;

  open(): LogChannel {
    this.opened++;
    let sent: string[] = [];
    const fail = () => {
      if (this.problem !== null) throw this.problem;
    };
    return {
      confirmAfterMs: this.confirmAfterMs,
      send: (records, { leavesOutRefused }) =>
        Promise.resolve().then(() => {
          fail();
          const refused = records.filter((fields) => String(fields["countersign.object"]) === this.poison);
          if (refused.length > 0 && !leavesOutRefused) throw new ChannelFault("refused", "HTTP 400");
          const others = records.filter((one) => !refused.includes(one));
          sent.push(...others.map((fields) => String(fields["countersign.object"])));
          if (this.confirmAfterMs === 0) this.confirmed.push(...sent.splice(0));
          return refused.map((fields) => String(fields["event.id"]));
        }),
      confirm: () =>
        Promise.resolve().then(() => {
          fail();
          this.confirmed.push(...sent.splice(0));
        }),
      close: () => void (sent = []),
    };
  }
}

interface Scene {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly receiver: Receiver;
  readonly logged: string[];
  record(name: string): Promise<void>;
  /** Starts a delivery at the stored position, as after a restart. */
  start(): Promise<Delivery>;
  /** Advances the clock until it is so. */
  until(what: string, hasHappened: () => boolean, stepMs?: number): Promise<void>;
  cursor(): Promise<DestinationCursor>;
}

async function open(settings: Partial<DestinationSettings> = {}): Promise<Scene & AsyncDisposable> {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const receiver = new Receiver();
  const logged: string[] = [];
  const write = (lines: Uint8Array) => void logged.push(...new TextDecoder().decode(lines).split("\n"));
  const log = createLog({ format: "text", level: "info", clock, write });
  const position = positionAt(clock.nowMs() - HOUR_MS * 24 * 365, []);
  const first: DestinationCursor = {
    ...{ position, sent: 0, skipped: 0, lastSentMs: null, problem: null },
    backlog: { count: 0, position, oldestMs: null },
  };
  const cursor = async () => (await store.get<DestinationCursor>(cursorKey("siem"))).value ?? first;
  const deliveries: Delivery[] = [];
  return {
    ...{ store, clock, receiver, logged, cursor },
    async record(name) {
      await store.commit({
        mutations: [auditEntry({ action: "user.created", actor: "scim:hr", object: name })],
      });
    },
    async start() {
      const delivery = new Delivery({
        ...{ store, clock, log, lease: NO_LEASE, name: "siem" },
        random: { bytes: (length) => new Uint8Array(length) },
        settings: { ...DESTINATION_DEFAULTS, ...settings },
        marks: () => [],
        openChannel: () => receiver.open(),
        toFields: (records) =>
          Promise.resolve(
            records.map((one) => toEcsRecord(one, { observer: { hostName: "gate", version: "0" } })),
          ),
        retentionMs: () => 90 * 24 * HOUR_MS,
        onLost: () => undefined,
      }, await cursor());
      deliveries.push(delivery);
      delivery.start();
      return delivery;
    },
    async until(what, hasHappened, stepMs = 100) {
      await eventually(what, () => {
        clock.advance(stepMs);
        return hasHappened();
      });
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(deliveries.map((one) => one.stop({ keepsPosition: true })));
      await store.close();
    },
  };
}

Deno.test("records are delivered in order, and the position is stored", async () => {
  await using scene = await open();
  const { receiver } = scene;
  for (const name of ["user:a", "user:b"]) await scene.record(name);
  const delivery = await scene.start();
  await scene.until("both are there", () => receiver.confirmed.length === 2);
  await scene.record("user:c");
  await scene.until("the third is there", () => receiver.confirmed.length === 3);
  await delivery.stop({ keepsPosition: true });
  await scene.record("user:d");
  const again = await scene.start();
  await scene.until("the fourth is there", () => receiver.confirmed.length === 4);
  assertEquals(receiver.confirmed, ["user:a", "user:b", "user:c", "user:d"]);
  assertEquals([again.state.sent, again.state.problem], [4, null]);
});

Deno.test("only the chosen kinds are sent", async () => {
  await using scene = await open({ records: ["logins"] });
  const { receiver, store } = scene;
  await scene.record("user:a");
  await store.commit({
    mutations: [auditEntry({ action: "login.accepted", actor: "radius", object: "user:b" })],
  });
  await scene.start();
  await scene.until("the login is there", () => receiver.confirmed.length > 0);
  assertEquals(receiver.confirmed, ["user:b"]);
});

Deno.test("while the receiver fails, records wait and are counted; afterwards all are sent", async () => {
  await using scene = await open();
  const { receiver, logged } = scene;
  receiver.problem = new ChannelFault("unreachable", "connection refused");
  await scene.record("user:a");
  const delivery = await scene.start();
  await scene.until("the problem is known", () => delivery.state.problem !== null);
  assertEquals(delivery.state.problem?.code, "unreachable");
  for (const name of ["user:b", "user:c"]) await scene.record(name);
  await scene.until("all are counted", () => delivery.state.backlog.count === 3, 10_000);
  receiver.problem = null;
  await scene.until("all are there", () => receiver.confirmed.length === 3, 1000);
  assertEquals(receiver.confirmed, ["user:a", "user:b", "user:c"]);
  assertEquals([delivery.state.problem, delivery.state.backlog.count], [null, 0]);
  const lines = logged.filter((line) => /log export/.test(line));
  assertEquals(lines.map((line) => /cannot deliver|works again/.exec(line)?.[0]), [
    "cannot deliver",
    "works again",
  ]);
});

Deno.test("what was sent and not confirmed is sent again", async () => {
  await using scene = await open();
  const { receiver } = scene;
  receiver.confirmAfterMs = 15_000;
  await scene.record("user:a");
  const delivery = await scene.start();
  await scene.until("the connection is open", () => receiver.opened === 1);
  receiver.problem = new ChannelFault("connection_lost", "the receiver ended the connection");
  await scene.until("it failed", () => delivery.state.problem !== null, 1000);
  assertEquals(receiver.confirmed, []);
  receiver.problem = null;
  await scene.until("it is there", () => receiver.confirmed.length === 1, 1000);
  assertEquals(delivery.state.sent, 1);
});

Deno.test("a crash before the confirmation repeats records, and loses none", async () => {
  await using scene = await open();
  const { receiver } = scene;
  receiver.confirmAfterMs = 15_000;
  await scene.record("user:a");
  const crashed = await scene.start();
  await scene.until("the connection is open", () => receiver.opened === 1);
  await crashed.stop({ keepsPosition: false });
  await scene.start();
  await scene.until("it is there", () => receiver.confirmed.length === 1, 1000);
});

Deno.test("records beyond the age are skipped, counted, recorded, and reported to the destination", async () => {
  await using scene = await open({ records: ["logins"], maxHours: 2 });
  const { receiver, clock, store } = scene;
  receiver.problem = new ChannelFault("unreachable", "connection refused");
  const login = (object: string) =>
    store.commit({ mutations: [auditEntry({ action: "login.accepted", actor: "radius", object })] });
  await login("user:old");
  const delivery = await scene.start();
  await scene.until("the problem is known", () => delivery.state.problem !== null);
  clock.advance(3 * HOUR_MS);
  await login("user:new");
  await scene.until("the old one is skipped", () => delivery.state.skipped > 0, 1000);
  receiver.problem = null;
  await scene.until("the report is there", () => receiver.confirmed.length === 2, 1000);
  assertEquals(receiver.confirmed, ["user:new", "log-export:siem"]);
  assertEquals(delivery.state.skipped, 1);
  const audits = await Array.fromAsync(store.list<Record<string, unknown>>(["audit"]), ({ value }) => value);
  const skipped = audits.find((value) => value?.action === "log_export.skipped");
  assertEquals([skipped?.count, skipped?.actor], [1, "gateway"]);
});

Deno.test("of a backlog beyond its size, whole pages of the oldest records are skipped", async () => {
  await using scene = await open({ maxRecords: 1000 });
  const { receiver, store } = scene;
  receiver.problem = new ChannelFault("unreachable", "connection refused");
  const mutations = Array.from(
    { length: 100 },
    (_, at) => auditEntry({ action: "user.created", actor: "scim:hr", object: `user:${at}` }),
  );
  for (let commits = 0; commits < 17; commits++) await store.commit({ mutations });
  const delivery = await scene.start();
  await scene.until("the oldest are skipped", () => delivery.state.skipped > 0, 1000);
  assertEquals([delivery.state.skipped, delivery.state.backlog.count], [600, 1100]);
  receiver.problem = null;
  await scene.until("the others are there", () => receiver.confirmed.length === 1101, 1000);
  assertEquals(receiver.confirmed.at(-1), "log-export:siem");
});

Deno.test("a record that the receiver refuses is left out after several tries, counted, and recorded", async () => {
  await using scene = await open();
  const { receiver, clock, store } = scene;
  receiver.poison = "user:bad";
  for (const name of ["user:a", "user:bad", "user:b"]) await scene.record(name);
  const delivery = await scene.start();
  await scene.until("the problem is known", () => delivery.state.problem !== null);
  assertEquals([delivery.state.problem?.code, receiver.confirmed], ["refused", []]);
  const startMs = clock.nowMs();
  await scene.until("the others are there", () => receiver.confirmed.length === 3, 1000);
  assertEquals(receiver.confirmed, ["user:a", "user:b", "log-export:siem"]);
  const tookS = (clock.nowMs() - startMs) / 1000;
  assertEquals(tookS > 20 && tookS < 120, true, `${tookS} s`);
  // The next one is left out at once.
  await scene.record("user:bad");
  await scene.record("user:c");
  await scene.until("the next one is left out", () => receiver.confirmed.length === 5);
  assertEquals([receiver.confirmed.slice(3), delivery.state.problem], [["user:c", "log-export:siem"], null]);
  await delivery.stop({ keepsPosition: true });
  const { sent, skipped, problem } = await scene.cursor();
  assertEquals([sent, skipped, problem], [5, 2, null]);
  const audits = await Array.fromAsync(store.list<Record<string, unknown>>(["audit"]), ({ value }) => value);
  const records = audits.filter((value) => value?.action === "log_export.skipped");
  assertEquals(records.map((value) => [value?.count, value?.because, value?.from === value?.to]), [
    [1, "receiver_refused", true],
    [1, "receiver_refused", true],
  ]);
});

Deno.test("a receiver that refuses the report about refused records causes no further report", async () => {
  await using scene = await open();
  const { receiver, store } = scene;
  receiver.poison = "log-export:siem";
  const object = receiver.poison;
  await store.commit({
    mutations: [auditEntry({ action: "log_export.skipped", actor: "gateway", object })],
  });
  await scene.record("user:a");
  const delivery = await scene.start();
  await scene.until("the other one is there", () => receiver.confirmed.length === 1, 1000);
  await scene.record("user:b");
  await scene.until("the next one is there", () => receiver.confirmed.length === 2, 1000);
  await delivery.stop({ keepsPosition: true });
  const audits = await Array.fromAsync(store.list<Record<string, unknown>>(["audit"]), ({ value }) => value);
  assertEquals(audits.map((value) => value?.action), ["log_export.skipped", "user.created", "user.created"]);
  assertEquals(delivery.state.skipped, 1);
});

Deno.test("a paused destination keeps its bound", async () => {
  await using scene = await open({ isPaused: true, maxHours: 1 });
  const { receiver, clock } = scene;
  await scene.record("user:old");
  const delivery = await scene.start();
  await scene.until("it waits", () => delivery.state.backlog.count === 1, 1000);
  clock.advance(2 * HOUR_MS);
  await scene.until("it is skipped", () => delivery.state.skipped === 1, 10_000);
  assertEquals(receiver.opened, 0);
});

// The position in the audit log of several nodes: no record is skipped, whatever the order in which the nodes commit.

const START_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

/** A node of the simulation: its ids grow, and its commits are made in order, perhaps late. */
class SimulatedNode {
  readonly name: string;
  readonly firstMark: string;
  readonly #skewMs: number;
  #last = "";
  /** Records that have ids and are not committed, and marks between them. */
  readonly #queue: ({ id: string } | { mark: string })[] = [];
  isAlive = true;
  mark: string;

  constructor(name: string, { skewMs, nowMs }: { skewMs: number; nowMs: number }) {
    this.name = name;
    this.#skewMs = skewMs;
    this.firstMark = this.mark = this.#nextId(nowMs);
  }

  record(nowMs: number): string {
    const id = this.#nextId(nowMs);
    this.#queue.push({ id });
    return id;
  }

  beat(nowMs: number): void {
    this.#queue.push({ mark: this.#nextId(nowMs) });
  }

  /** Commits the first entries of the queue. */
  commit(count: number, log: Set<string>): void {
    for (const one of this.#queue.splice(0, count)) {
      if ("id" in one) log.add(one.id);
      else {
        this.mark = one.mark;
        this.isAlive = true;
      }
    }
  }

  #nextId(nowMs: number): string {
    const id = auditIdAt(nowMs + this.#skewMs) + this.name;
    const [tick, last] = [id.slice(0, 11), this.#last.slice(0, 11)];
    const next = tick > last ? id : nextTick(last) + this.name;
    return this.#last = next;
  }
}

function nextTick(ticks: string): string {
  return (Number.parseInt(ticks, 36) + 1).toString(36).padStart(11, "0");
}

/** The store of the simulation: only what the reader uses. */
function readerOn(log: Set<string>, nodes: readonly SimulatedNode[], clock: { nowMs: () => number }) {
  const marks = (): NodeMark[] =>
    nodes.map(({ name: node, isAlive, mark, firstMark }) => ({ node, isAlive, mark, firstMark }));
  const store = {
    catchUp: () => null,
    async *range<T>(
      { start, end }: { start: Deno.KvKey; end: Deno.KvKey },
      { limit = 500 }: { limit?: number } = {},
    ) {
      const ids = [...log].filter((id) => id > String(start[1]) && id < String(end[1])).sort().slice(
        0,
        limit,
      );
      for (const id of ids) {
        yield await Promise.resolve({ key: ["audit", id], value: { id } as T, versionstamp: "1" });
      }
    },
  };
  return {
    marks,
    read: (position: ExportPosition, limit: number, before?: string) =>
      readLogPage({ store, clock, marks }, position, { limit, before }),
  };
}

const STEP = fc.record({
  what: fc.constantFrom(
    "record",
    "record",
    "beat",
    "commit",
    "commit",
    "read",
    "bounded read",
    "silence",
    "join",
  ),
  node: fc.nat(3),
  count: fc.integer({ min: 1, max: 4 }),
});

Deno.test("every record is read, with skewed clocks, late commits, silent nodes and new ones", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(STEP, { maxLength: 120 }),
      fc.array(fc.integer({ min: -5000, max: 5000 }), { minLength: 4, maxLength: 4 }),
      async (steps, skews) => {
        let nowMs = START_MS;
        const clock = { nowMs: () => nowMs };
        const log = new Set<string>();
        const nodes = ["a", "b"].map((name, at) =>
          new SimulatedNode(name, { skewMs: skews[at] ?? 0, nowMs })
        );
        const reader = readerOn(log, nodes, clock);
        const all: string[] = [];
        const read = new Map<string, number>();
        let wasSilent = false;
        let position = positionAt(0, reader.marks());
        const readOn = async (limit: number, before?: string) => {
          const page = await reader.read(position, limit, before);
          position = page.position;
          for (const { id } of page.records) read.set(id, (read.get(id) ?? 0) + 1);
          return page;
        };
        for (const { what, node: at, count } of steps) {
          nowMs += 100;
          const node = nodes[at % nodes.length] as SimulatedNode;
          if (what === "record") all.push(node.record(nowMs));
          if (what === "beat") node.beat(nowMs);
          if (what === "commit") node.commit(count, log);
          if (what === "read") await readOn(count);
          if (what === "bounded read") await readOn(count, auditIdAt(nowMs - count * 200));
          if (what === "silence" && nodes.length > 1) {
            node.isAlive = false;
            wasSilent = true;
          }
          if (what === "join" && nodes.length < 4) {
            nodes.push(new SimulatedNode(`n${nodes.length}`, { skewMs: skews[nodes.length] ?? 0, nowMs }));
          }
        }
        for (const node of nodes) {
          node.beat(nowMs);
          node.commit(Infinity, log);
        }
        for (let passes = 0; passes < 2;) if ((await readOn(3)).isEnd) passes++;
        assertEquals(all.filter((id) => !read.has(id)), []);
        if (!wasSilent) assert([...read.values()].every((times) => times === 1), "a record was read twice");
      },
    ),
    { numRuns: 500, seed: 14 },
  );
});

Deno.test("a store of one process is read to its end, each record once", async () => {
  const log = new Set(Array.from({ length: 10 }, (_, at) => `${auditIdAt(START_MS + at)}x`));
  const { read } = readerOn(log, [], { nowMs: () => START_MS });
  let position = positionAt(START_MS + 2, []);
  const found: string[] = [];
  for (let isEnd = false; !isEnd;) {
    const page = await read(position, 3);
    found.push(...page.records.map(({ id }) => id));
    ({ position, isEnd } = page);
  }
  assertEquals(found, [...log].slice(2));
});

Deno.test("a node that ended is forgotten after fifteen minutes", () => {
  const mark = { node: "a", isAlive: true, mark: "5a", firstMark: "1a" };
  const running = followNodes({ upTo: "", nodes: {} }, [mark], START_MS);
  assertEquals(running.nodes, { a: { upTo: "1a" } });
  const silent = followNodes(running, [], START_MS);
  assertEquals(silent.nodes, { a: { upTo: "1a", from: "1a", silentMs: START_MS } });
  assertEquals(followNodes(silent, [], START_MS + 16 * MINUTE_MS).nodes, {});
});

Deno.test("a new destination begins with the next record of each node, also of one whose clock is behind", () => {
  const mark = (node: string, atMs: number): NodeMark => ({
    ...{ node, isAlive: true, mark: auditIdAt(atMs) + node, firstMark: auditIdAt(0) },
  });
  const { upTo, nodes } = positionAt(START_MS, [mark("a", START_MS + 1), mark("b", START_MS - 4000)]);
  assertEquals(upTo, auditIdAt(START_MS));
  assertEquals(nodes, { a: { upTo: auditIdAt(START_MS) }, b: { upTo: `${auditIdAt(START_MS - 4000)}b` } });
});
