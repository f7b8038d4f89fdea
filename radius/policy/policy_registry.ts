// The stored policies: one record with the ordered list, so that a new order applies at once and every node sees all of a change or nothing.

import { auditEntry } from "../../platform/audit.ts";
import { canonicalName, isDeceptiveName } from "../../platform/canonical_name.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import { NO_CHANGE, type PreparedRename, type Rename } from "../../platform/write_batch.ts";
import { NO_POLICIES, PolicyEvaluator } from "./evaluator.ts";
import {
  conditionRow,
  MAX_POLICIES,
  minutesOf,
  OUTCOME_FIELDS,
  type Policy,
  POLICY_CONDITIONS,
  type PolicyConditionName,
  type PolicyConditions,
  type PolicyList,
  type PolicyListChange,
  type PolicyOutcome,
  type PolicyTime,
  type SessionAttributes,
  WEEKDAYS,
} from "./policy.ts";
import { canonicalRange } from "../../platform/addresses.ts";
import { type AnyField, appliesTo, isWithinBounds } from "../../platform/fields.ts";
import { encodeReplyAttribute } from "../protocol/attributes.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../protocol/packet.ts";
import { isTimeZone } from "../../platform/time_zone.ts";

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

// Reads a policy from untrusted input: a request of the API, or a record of the store.

/** `problem` is a sentence for the administrator. */
export type ReadPolicy<T> = { readonly ok: true; readonly value: T } | {
  readonly ok: false;
  readonly problem: string;
};

const MAX_NAME_CHARACTERS = 100;
const MAX_ENTRIES = 200;
const MAX_ATTRIBUTES = 20;

/** Ends the reading. Never leaves this file. */
class PolicyProblem extends Error {}

type Fields = Readonly<Record<string, unknown>>;

/** Reads a policy. @param id the id of the new policy; without one, it must have its own */
export function readPolicy(value: unknown, id?: string): ReadPolicy<Policy> {
  return attempt(() => policyOf(value, id));
}

/** Reads the policies of a list, whose names and ids must differ. */
export function readPolicies(value: unknown): ReadPolicy<Policy[]> {
  return attempt(() => {
    if (!Array.isArray(value)) fail("The policies must be a list.");
    if (value.length > MAX_POLICIES) fail(`There can be at most ${MAX_POLICIES} policies.`);
    const policies = value.map((one) => policyOf(one, undefined));
    const ids = new Set<string>();
    const names = new Set<string>();
    for (const { id, name } of policies) {
      const canonical = canonicalName(name);
      if (ids.has(id)) fail(`Two policies have the id "${id}".`);
      if (names.has(canonical)) fail(`Two policies have the name "${name}". Give one another name.`);
      ids.add(id);
      names.add(canonical);
    }
    return policies;
  });
}

function attempt<T>(read: () => T): ReadPolicy<T> {
  try {
    return { ok: true, value: read() };
  } catch (fault) {
    if (fault instanceof PolicyProblem) return { ok: false, problem: fault.message };
    throw fault;
  }
}

function fail(problem: string): never {
  throw new PolicyProblem(problem);
}

function policyOf(value: unknown, givenId: string | undefined): Policy {
  const fields = fieldsOf(value, "A policy", ["id", "name", "enabled", "conditions", "outcome"]);
  const id = givenId ?? fields["id"];
  if (typeof id !== "string" || !/^[a-z0-9]{4,32}$/.test(id)) fail("A policy has no valid id.");
  const { name, enabled } = fields as { name?: unknown; enabled?: unknown };
  if (typeof name !== "string" || name === "" || name.length > MAX_NAME_CHARACTERS || isDeceptiveName(name)) {
    fail(`The name must have 1 to ${MAX_NAME_CHARACTERS} characters, and no blank at its ends.`);
  }
  if (typeof enabled !== "boolean") fail("enabled must be true or false.");
  return {
    ...{ id, name, enabled },
    conditions: conditionsOf(fields["conditions"]),
    outcome: outcomeOf(fields["outcome"]),
  };
}

function conditionsOf(value: unknown): PolicyConditions {
  const fields = fieldsOf(value, "conditions", POLICY_CONDITIONS);
  const entries = POLICY_CONDITIONS.flatMap((name) => {
    const given = fields[name];
    if (given === undefined) return [];
    if (!Array.isArray(given)) fail(`${name} must be a list.`);
    // It would hold for every login, as if the condition were absent. An emptied list does not mean that.
    if (given.length === 0) fail(`${name} has no entry. Add one, or remove the condition.`);
    return [[name, conditionOf(name, given)]];
  });
  return Object.fromEntries(entries) as PolicyConditions;
}

function conditionOf(name: PolicyConditionName, given: readonly unknown[]): readonly unknown[] {
  const row = conditionRow(name);
  if (given.length > MAX_ENTRIES) fail(`${name} can have at most ${MAX_ENTRIES} entries.`);
  if (row.type === "choices") return given.map((one) => oneOf(one, row.of, name));
  if (given.length > row.maxItems) fail(`${name} can have at most ${row.maxItems} entries.`);
  if (row.isTime) return given.map(timeOf);
  const texts = given.map((one) => {
    if (typeof one === "string" && one !== "" && one.length <= row.max) return one;
    return fail(`${name} must contain texts of 1 to ${row.max} characters.`);
  });
  const entries = row.isNetwork
    ? texts.map((text) =>
      canonicalRange(text.trim()) ??
        fail(`"${text}" is not an IP address or a CIDR range, such as 10.0.0.0/8.`)
    )
    : texts;
  return [...new Set(entries)];
}

function timeOf(value: unknown): PolicyTime {
  const { days, from, to, zone } = fieldsOf(value, "A time", ["days", "from", "to", "zone"]);
  if (!Array.isArray(days) || days.length === 0) fail("A time needs at least one day of the week.");
  const chosen = new Set(days.map((day) => oneOf(day, WEEKDAYS, "days")));
  if (typeof from !== "string" || typeof to !== "string") fail("A time needs from and to.");
  const fromMinutes = minutesOf(from);
  if (fromMinutes === null || fromMinutes === 24 * 60) fail(`"${from}" is not a time, such as 08:00.`);
  if (minutesOf(to) === null) fail(`"${to}" is not a time, such as 18:00.`);
  if (typeof zone !== "string" || !isTimeZone(zone)) {
    fail(`"${String(zone)}" is not a time zone, such as Europe/Berlin.`);
  }
  return { days: WEEKDAYS.filter((day) => chosen.has(day)), from, to, zone };
}

function outcomeOf(value: unknown): PolicyOutcome {
  const kind = oneOf((value as { kind?: unknown } | null)?.kind, OUTCOME_FIELDS.kind.of, "outcome");
  const own = Object.entries<AnyField>(OUTCOME_FIELDS).filter(([, { when }]) => appliesTo(when, { kind }));
  const names = own.map(([name]) => name);
  const fields = fieldsOf(value, "outcome", kind === "deny" ? names : [...names, "attributes"]);
  const outcome: Record<string, unknown> = { kind };
  for (const [name, field] of own) {
    const given = name === "kind" ? undefined : fields[name];
    if (given === undefined) continue;
    const read = outcomeValue(name, field, given);
    if (read !== false) outcome[name] = read;
  }
  if (outcome["factors"] !== undefined && outcome["requiredFactor"] !== undefined) {
    fail("A policy has either factors or requiredFactor, not both.");
  }
  const { attributes } = fields;
  return { ...outcome, ...(attributes === undefined ? {} : attributesField(attributes)) } as PolicyOutcome;
}

function outcomeValue(name: string, field: AnyField, given: unknown): unknown {
  if (field.type === "choice") return oneOf(given, field.of, name);
  if (field.type === "choices") {
    if (!Array.isArray(given) || given.length === 0) fail(`${name} must be a list of at least one factor.`);
    const chosen = new Set(given.map((one) => oneOf(one, field.of, name)));
    return field.of.filter((one) => chosen.has(one));
  }
  if (isWithinBounds(field, given)) return given;
  return field.type === "number"
    ? fail(`${name} must be a whole number from ${field.min} to ${field.max}.`)
    : fail(`${name} must be true or false.`);
}

function attributesField(value: unknown): { attributes?: SessionAttributes } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    fail("attributes must be an object.");
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return {};
  if (entries.length > MAX_ATTRIBUTES) fail(`There can be at most ${MAX_ATTRIBUTES} session attributes.`);
  let octets = 0;
  for (const [name, given] of entries) {
    const isPlain = (one: unknown) => typeof one === "string" || typeof one === "number";
    if (!(Array.isArray(given) ? given.every(isPlain) : isPlain(given))) {
      fail(`${name} must be a text or a number, or a list of them.`);
    }
    const encoded = encodeReplyAttribute(name, given);
    if (!encoded.ok) fail(`The session attribute ${name} cannot be sent: ${encoded.problem}.`);
    octets += encoded.value.length;
  }
  if (octets > MAX_ACCEPT_ATTRIBUTE_OCTETS) {
    fail(
      `The session attributes have ${octets} octets; an Access-Accept has room for ${MAX_ACCEPT_ATTRIBUTE_OCTETS}.`,
    );
  }
  return { attributes: Object.fromEntries(entries) as SessionAttributes };
}

function fieldsOf(value: unknown, what: string, known: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) fail(`${what} must be an object.`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) fail(`${what} has the unknown field "${unknown}".`);
  return value as Fields;
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[], name: string): T {
  const found = allowed.find((one) => one === value);
  return found ?? fail(`${name} must be one of ${allowed.join(", ")}.`);
}
