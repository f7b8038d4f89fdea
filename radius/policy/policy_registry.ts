// The stored policies: one record with the ordered list, so that a new order applies at once and every node sees all of a change or nothing.

import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import { NO_POLICIES, PolicyEvaluator } from "./evaluator.ts";
import type { Policy, PolicyList, PolicyListChange } from "./policy.ts";
import { readPolicies } from "./read_policy.ts";

export type PolicyChangeResult =
  | { readonly ok: true; readonly list: PolicyList }
  | { readonly ok: false; readonly reason: "changed" | "too_large" }
  | { readonly ok: false; readonly reason: "bad"; readonly detail: string };

const PREFIX = ["policy"];
const KEY = [...PREFIX, "list"];
/** Deno KV stores at most 64 KiB in a value. */
const MAX_OCTETS = 60_000;
const EMPTY: PolicyList = { version: 0, policies: [] };
const utf8 = new TextEncoder();

export class PolicyRegistry {
  readonly #store: Store;
  #list: PolicyList = EMPTY;
  #evaluator: PolicyEvaluator = NO_POLICIES;

  constructor({ store }: { store: Store }) {
    this.#store = store;
    store.follow(PREFIX, (entry) => this.#apply(entry));
  }

  /** @throws TypeError if the stored policies cannot be read: without them, a login could be accepted that a policy denies */
  async load(): Promise<void> {
    this.#apply(await this.#store.get(KEY));
  }

  get list(): PolicyList {
    return this.#list;
  }

  /** The policies that apply to the next packet. */
  get current(): PolicyEvaluator {
    return this.#evaluator;
  }

  /** The last change of the stored list, by any node; `null` if none is known. */
  async lastChange(): Promise<PolicyListChange | null> {
    return readList((await this.#store.get<unknown>(KEY)).value)?.changed ?? null;
  }

  /**
   * Replaces the list.
   *
   * @param change.version the version that the change is based on
   * @param change.audit the records of the change
   */
  async replace(
    policies: readonly Policy[],
    { version, audit, changed }: {
      version: number;
      audit: readonly Mutation[];
      changed?: PolicyListChange;
    },
  ): Promise<PolicyChangeResult> {
    const read = readPolicies(policies);
    if (!read.ok) return { ok: false, reason: "bad", detail: read.problem };
    const value = utf8.encode(JSON.stringify({ version: version + 1, policies: read.value, changed }));
    if (value.length > MAX_OCTETS) return { ok: false, reason: "too_large" };
    const entry = await this.#store.get<unknown>(KEY);
    // A list that this version cannot read was written by a newer one: it must not be replaced.
    const stored = entry.value === null ? EMPTY : readList(entry.value);
    if (stored?.version !== version) return { ok: false, reason: "changed" };
    const { ok } = await this.#store.commit({
      checks: [{ key: KEY, versionstamp: entry.versionstamp }],
      mutations: [{ type: "set", key: KEY, value }, ...audit],
    });
    if (!ok) return { ok: false, reason: "changed" };
    this.#use({ version: version + 1, policies: read.value, changed });
    return { ok: true, list: this.#list };
  }

  /** If the record cannot be read, the policies in memory stay. */
  #apply({ value }: StoreEntry<unknown>): void {
    const list = value === null ? EMPTY : readList(value);
    if (list === null) {
      throw new TypeError("the policies cannot be read: start the version of Countersign that wrote them");
    }
    this.#use(list);
  }

  #use(list: PolicyList): void {
    this.#list = list;
    this.#evaluator = new PolicyEvaluator(list.policies);
  }
}

function readList(value: unknown): PolicyList | null {
  if (!(value instanceof Uint8Array)) return null;
  try {
    const { version, policies, changed } = JSON.parse(new TextDecoder().decode(value));
    const read = readPolicies(policies);
    if (typeof version !== "number" || !read.ok) return null;
    const isChange = typeof changed?.by === "string" && typeof changed.atMs === "number";
    return { version, policies: read.value, changed: isChange ? changed : undefined };
  } catch (_notJson) {
    return null;
  }
}
