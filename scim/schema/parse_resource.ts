// Parses the body of a user or a group of /idm/scim: its name, its attributes, its members, and its password. Attributes without a row of the table are
// stored unchanged.

import { canonicalName, isDeceptiveName } from "../../platform/canonical_name.ts";
import type { Content, JsonObject, JsonValue, Mapping, ResourceKind } from "./resource.ts";
import { ENTERPRISE_SCHEMA, findDefinition } from "./attribute_table.ts";
import {
  isJsonArray,
  isJsonObject,
  isSameJson,
  MAX_MEMBERS,
  property,
  SCIM_ATTRIBUTES,
  shownName,
  withoutCoreSchema,
} from "./attributes.ts";
import { hasOwnExternalId } from "./mapping.ts";
import { distinctNames, parseName } from "./resource_name.ts";
import { withPersonName } from "./merge.ts";
import { BODY_POLICIES, readAttributeValue, readMembers, UnreadableBody } from "./read_value.ts";

export type ParseResourceOutcome =
  | { readonly ok: true; readonly content: Content; readonly password: string | undefined }
  | { readonly ok: false; readonly code: "invalid_value" | "renamed"; readonly detail: string };

interface ParseResourceOptions {
  readonly mapping: Mapping;
  /** The name in the path of a PUT. Absent for a POST. */
  readonly pathName?: string;
  /** A PUT: the attributes of the resource as they are. They may stay, even if a new resource cannot get them: a backend has other rules. */
  readonly previous?: JsonObject;
  /** A PUT: the members of the group as it is. */
  readonly members?: readonly string[];
  /** Creates a name (a UUID) for a resource without one. */
  readonly newName: () => string;
  /** The body is a stored resource of a backend: its name is read even if no new resource could get it. */
  readonly isStored?: true;
}

const MAX_PASSWORD_CHARACTERS = 1024;
const DECEPTIVE = "a new name must not begin or end with a blank, or contain format characters";

/** The sources of a new resource's name. The first one that is present wins. */
const NAMING: Readonly<Record<ResourceKind, readonly [string, ...string[]]>> = {
  user: ["userName", "externalId", "id"],
  group: ["displayName", "externalId", "id"],
};

/** Not stored with the attributes: the server sets them, or stores them elsewhere. */
const APART: Readonly<Record<ResourceKind, ReadonlySet<string>>> = {
  user: new Set(["schemas", "id", "externalId", "meta", "userName", "active", "groups", "password"]),
  group: new Set(["schemas", "id", "externalId", "meta", "displayName", "members", "password"]),
};

/** Whether a body has the name of its resource. */
export function isNamed(kind: ResourceKind, body: JsonObject): boolean {
  const [own] = NAMING[kind];
  return Object.entries(body).some(([name, value]) =>
    value !== null && withoutCoreSchema(kind, name).toLowerCase() === own.toLowerCase()
  );
}

/** Attributes by their stored names. */
type Body = ReturnType<typeof readMembers>;

/**
 * Reads the body of a POST or a PUT. Nothing is required; types and sizes are checked.
 *
 * @returns the content and, for a user, the password in clear. Or the problem, as a sentence without values of the body.
 */
export function parseResource(
  kind: ResourceKind,
  body: JsonObject,
  options: ParseResourceOptions,
): ParseResourceOutcome {
  try {
    return readChecked(kind, body, options);
  } catch (fault) {
    if (fault instanceof UnreadableBody) return { ok: false, code: "invalid_value", detail: fault.message };
    throw fault;
  }
}

function readChecked(
  kind: ResourceKind,
  object: JsonObject,
  options: ParseResourceOptions,
): ParseResourceOutcome {
  const body = readMembers(withoutLongNames(kind, object), SCIM_ATTRIBUTES[kind], {
    rename: (name) => withoutCoreSchema(kind, name),
    policy: policyOf(options),
  });
  checkSchemas(body.get("schemas")?.value);
  const name = nameOf(kind, body, options);
  if (options.pathName !== undefined && canonicalName(name) !== canonicalName(options.pathName)) {
    return { ok: false, code: "renamed", detail: `${NAMING[kind][0]} differs from the name in the path.` };
  }
  const attributes = attributesOf(kind, body, options);
  if (kind === "group") {
    return {
      ok: true,
      content: { kind, name, attributes, members: membersOf(body, options) },
      password: undefined,
    };
  }
  const active = readGiven(body, "active");
  return {
    ok: true,
    content: { kind, name, active: active !== false, attributes: withPersonName(attributes) },
    password: passwordOf(body),
  };
}

/** RFC 7644 §3.10: an attribute of the enterprise extension with the URN in front of its name belongs into the extension. */
function withoutLongNames(kind: ResourceKind, object: JsonObject): JsonObject {
  const head = `${ENTERPRISE_SCHEMA.toLowerCase()}:`;
  const isLong = (name: string) => kind === "user" && name.toLowerCase().startsWith(head);
  if (!Object.keys(object).some(isLong)) return object;
  const entries = Object.entries(object);
  const plain = entries.filter(([name]) => !isLong(name));
  const extension = plain.findLast(([name]) => name.toLowerCase() === ENTERPRISE_SCHEMA.toLowerCase())?.[1];
  if (extension !== undefined && extension !== null && !isJsonObject(extension)) return object;
  const moved = Object.fromEntries(
    entries.filter(([name]) => isLong(name)).map(([name, value]) => [name.slice(head.length), value]),
  );
  const repeated = Object.keys(moved).find((name) => Object.hasOwn(extension ?? {}, name));
  if (repeated !== undefined) throw new UnreadableBody(`The body has ${shownName(repeated)} twice.`);
  return {
    ...Object.fromEntries(plain.filter(([name]) => name.toLowerCase() !== ENTERPRISE_SCHEMA.toLowerCase())),
    [ENTERPRISE_SCHEMA]: { ...extension, ...moved },
  };
}

/** The schemas themselves are not checked, because clients send outdated ones and their own extensions. */
function checkSchemas(value: JsonValue | undefined): void {
  if (value === undefined || value === null || typeof value === "string") return;
  if (!isJsonArray(value) || value.some((one) => typeof one !== "string")) {
    throw new UnreadableBody("schemas must be a list of strings.");
  }
}

function nameOf(
  kind: ResourceKind,
  body: Body,
  { pathName, newName, isStored }: ParseResourceOptions,
): string {
  const [own, ...others] = NAMING[kind];
  // The path of a PUT names the resource. Other identifiers are ignored.
  const candidates = pathName === undefined ? [own, ...others] : [own];
  for (const attribute of candidates) {
    const text = readGiven(body, attribute);
    if (typeof text !== "string") continue;
    // Without this, an empty text would create a user with a name that no one chose.
    if (text === "" && attribute === own && isStored !== true) {
      throw new UnreadableBody(`${own} cannot be a name: a name must not be empty.`);
    }
    if (text === "") continue;
    const read = parseName(text);
    if (!read.ok) throw new UnreadableBody(`${attribute} cannot be a name: ${read.problem}.`);
    // Existing users and groups with such a name can be read, changed and deleted. Such users cannot sign in.
    const isNew = pathName === undefined && isStored !== true;
    if (isNew && isDeceptiveName(read.name)) {
      throw new UnreadableBody(`${attribute} cannot be a name: ${DECEPTIVE}.`);
    }
    return read.name;
  }
  return pathName ?? newName();
}

function attributesOf(
  kind: ResourceKind,
  body: Body,
  options: ParseResourceOptions,
): JsonObject {
  const { mapping, previous = {} } = options;
  const read: [string, JsonValue][] = [];
  for (const { definition, name, value } of body.values()) {
    const isKept = name === "externalId" ? hasOwnExternalId(kind, mapping) : !APART[kind].has(name);
    if (!isKept) continue;
    const place = { definition, at: shownName(name), policy: policyOf(options) };
    const held = property(previous, name);
    const mayStay = held !== undefined &&
      isSameJson(readAttributeValue(value, { ...place, policy: BODY_POLICIES.held }), held);
    const kept = mayStay ? held : readAttributeValue(value, place);
    if (kept !== undefined) read.push([name, kept]);
  }
  return Object.fromEntries(read);
}

function policyOf({ isStored }: ParseResourceOptions) {
  return isStored === true ? BODY_POLICIES.held : BODY_POLICIES.specified;
}

function readGiven(body: Body, attribute: string): JsonValue | undefined {
  const given = body.get(attribute);
  return given && readAttributeValue(given.value, { ...given, at: attribute, policy: BODY_POLICIES.held });
}

/** Checks the length of the password, because hashing takes time. Its characters are not checked. */
function passwordOf(body: Body): string | undefined {
  const password = readGiven(body, "password");
  if (password === undefined) return undefined;
  const isValid = typeof password === "string" && password !== "" && password.isWellFormed() &&
    password.length <= MAX_PASSWORD_CHARACTERS;
  if (!isValid) {
    throw new UnreadableBody(`password must have 1 to ${MAX_PASSWORD_CHARACTERS} characters.`);
  }
  return password;
}

function membersOf(body: Body, { isStored, members }: ParseResourceOptions): readonly string[] {
  const value = body.get("members")?.value ?? [];
  const entries = isJsonArray(value)
    ? value
    : isJsonObject(value) && Object.keys(value).length === 0
    ? []
    : [value];
  if (entries.length > MAX_MEMBERS) throw new UnreadableBody(`members has over ${MAX_MEMBERS} entries.`);
  const names: string[] = [];
  for (const [at, entry] of entries.entries()) {
    if (entry !== null || isStored !== true) {
      names.push(plainMember(entry) ?? memberOf(entry, `members[${at}]`));
    }
  }
  return distinctNames(names, members);
}

/** Fast path: the name in an entry with the stored spelling of its attributes. Most of the tens of thousands of entries are like this. */
function plainMember(entry: JsonValue): string | null {
  if (!isJsonObject(entry)) return null;
  for (const name in entry) if (name !== "display" && name !== "value") return null;
  const text = entry.display ?? entry.value;
  const read = typeof text === "string" ? parseName(text) : null;
  return read?.ok === true ? read.name : null;
}

/** The interface specification uses `display`. Other clients send `value`. */
function memberOf(entry: JsonValue, at: string): string {
  const text = typeof entry === "string" ? entry : nameInEntry(entry, at);
  const read = parseName(text);
  if (!read.ok) throw new UnreadableBody(`${at} cannot be a name: ${read.problem}.`);
  return read.name;
}

const MEMBER_PARTS = findDefinition(SCIM_ATTRIBUTES.group, "members")?.subAttributes ?? [];

function nameInEntry(entry: JsonValue, at: string): string {
  if (!isJsonObject(entry)) throw new UnreadableBody(`${at} must be an object or a string.`);
  const named = readMembers(entry, MEMBER_PARTS, { policy: BODY_POLICIES.specified });
  for (const sub of ["display", "value"]) {
    const text = named.get(sub)?.value ?? "";
    if (typeof text !== "string") throw new UnreadableBody(`${at}.${sub} must be a string.`);
    if (text !== "") return text;
  }
  throw new UnreadableBody(`${at} has neither display nor value.`);
}
