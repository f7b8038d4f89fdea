// Contents as another SCIM server spells them, and back. Pure.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type {
  Content,
  GroupContent,
  JsonObject,
  JsonValue,
  Mapping,
  ResourceKind,
} from "../../schema/resource.ts";
import { ENTERPRISE_SCHEMA, GROUP_SCHEMA, USER_SCHEMA } from "../../schema/attribute_table.ts";
import { readContent } from "../../schema/parse_resource.ts";
import { asObject, isList, type ScimDialect } from "./scim_dialects.ts";

/** What RFC 7643 has no place for, or calls readOnly; only the document's own interface takes it. */
const DOCUMENT_ONLY = ["imgs", "manager"];

/** Top-level attributes of RFC 7643 §4.1 that another server can hold; what is not among them stays as it is here. */
export const RFC_COVERS: ReadonlySet<string> = new Set([
  ...["name", "displayName", "nickName", "profileUrl", "title", "userType", "preferredLanguage", "locale"],
  ...["timezone", "emails", "phoneNumbers", "ims", "photos", "addresses", "entitlements", "roles"],
  ...["x509Certificates", "externalId"],
  ...["employeeNumber", "costCenter", "organization", "division", "department"]
    .map((name) => `${ENTERPRISE_SCHEMA}:${name}`),
  ENTERPRISE_SCHEMA,
]);

const KIND_WORDS = {
  user: { path: "/Users", naming: "userName", schema: USER_SCHEMA },
  group: { path: "/Groups", naming: "displayName", schema: GROUP_SCHEMA },
} as const;

export function pathOf(kind: ResourceKind): string {
  return KIND_WORDS[kind].path;
}

/** The attribute that holds the name. */
export function namingOf(kind: ResourceKind): string {
  return KIND_WORDS[kind].naming;
}

/** `userName eq "anna"` (RFC 7644 §3.4.2.2): a value is a JSON string. */
export function nameFilter(kind: ResourceKind, name: string): string {
  return `${namingOf(kind)} eq ${JSON.stringify(name)}`;
}

/** A body for POST or PUT. @param members of a group, as the dialect gives them. */
export function toResource(
  content: Content,
  { dialect, members, password }: {
    dialect: ScimDialect;
    members: readonly JsonObject[];
    password?: string;
  },
): JsonObject {
  const attributes = dialect.spelling === "rfc" ? spellAsRfc(content.attributes) : content.attributes;
  const { schema, naming } = KIND_WORDS[content.kind];
  const extensions = Object.keys(attributes).filter((name) => name.toLowerCase().startsWith("urn:"));
  return {
    schemas: [schema, ...extensions],
    externalId: content.name,
    ...withoutEmptyName(attributes),
    [naming]: content.name,
    ...content.kind === "group" ? { members } : { active: content.active },
    ...password === undefined ? {} : { password },
  };
}

function spellAsRfc(attributes: JsonObject): JsonObject {
  const spelled: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (DOCUMENT_ONLY.includes(name)) continue;
    spelled[name] = name === "addresses" && isList(value) ? value.map(spellAddress) : value;
  }
  return spelled;
}

function spellAddress(value: JsonValue): JsonValue {
  const { postralCode, ...rest } = asObject(value);
  return postralCode === undefined ? value : { ...rest, postalCode: postralCode };
}

function withoutEmptyName({ name, ...rest }: JsonObject): JsonObject {
  const set = Object.entries(asObject(name)).filter(([, value]) => value !== "");
  return set.length === 0 ? rest : { ...rest, name: Object.fromEntries(set) };
}

/** A resource as it was received. */
export interface ReceivedResource {
  readonly id: string;
  /** Without members. */
  readonly content: Content;
  readonly members: readonly ReceivedMember[];
}

export interface ReceivedMember {
  readonly value: string;
  readonly display: string;
}

/** `null` when it has no id, no usable name, or values of the wrong type. */
export function fromResource(
  resource: JsonObject,
  { kind, mapping }: { kind: ResourceKind; mapping: Mapping },
): ReceivedResource | null {
  const { id, members, ...body } = resource;
  const name = body[namingOf(kind)];
  if (typeof id !== "string" || id === "" || typeof name !== "string") return null;
  // Schemas of other vendors do not decide whether we can read it.
  const { schemas: _schemas, ...known } = body;
  const read = readContent(kind, known, { mapping, newName: () => "", isStored: true });
  if (!read.ok || read.content.name === "") return null;
  return { id, content: read.content, members: isList(members) ? members.flatMap(readMember) : [] };
}

function readMember(member: JsonValue): ReceivedMember[] {
  const { value, display } = asObject(member);
  if (typeof value !== "string" || value === "") return [];
  return [{ value, display: typeof display === "string" ? display : "" }];
}

/** Whether a server that was sent `wanted` and shows `held` needs to be told nothing. Members are compared apart. */
export function isSameContent(
  wanted: Content,
  held: Content,
  { dialect, mapping }: { dialect: ScimDialect; mapping: Mapping },
): boolean {
  const sent = { ...toResource(wanted, { dialect, members: [] }), id: "-" };
  const arrives = fromResource(sent, { kind: wanted.kind, mapping });
  if (arrives === null || arrives.content.name !== held.name) return false;
  const active = (content: Content) => content.kind === "user" ? content.active : null;
  return active(arrives.content) === active(held) &&
    stableText(arrives.content.attributes) === stableText(held.attributes);
}

/** JSON with the members of objects in order of name. */
function stableText(value: JsonValue): string {
  if (isList(value)) return `[${value.map(stableText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, one]) => `${JSON.stringify(name)}:${stableText(one)}`);
  return `{${parts.join(",")}}`;
}

/** A group with its members by name, each once. */
export function withMembers(content: Content, names: readonly string[]): Content {
  if (content.kind === "user") return content;
  const seen = new Map<string, string>();
  for (const name of names) if (!seen.has(canonicalName(name))) seen.set(canonicalName(name), name);
  const group: GroupContent = { ...content, members: [...seen.values()] };
  return group;
}
