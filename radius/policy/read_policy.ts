// Reads a policy from untrusted input: a request of the API, or a record of the store.

import { canonicalRange } from "../../platform/addresses.ts";
import { canonicalName, isDeceptiveName } from "../../platform/canonical_name.ts";
import { type AnyField, appliesTo, isWithinBounds } from "../../platform/fields.ts";
import { encodeReplyAttribute } from "../protocol/attributes.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../protocol/packet.ts";
import {
  conditionRow,
  MAX_POLICIES,
  OUTCOME_FIELDS,
  type Policy,
  POLICY_CONDITIONS,
  type PolicyConditionName,
  type PolicyConditions,
  type PolicyOutcome,
  type PolicyTime,
  type SessionAttributes,
  WEEKDAYS,
} from "./policy.ts";
import { isTimeZone } from "../../platform/time_zone.ts";
import { minutesOf } from "./time_windows.ts";

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
