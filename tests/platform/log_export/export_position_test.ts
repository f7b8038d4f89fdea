// The position in the audit log of several nodes: no record is skipped, whatever the order in which the nodes commit.

import { assert, assertEquals } from "@std/assert";
import { auditIdAt } from "../../../platform/audit.ts";
import {
  type ExportPosition,
  followNodes,
  type NodeMark,
  positionAt,
  readLogPage,
} from "../../../platform/log_export/record_reader.ts";
import fc from "../../packages/fast_check.ts";

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
