// Reads resources: one by its name, a page by its rank, or all in bounded steps.

import type { Store } from "../../platform/store.ts";
import type { Page, PageOptions } from "../ports.ts";
import type { ResourceKind, Stored } from "../schema/resource.ts";
import type { NameIndexes } from "./indexes.ts";
import type { Keys } from "./keys.ts";
import { type MemberSets, NO_MEMBERS } from "./member_sets.ts";
import { joinParts, type KeptRecord, readRecord, storedOf } from "./records.ts";

export interface ReaderDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly indexes: NameIndexes;
  readonly memberSets: MemberSets;
}

export interface NamedRecord {
  readonly canonical: string;
  readonly record: KeptRecord;
}

export interface Reader {
  read(kind: ResourceKind, canonical: string): Promise<Stored | null>;
  /** Several at once, in the order asked; who is gone is left out. */
  readMany(kind: ResourceKind, canonicals: readonly string[]): Promise<Stored[]>;
  record(kind: ResourceKind, canonical: string): Promise<KeptRecord | null>;
  page(kind: ResourceKind, options: PageOptions): Promise<Page>;
  all(kind: ResourceKind): AsyncGenerator<Stored>;
}

/** How many resources a step of {@link Reader.all} reads. */
const STEP = 200;
const MAX_TRIES = 5;

export function createReader({ store, keys, indexes, memberSets }: ReaderDeps): Reader {
  const record = async (kind: ResourceKind, canonical: string): Promise<KeptRecord | null> => {
    if (!indexes.names[kind].mayHave(canonical)) return null;
    return (await readRecord({ store, keys }, { kind, canonical }))?.record ?? null;
  };
  /** `null` when the group went meanwhile. */
  const complete = async (kind: ResourceKind, found: NamedRecord): Promise<Stored | null> => {
    if (kind === "user") return storedOf(kind, found.record, NO_MEMBERS);
    let current: KeptRecord | null = found.record;
    for (let tries = 0; tries < MAX_TRIES && current !== null; tries++) {
      const { setId }: KeptRecord = current;
      const members = await memberSets.load(setId);
      if (memberSets.has(setId)) return storedOf(kind, current, members);
      // It was read from the store: the group may have been given another set, and this one may be half swept away.
      current = await record(kind, found.canonical);
      if (current?.setId === setId) return storedOf(kind, current, members);
    }
    if (current === null) return null;
    throw new Error(`Cannot read the group "${found.canonical}": it is written all the time`);
  };
  const read = async (kind: ResourceKind, canonical: string): Promise<Stored | null> => {
    const found = await record(kind, canonical);
    return found === null ? null : await complete(kind, { canonical, record: found });
  };

  /** The records from `start` on, in order of name; at most `limit`. */
  const from = async (
    kind: ResourceKind,
    { start, skip, limit }: { start: Deno.KvKey; skip: number; limit: number },
  ): Promise<NamedRecord[]> => {
    const selector = { start, end: keys.recordsEnd(kind) };
    const heads: NamedRecord[] = [];
    let at = 0;
    for await (const { key, value } of store.range<KeptRecord>(selector, { limit: skip + limit })) {
      if (at++ < skip || value === null) continue;
      heads.push({ canonical: String(key[2]), record: value });
    }
    const whole = await Promise.all(heads.map(async ({ canonical, record: head }) => {
      const joined = head.parts === ""
        ? head
        : await joinParts({ store, keys }, { kind, canonical, head }) ?? await record(kind, canonical);
      return joined === null ? [] : [{ canonical, record: joined }];
    }));
    return whole.flat();
  };
  const completeAll = async (kind: ResourceKind, found: readonly NamedRecord[]): Promise<Stored[]> => {
    const whole: Stored[] = [];
    for (const one of found) {
      const stored = await complete(kind, one);
      if (stored !== null) whole.push(stored);
    }
    return whole;
  };

  return {
    read,
    record,
    async readMany(kind, canonicals) {
      const found = await Promise.all(canonicals.map((canonical) => read(kind, canonical)));
      return found.filter((stored) => stored !== null);
    },
    async page(kind, { page, size }) {
      const { total } = indexes.names[kind];
      const first = (page - 1) * size;
      if (first >= total) return { total, startIndex: first + 1, resources: [] };
      const { bound, skip } = indexes.names[kind].seek(first);
      const found = await from(kind, { start: keys.record(kind, bound), skip, limit: size });
      return { total, startIndex: first + 1, resources: await completeAll(kind, found) };
    },
    async *all(kind) {
      let start = keys.records(kind);
      for (let left = Infinity; left > 0;) {
        const found = await from(kind, { start, skip: 0, limit: STEP });
        for (const one of found) {
          // One by one: the members of two hundred groups need not be in memory together.
          const stored = await complete(kind, one);
          if (stored !== null) yield stored;
        }
        left = found.length;
        // Just after the last one.
        start = keys.record(kind, `${found.at(-1)?.canonical ?? ""}\0`);
      }
    },
  };
}
