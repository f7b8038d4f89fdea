// Reads a policy from untrusted input: a request of the API, or a record of the store.

import { canonicalRange } from "../../platform/addresses.ts";
import { canonicalName, isDeceptiveName } from "../../platform/canonical_name.ts";
import { FACTOR_ORDER } from "../flow/context.ts";
import { encodeReplyAttribute } from "../protocol/attributes.ts";
import { MAX_ACCEPT_ATTRIBUTE_OCTETS } from "../protocol/packet.ts";
import {
  DEVICE_STATES,
  ENROLMENT_RULES,
  MAX_POLICIES,
  MAX_REMEMBER_HOURS,
  type Policy,
  POLICY_CONDITIONS,
  POLICY_FACTORS,
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
const MAX_ENTRY_CHARACTERS = 1024;
const MAX_ENTRIES = 200;
const MAX_TIMES = 20;
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
  if (given.length > MAX_ENTRIES) fail(`${name} can have at most ${MAX_ENTRIES} entries.`);
  if (name === "times") {
    if (given.length > MAX_TIMES) fail(`times can have at most ${MAX_TIMES} entries.`);
    return given.map(timeOf);
  }
  if (name === "device") return given.map((one) => oneOf(one, DEVICE_STATES, "device"));
  const texts = given.map((one) => {
    if (typeof one === "string" && one !== "" && one.length <= MAX_ENTRY_CHARACTERS) return one;
    return fail(`${name} must contain texts of 1 to ${MAX_ENTRY_CHARACTERS} characters.`);
  });
  if (name !== "networks" && name !== "exceptNetworks") return [...new Set(texts)];
  return [
    ...new Set(texts.map((text) =>
      canonicalRange(text.trim()) ??
        fail(`"${text}" is not an IP address or a CIDR range, such as 10.0.0.0/8.`)
    )),
  ];
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
  const kind = oneOf(
    (value as { kind?: unknown } | null)?.kind,
    ["challenge", "bypass", "deny"] as const,
    "outcome",
  );
  if (kind === "deny") {
    fieldsOf(value, "outcome", ["kind"]);
    return { kind };
  }
  const shared = ["kind", "clientChecksPassword", "attributes"];
  const own = kind === "bypass"
    ? ["unknownUsers"]
    : ["factors", "requiredFactor", "enrolment", "rememberHours"];
  const fields = fieldsOf(value, "outcome", [...shared, ...own]);
  const { clientChecksPassword, unknownUsers, attributes } = fields;
  for (const [name, value] of Object.entries({ clientChecksPassword, unknownUsers })) {
    if (value !== undefined && typeof value !== "boolean") fail(`${name} must be true or false.`);
  }
  return {
    kind,
    ...(kind === "challenge" ? factorFields(fields) : {}),
    ...(clientChecksPassword === true ? { clientChecksPassword } : {}),
    ...(unknownUsers === true ? { unknownUsers } : {}),
    ...(attributes === undefined ? {} : attributesField(attributes)),
  } as PolicyOutcome;
}

function factorFields({ factors, requiredFactor, enrolment, rememberHours }: Fields): Fields {
  if (factors !== undefined && (!Array.isArray(factors) || factors.length === 0)) {
    fail("factors must be a list of at least one factor.");
  }
  if (factors !== undefined && requiredFactor !== undefined) {
    fail("A policy has either factors or requiredFactor, not both.");
  }
  if (
    rememberHours !== undefined &&
    !(Number.isInteger(rememberHours) && Number(rememberHours) >= 1 &&
      Number(rememberHours) <= MAX_REMEMBER_HOURS)
  ) fail(`rememberHours must be a whole number from 1 to ${MAX_REMEMBER_HOURS}.`);
  const chosen = new Set((factors ?? []).map((factor: unknown) => oneOf(factor, POLICY_FACTORS, "factors")));
  return {
    ...(factors === undefined ? {} : { factors: POLICY_FACTORS.filter((factor) => chosen.has(factor)) }),
    ...(requiredFactor === undefined
      ? {}
      : { requiredFactor: oneOf(requiredFactor, FACTOR_ORDER, "requiredFactor") }),
    ...(enrolment === undefined ? {} : { enrolment: oneOf(enrolment, ENROLMENT_RULES, "enrolment") }),
    ...(rememberHours === undefined ? {} : { rememberHours }),
  };
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
