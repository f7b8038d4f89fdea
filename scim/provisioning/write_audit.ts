// Audit entries of SCIM writes with the values before and after. Secrets and phone numbers are redacted.

import { type AuditEntry, auditEntry } from "../../platform/audit.ts";
import type { AuditAction } from "../../platform/audit_actions.ts";
import type { Mutation } from "../../platform/store.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { compareMemberNames } from "../schema/member_names.ts";
import { maskPhoneNumber } from "../../platform/phone_number.ts";
import type { Actor } from "../ports.ts";
import type { Content, JsonObject, JsonValue, ResourceKind } from "../schema/resource.ts";

const MAX_ATTRIBUTES = 30;
const MAX_VALUE_CHARACTERS = 200;
/** Replaces a value that is never recorded. */
const REDACTED = "********";

/** The entry of an event in a target's directory. */
export function targetAuditEntry(
  target: string,
  { actor, ...what }: Omit<AuditEntry, "actor" | "source" | "target"> & { readonly actor: Actor },
): Mutation {
  return auditEntry({ ...what, actor: actor.name, source: actor.source, target });
}

const ACTIONS = {
  create: "created",
  replace: "replaced",
  remove: "deleted",
  rename: "renamed",
  members: "members_changed",
} as const;

/** `user.created`, `group.members_changed`… */
export function writeAction(
  kind: ResourceKind,
  operation: keyof typeof ACTIONS | "restore",
): AuditAction {
  // Groups are not in the trash.
  if (operation === "restore") return "user.restored";
  // Users have no members.
  return operation === "members" ? "group.members_changed" : `${kind}.${ACTIONS[operation]}`;
}

/** A change of one resource, with the content before and after. `null`: it does not exist. */
interface ContentChange {
  readonly actor: Actor;
  readonly action: AuditAction;
  readonly kind: ResourceKind;
  readonly name: string;
  /** The name before a rename. */
  readonly from?: string;
  readonly before: Content | null;
  readonly after: Content | null;
  /** Whether the password was set. */
  readonly setsPassword?: boolean;
  readonly backends?: readonly string[];
  /** The groups that a restored user joined. */
  readonly groups?: readonly string[];
}

/** The directory of a change. If users sign in from it, their phone numbers are factors. */
interface AuditScope {
  readonly name: string;
  readonly isLoginTarget?: boolean;
}

/** The entry of a change with the values before and after, and one entry for each phone number that was added or removed as a factor. */
export function contentAuditEntries(scope: AuditScope, change: ContentChange): Mutation[] {
  const { actor, action, kind, name, from, setsPassword = false, backends, groups = [] } = change;
  const { before, after } = changedValues(change);
  const entry = targetAuditEntry(scope.name, {
    actor,
    action,
    object: `${kind}:${name}`,
    // The timelines of both names have it.
    ...(from === undefined ? {} : { objects: [`${kind}:${name}`, `${kind}:${from}`], from, to: name }),
    ...(Object.keys(before).length === 0 ? {} : { before }),
    ...(Object.keys(after).length === 0 && !setsPassword
      ? {}
      : { after: setsPassword ? { ...after, password: REDACTED } : after }),
    ...memberFields(change),
    ...(groups.length === 0 ? {} : { groups: bounded(groups) }),
    backends,
  });
  return scope.isLoginTarget === true ? [entry, ...numberEntries(scope.name, change)] : [entry];
}

/** The fields of an entry about members: the first names, and the number of others. `total`: the number of all added members. */
export function auditMembers({ added, removed = [], total = added.length }: {
  added: readonly string[];
  removed?: readonly string[];
  total?: number;
}): { added?: readonly string[]; removed?: readonly string[] } {
  return {
    ...(added.length === 0 ? {} : { added: bounded(added, total) }),
    ...(removed.length === 0 ? {} : { removed: bounded(removed) }),
  };
}

const MAX_NAMES = 20;

function bounded(names: readonly string[], total = names.length): readonly string[] {
  const shown = names.slice(0, MAX_NAMES);
  return total > shown.length ? [...shown, `+${total - shown.length}`] : shown;
}

function memberFields({ kind, before, after }: ContentChange): ReturnType<typeof auditMembers> {
  if (kind === "user") return {};
  const was = membersOf(before);
  const is = membersOf(after);
  const { onlyBefore, onlyAfter } = compareMemberNames(was, is);
  // A name in both of these lists is only spelled in another way.
  const had = new Set(onlyBefore.map(canonicalName));
  const has = new Set(onlyAfter.map(canonicalName));
  return auditMembers({
    added: onlyAfter.filter((name) => !had.has(canonicalName(name))),
    removed: onlyBefore.filter((name) => !has.has(canonicalName(name))),
  });
}

function membersOf(content: Content | null): readonly string[] {
  return content?.kind === "group" ? content.members : [];
}

/** A value for comparison, and its masked or shortened form in the record. */
interface RecordedValue {
  readonly whole: string | boolean;
  readonly shown: string | boolean;
}

/** Follows a value that differs only in characters that the record omits. */
const OTHERWISE_EQUAL = "(changed)";

/** The values of the attributes that differ, as short texts. */
function changedValues(
  { before, after }: Pick<ContentChange, "before" | "after">,
): { before: Record<string, string | boolean>; after: Record<string, string | boolean> } {
  const [was, is] = [valuesOf(before), valuesOf(after)];
  const names = [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => was.get(name)?.whole !== is.get(name)?.whole).slice(0, MAX_ATTRIBUTES);
  const pick = (values: ReadonlyMap<string, RecordedValue>) =>
    Object.fromEntries(names.flatMap((name) => {
      const shown = values.get(name)?.shown;
      return shown === undefined || shown === "" ? [] : [[name, shown] as const];
    }));
  const [shownBefore, shownAfter] = [pick(was), pick(is)];
  for (const [name, shown] of Object.entries(shownAfter)) {
    if (shown === shownBefore[name]) shownAfter[name] = `${shown} ${OTHERWISE_EQUAL}`;
  }
  return { before: shownBefore, after: shownAfter };
}

/** `title`, `name.givenName`, and the attributes of an extension without the extension's URN. */
function valuesOf(content: Content | null): Map<string, RecordedValue> {
  const values = new Map<string, RecordedValue>();
  if (content === null) return values;
  if (content.kind === "user") values.set("active", { whole: content.active, shown: content.active });
  for (const [name, value] of Object.entries(content.attributes)) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      values.set(name, name === "phoneNumbers" ? numbersValue(value) : attributeValue(value));
      continue;
    }
    const prefix = name.includes(":") ? "" : `${name}.`;
    for (const [part, inner] of Object.entries(value)) values.set(`${prefix}${part}`, attributeValue(inner));
  }
  return values;
}

function attributeValue(value: JsonValue | undefined): RecordedValue {
  const whole = attributeText(value);
  return { whole, shown: whole.slice(0, MAX_VALUE_CHARACTERS) };
}

function attributeText(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(attributeText).join(", ");
  if (typeof value !== "object") return String(value);
  const fields: JsonObject = value as JsonObject;
  if (typeof fields.value === "string") return fields.value;
  return Object.values(fields).map(attributeText).filter((text) => text !== "").join(" ");
}

function numbersValue(value: JsonValue | undefined): RecordedValue {
  const numbers = numbersOf(value);
  const shown = numbers.map(maskPhoneNumber).join(", ").slice(0, MAX_VALUE_CHARACTERS);
  return { whole: numbers.join(", "), shown };
}

function numbersOf(value: JsonValue | undefined): string[] {
  return (Array.isArray(value) ? value : []).flatMap((one: JsonValue) => {
    const number = typeof one === "object" && one !== null && !Array.isArray(one)
      ? (one as JsonObject).value
      : one;
    return typeof number === "string" && number !== "" ? [number] : [];
  });
}

function numberEntries(target: string, { actor, kind, name, before, after }: ContentChange): Mutation[] {
  if (kind !== "user") return [];
  const [was, is] = [numbersOf(before?.attributes.phoneNumbers), numbersOf(after?.attributes.phoneNumbers)];
  const entryOf = (action: "pairing.add" | "pairing.revoke") => (number: string) =>
    targetAuditEntry(target, {
      actor,
      action,
      object: `user:${name}`,
      factor: "directory_number",
      number: maskPhoneNumber(number),
      how: "profile",
    });
  return [
    ...was.filter((number) => !is.includes(number)).slice(0, MAX_NAMES).map(entryOf("pairing.revoke")),
    ...is.filter((number) => !was.includes(number)).slice(0, MAX_NAMES).map(entryOf("pairing.add")),
  ];
}
