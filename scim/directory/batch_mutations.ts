// The mutations of one batch with their size: keys, counted indexes, changes of other modules, and checks.

import type { Check, Mutation, Transaction } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { IndexDraft } from "./counted_index.ts";
import type { Indexes } from "./indexes.ts";
import { hasSameWords, indexedWords, type ResourceRecord } from "./records.ts";
import { hasSameValues, indexedValues } from "./value_keys.ts";

/** The approximate size of a small value in the store, with its key. */
export const SMALL_VALUE_OCTETS = 100;
/** A later merge writes a value for each changed entry, so a commit may not have too many of them. */
const LOG_OCTETS_PER_MUTATION = 1000;

/** Where a record is. */
export interface RecordName {
  readonly kind: ResourceKind;
  readonly canonical: string;
}

/** A record before and after a write. `null`: it does not exist. */
interface RecordChange {
  readonly before: ResourceRecord | null;
  readonly after: ResourceRecord | null;
}

/** Later changes of a key replace earlier ones. */
export class BatchMutations {
  /** Changes of names, by kind of resource. */
  readonly names: Readonly<Record<ResourceKind, IndexDraft>>;
  /** Changes of search words, by kind of resource. */
  readonly words: Readonly<Record<ResourceKind, IndexDraft>>;
  /** Changes of values, by kind of resource. */
  readonly values: Readonly<Record<ResourceKind, IndexDraft>>;
  /** Changes of tombstones. */
  readonly tombstones: IndexDraft;
  readonly #drafts: readonly IndexDraft[];
  readonly #own = new Map<string, Mutation>();
  readonly #foreign: Mutation[] = [];
  readonly #checks = new Map<string, Check>();
  #octets = 0;

  constructor({ names, words, values, tombstones }: Indexes) {
    this.names = { user: names.user.draft(), group: names.group.draft() };
    this.words = { user: words.user.draft(), group: words.group.draft() };
    this.values = { user: values.user.draft(), group: values.group.draft() };
    this.tombstones = tombstones.draft();
    this.#drafts = [
      ...[this.names.user, this.names.group, this.words.user, this.words.group],
      ...[this.values.user, this.values.group, this.tombstones],
    ];
  }

  set(key: Deno.KvKey, value: unknown, sizeOctets = SMALL_VALUE_OCTETS): void {
    this.#own.set(key.join("\0"), { type: "set", key, value });
    this.#octets += sizeOctets;
  }

  remove(key: Deno.KvKey): void {
    this.#own.set(key.join("\0"), { type: "delete", key });
    this.#octets += SMALL_VALUE_OCTETS;
  }

  /** Adds changes of other modules unchanged. */
  also(mutations: readonly Mutation[]): void {
    this.#foreign.push(...mutations);
    this.#octets += mutations.reduce((sum, mutation) => sum + estimateOctets(mutation), 0);
  }

  /** Keeps the search words of a record current. */
  changeWords({ kind, canonical }: RecordName, { before, after }: RecordChange): void {
    if (hasSameWords(before, after)) return;
    const entries = { before: indexedWords(kind, before), after: indexedWords(kind, after) };
    draftEntries({ draft: this.words[kind], canonical }, entries);
  }

  /** Keeps the indexed values of a record current. */
  changeValues({ kind, canonical }: RecordName, { before, after }: RecordChange): void {
    if (hasSameValues(before, after)) return;
    const entries = { before: indexedValues(kind, before), after: indexedValues(kind, after) };
    draftEntries({ draft: this.values[kind], canonical }, entries);
  }

  check(check: Check): void {
    this.#checks.set(check.key.join("\0"), check);
  }

  get count(): number {
    return this.#own.size + this.#foreign.length + Math.ceil(this.#logOctets / LOG_OCTETS_PER_MUTATION);
  }

  get checkCount(): number {
    return this.#checks.size;
  }

  get sizeOctets(): number {
    return this.#octets + this.#logOctets;
  }

  /** All changes so far as one transaction. */
  toTransaction(): Transaction {
    return {
      checks: [...this.#checks.values()],
      mutations: [
        ...this.#own.values(),
        ...this.#foreign,
        ...this.#drafts.flatMap((draft) => draft.mutations()),
      ],
      sizeOctets: this.sizeOctets,
    };
  }

  /** Updates the indexes in memory. Call it when the transaction is durable. */
  applyIndexes(): void {
    for (const draft of this.#drafts) draft.apply();
  }

  get #logOctets(): number {
    return this.#drafts.reduce((sum, { sizeOctets }) => sum + sizeOctets, 0);
  }
}

/** The approximate size of a change of another module. It only serves to keep a commit below its limit. */
function estimateOctets(mutation: Mutation): number {
  const value = mutation.type === "set" ? mutation.value : mutation.type === "audit" ? mutation.entry : null;
  return SMALL_VALUE_OCTETS + (value === null ? 0 : sizeOf(value, 6));
}

function sizeOf(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length * 2;
  if (value instanceof Uint8Array) return value.length;
  if (typeof value !== "object" || value === null || depth === 0) return 16;
  return Object.entries(value).reduce(
    (sum, [name, item]) => sum + name.length * 2 + sizeOf(item, depth - 1),
    16,
  );
}

/** Changes the entries of a resource in an index of words or values. The maps have the depth of each. */
function draftEntries(
  { draft, canonical }: { draft: IndexDraft; canonical: string },
  { before: oldEntries, after: newEntries }: {
    before: ReadonlyMap<string, number>;
    after: ReadonlyMap<string, number>;
  },
): void {
  for (const [entry, depth] of oldEntries) {
    if (newEntries.get(entry) !== depth) draft.remove(`${entry}\0${canonical}`, depth);
  }
  for (const [entry, depth] of newEntries) {
    if (oldEntries.get(entry) !== depth) draft.add(`${entry}\0${canonical}`, depth);
  }
}
