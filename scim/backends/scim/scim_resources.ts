// Maps resources to the format of another SCIM server and back. Pure.

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
import { isJsonArray } from "../../schema/attributes.ts";
import { parseResource } from "../../schema/parse_resource.ts";

/** Attributes that RFC 7643 lacks or defines as readOnly. Only servers with the interface specification accept them. */
export const SPECIFICATION_ONLY: readonly string[] = ["imgs"];

/** Top-level attributes of RFC 7643 §4.1 that another server can store. Other attributes do not change here. */
export const RFC7643_COVERS: ReadonlySet<string> = new Set([
  ...["name", "displayName", "nickName", "profileUrl", "title", "userType", "preferredLanguage", "locale"],
  ...["timezone", "emails", "phoneNumbers", "ims", "photos", "addresses", "entitlements", "roles"],
  ...["x509Certificates", "externalId"],
  ...["employeeNumber", "costCenter", "organization", "division", "department"]
    .map((name) => `${ENTERPRISE_SCHEMA}:${name}`),
  ENTERPRISE_SCHEMA,
]);

const KINDS = {
  user: { path: "/Users", naming: "userName", schema: USER_SCHEMA },
  group: { path: "/Groups", naming: "displayName", schema: GROUP_SCHEMA },
} as const;

export function collectionPath(kind: ResourceKind): string {
  return KINDS[kind].path;
}

/** The attribute with the name. */
export function nameAttribute(kind: ResourceKind): string {
  return KINDS[kind].naming;
}

/** `userName eq "anna"` (RFC 7644 §3.4.2.2): a value is a JSON string. */
export function nameFilter(kind: ResourceKind, name: string): string {
  return `${nameAttribute(kind)} eq ${JSON.stringify(name)}`;
}

/** A body for POST or PUT. @param members of a group, in the format of the dialect. */
export function toResource(
  content: Content,
  { dialect, members, password }: {
    dialect: ScimDialect;
    members: readonly JsonObject[];
    password?: string;
  },
): JsonObject {
  const attributes = dialect.spelling === "rfc" ? spellAsRfc(content.attributes) : content.attributes;
  const { schema, naming } = KINDS[content.kind];
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
    if (SPECIFICATION_ONLY.includes(name)) continue;
    if (name === "manager") {
      spelled[ENTERPRISE_SCHEMA] = { ...toJsonObject(spelled[ENTERPRISE_SCHEMA]), manager: value };
      continue;
    }
    if (name === ENTERPRISE_SCHEMA) {
      spelled[name] = { ...toJsonObject(spelled[name]), ...toJsonObject(value) };
      continue;
    }
    spelled[name] = name === "addresses" && isJsonArray(value) ? value.map(spellAddress) : value;
  }
  return spelled;
}

function spellAddress(value: JsonValue): JsonValue {
  const { postralCode, ...rest } = toJsonObject(value);
  return postralCode === undefined ? value : { ...rest, postalCode: postralCode };
}

function withoutEmptyName({ name, ...rest }: JsonObject): JsonObject {
  const set = Object.entries(toJsonObject(name)).filter(([, value]) => value !== "");
  return set.length === 0 ? rest : { ...rest, name: Object.fromEntries(set) };
}

/** A resource as it was received. */
export interface ReceivedResource {
  readonly id: string;
  /** Without members. */
  readonly content: Content;
  readonly members: readonly ReceivedMember[];
  /** All that the server sent. */
  readonly raw: JsonObject;
}

export interface ReceivedMember {
  readonly value: string;
  readonly display: string;
}

/** `null` if it has no id, no valid name, or values of the wrong type. */
export function fromResource(
  resource: JsonObject,
  { kind, mapping }: { kind: ResourceKind; mapping: Mapping },
): ReceivedResource | null {
  const { id, members, ...body } = resource;
  const name = body[nameAttribute(kind)];
  if (typeof id !== "string" || id === "" || typeof name !== "string") return null;
  // The schemas of other vendors do not matter here.
  const { schemas: _schemas, ...known } = body;
  const read = parseResource(kind, known, { mapping, newName: () => "", isStored: true });
  if (!read.ok || read.content.name === "") return null;
  return {
    id,
    content: read.content,
    members: isJsonArray(members) ? members.flatMap(readMember) : [],
    raw: resource,
  };
}

function readMember(member: JsonValue): ReceivedMember[] {
  const { value, display } = toJsonObject(member);
  if (typeof value !== "string" || value === "") return [];
  return [{ value, display: typeof display === "string" ? display : "" }];
}

/** A group with its members by name, each once. */
export function withMemberNames(content: Content, names: readonly string[]): Content {
  if (content.kind === "user") return content;
  const seen = new Map<string, string>();
  for (const name of names) if (!seen.has(canonicalName(name))) seen.set(canonicalName(name), name);
  const group: GroupContent = { ...content, members: [...seen.values()] };
  return group;
}

export interface ScimDialect {
  /** How a resource is found by its name: by a filter, or at the path that ends in the name. */
  readonly lookUp: "filter" | "path";
  /** How the next page is requested: by the index of a resource, or by a page number. */
  readonly paging: "startIndex" | "page";
  /** Members are the IDs of users, or names that need not be users. */
  readonly members: "ids" | "names";
  /** Attributes are spelled as RFC 7643 does, or as the interface specification of Countersign does. */
  readonly spelling: "rfc" | "specification";
  readonly ref: string;
}

const SCIM_DIALECTS = {
  rfc: { lookUp: "filter", paging: "startIndex", members: "ids", spelling: "rfc", ref: "RFC 7644 §3" },
  /** Another Countersign's `/idm/scim/<target>`: no discovery, no PATCH. */
  countersign: {
    lookUp: "path",
    paging: "page",
    members: "names",
    spelling: "specification",
    ref: "docs/scim.md",
  },
} as const satisfies Record<string, ScimDialect>;

const COUNTERSIGN_PATH = /\/idm\/scim\/[^/]+$/;

/** Whether a base URL looks like another Countersign's. It is one if it also has no ServiceProviderConfig. */
export function isCountersignUrl(url: string): boolean {
  return COUNTERSIGN_PATH.test(url);
}

/** What a server can do. */
export interface ScimCapabilities {
  readonly dialect: ScimDialect;
  readonly patch: boolean;
  /** The maximum number of resources in one response. */
  readonly maxResults: number;
}

const MAX_PAGE = 200;
const MIN_PAGE = 10;

/** Reads a ServiceProviderConfig. `null`: the server has none. */
export function parseServiceProviderConfig(config: JsonObject | null, url: string): ScimCapabilities {
  if (config === null) {
    const dialect = isCountersignUrl(url) ? SCIM_DIALECTS.countersign : SCIM_DIALECTS.rfc;
    return { dialect, patch: false, maxResults: 100 };
  }
  const filter = toJsonObject(config.filter);
  const max = typeof filter.maxResults === "number" ? Math.trunc(filter.maxResults) : 100;
  return {
    dialect: SCIM_DIALECTS.rfc,
    patch: toJsonObject(config.patch).supported === true,
    // Some servers send 0 for no limit.
    maxResults: max < MIN_PAGE ? (max > 0 ? max : 100) : Math.min(max, MAX_PAGE),
  };
}

export function toJsonObject(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !isJsonArray(value) ? value : {};
}
