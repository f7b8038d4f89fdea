// The stored policies: one record with the ordered list, so that a new order applies at once and every node sees all of a change or nothing.

import { auditEntry } from "../../platform/audit.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import { NO_CHANGE, type PreparedRename, type Rename } from "../../platform/write_batch.ts";
import { NO_POLICIES, PolicyEvaluator } from "./evaluator.ts";
import type { Policy, PolicyConditions, PolicyList, PolicyListChange } from "./policy.ts";
import { readPolicies } from "./read_policy.ts";

type PolicyChangeResult =
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
  #named = namesIn(EMPTY);

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

  /** Whether a condition names a user or group (canonical). A disabled policy counts, too, because it can be enabled. */
  names(kind: Rename["kind"], canonical: string): boolean {
    return this.#named[kind].has(canonical);
  }

  /** Whether a condition names any group. */
  get namesGroups(): boolean {
    return this.#named.group.size > 0;
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

  /** Prepares the change of the policies that name a renamed user or group. @throws RangeError if the list becomes too large */
  async prepareRename({ kind, from, name }: Rename): Promise<PreparedRename> {
    const isNamed = this.#list.policies.some((policy) => renamedIn(policy, { kind, from, name }) !== policy);
    if (!isNamed) return NO_CHANGE;
    const { key, value, versionstamp } = await this.#store.get<unknown>(KEY);
    const stored = readList(value);
    if (stored === null) throw new TypeError("Cannot rename in the policies: they cannot be read");
    const policies = stored.policies.map((policy) => renamedIn(policy, { kind, from, name }));
    const changed = policies.filter((policy, at) => policy !== stored.policies[at]);
    const list: PolicyList = { ...stored, version: stored.version + 1, policies };
    const encoded = utf8.encode(JSON.stringify(list));
    if (encoded.length > MAX_OCTETS) {
      throw new RangeError("Cannot rename in the policies: they become too large");
    }
    const records = changed.map((policy) =>
      auditEntry({ actor: "radius", action: "policy.change", object: `policy:${policy.name}`, to: name })
    );
    return {
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: encoded }, ...records],
      done: () => this.#use(list),
      undo: () => undefined,
    };
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
    this.#named = namesIn(list);
  }
}

/** The lists of a policy that name resources of a kind. */
const NAMED_IN = {
  user: ["users", "exceptUsers"],
  group: ["groups", "exceptGroups"],
} as const satisfies Record<Rename["kind"], readonly (keyof PolicyConditions)[]>;

/** The canonical names in the conditions of a list. */
function namesIn({ policies }: PolicyList): Readonly<Record<Rename["kind"], ReadonlySet<string>>> {
  const of = (kind: Rename["kind"]) =>
    new Set(
      policies.flatMap(({ conditions }) =>
        NAMED_IN[kind].flatMap((list) => (conditions[list] ?? []).map(canonicalName))
      ),
    );
  return { user: of("user"), group: of("group") };
}

/** The policy with the new name; the same policy if it does not have the earlier name. */
function renamedIn(policy: Policy, { kind, from, name }: Pick<Rename, "kind" | "from" | "name">): Policy {
  let { conditions } = policy;
  for (const list of NAMED_IN[kind]) {
    const names = conditions[list];
    if (names === undefined || !names.some((one) => canonicalName(one) === from)) continue;
    const others = names.filter((one) => canonicalName(one) !== canonicalName(name));
    conditions = {
      ...conditions,
      [list]: others.map((one) => canonicalName(one) === from ? name : one),
    };
  }
  return conditions === policy.conditions ? policy : { ...policy, conditions };
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
