// Maps between SCIM attributes and front-end attributes of a target, and contains the default mappings. An attribute
// without a row has the same name on both sides.

import type { Content, FrontEnd, JsonValue, Mapping, MappingRow, ResourceKind } from "./resource.ts";
import {
  type AttributePath,
  createDraft,
  isJsonObject,
  property,
  readPath,
  SCIM_ATTRIBUTES,
  textsAt,
  textsOf,
  writePath,
} from "./attributes.ts";
import { ENTERPRISE_SCHEMA, findDefinition, findSub } from "./attribute_table.ts";
import { isReadOnly, type ReadOnlyAttributes, withPersonName } from "./merge.ts";
import { distinctNames } from "./resource_name.ts";

/** The default table of the interface specification. `name[].sub` means each entry of a multi-valued attribute. */
export const DEFAULT_USER_MAPPING = [
  { scim: "id", frontEnd: "userName" },
  { scim: "externalId", frontEnd: "userName" },
  { scim: "name.familyName", frontEnd: "familyName" },
  { scim: "name.givenName", frontEnd: "givenName" },
  { scim: "name.formatted", frontEnd: "formatted" },
  { scim: "name.middleName", frontEnd: "middleName" },
  { scim: "name.honorificPrefix", frontEnd: "honorificPrefix" },
  { scim: "name.honorificSuffix", frontEnd: "honirificSuffix" },
  { scim: "emails[].value", frontEnd: "mail" },
  { scim: "phoneNumbers[].value", frontEnd: "phoneNumber" },
  { scim: "imgs[].value", frontEnd: "img" },
  { scim: "photos[].value", frontEnd: "photo" },
  { scim: "addresses[].streetAddress", frontEnd: "streetAddress" },
  { scim: "addresses[].locality", frontEnd: "locality" },
  { scim: "addresses[].region", frontEnd: "region" },
  { scim: "addresses[].postralCode", frontEnd: "postralCode" },
  { scim: "addresses[].country", frontEnd: "country" },
  { scim: "entitlements[].value", frontEnd: "entitlement" },
  { scim: "roles[].value", frontEnd: "role" },
  { scim: "x509Certificates[].value", frontEnd: "x509Certificate" },
  { scim: "manager.displayName", frontEnd: "manager" },
] as const satisfies readonly MappingRow[];

export const DEFAULT_GROUP_MAPPING = [
  { scim: "id", frontEnd: "groupName" },
  { scim: "displayName", frontEnd: "groupName" },
  { scim: "externalId", frontEnd: "groupName" },
  { scim: "members[].display", frontEnd: "member" },
] as const satisfies readonly MappingRow[];

export { mergeContent } from "./merge.ts";

/** The rows of the settings, which replace or extend the default table: SCIM attribute → front-end attribute. */
interface MappingSettings {
  readonly user: Readonly<Record<string, string>>;
  readonly group: Readonly<Record<string, string>>;
}

const DEFAULTS: Readonly<Record<ResourceKind, readonly MappingRow[]>> = {
  user: DEFAULT_USER_MAPPING,
  group: DEFAULT_GROUP_MAPPING,
};

/** The front-end attribute with a resource's name. A mapping can add another one. */
const NAME_FRONT_END = { user: "userName", group: "groupName" } as const;
const NAME_ATTRIBUTE = { user: "userName", group: "displayName" } as const;

/**
 * The default table with the changes of the settings. A setting replaces the row of its SCIM attribute, or adds a row.
 *
 * @param settings SCIM attributes in the spelling of the interface specification or of the RFC.
 */
export function createMapping(settings: MappingSettings): Mapping {
  return { user: overlay("user", settings.user), group: overlay("group", settings.group) };
}

function overlay(kind: ResourceKind, settings: Readonly<Record<string, string>>): MappingRow[] {
  const rows = new Map<string, MappingRow>();
  const put = (scim: string, frontEnd: string) => {
    const spelled = writePath(readPath(kind, scim));
    rows.set(spelled, { scim: spelled, frontEnd });
  };
  for (const { scim, frontEnd } of DEFAULTS[kind]) put(scim, frontEnd);
  for (const [scim, frontEnd] of Object.entries(settings)) put(scim, frontEnd);
  return [...rows.values()];
}

/** A parsed mapping of one kind. */
interface Plan {
  /** The rows, except those of the name, `active`, `members`, and of an id or externalId that is the name. */
  readonly rows: readonly { readonly path: AttributePath; readonly frontEnd: string }[];
  readonly names: ReadonlySet<string>;
  readonly active: string;
  readonly members: ReadonlySet<string>;
  readonly id: string;
  readonly externalId: string;
  /** Front-end attributes that no longer map to the SCIM attribute of the same name. */
  readonly takenFrontEnds: ReadonlySet<string>;
  /** SCIM attributes that a row names without a sub-attribute. */
  readonly takenAttributes: ReadonlySet<string>;
}

const plans = new WeakMap<Mapping, Map<ResourceKind, Plan>>();

function planOf(mapping: Mapping, kind: ResourceKind): Plan {
  const made = plans.get(mapping) ?? new Map<ResourceKind, Plan>();
  plans.set(mapping, made);
  const plan = made.get(kind) ?? createPlan(mapping[kind], kind);
  made.set(kind, plan);
  return plan;
}

function createPlan(mappingRows: readonly MappingRow[], kind: ResourceKind): Plan {
  const all = mappingRows.map(({ scim, frontEnd }) => ({ path: readPath(kind, scim), frontEnd }));
  const frontEndOf = (scim: string) => mappingRows.find((row) => row.scim === scim)?.frontEnd;
  const name = NAME_FRONT_END[kind];
  const names = new Set([name, frontEndOf(NAME_ATTRIBUTE[kind]) ?? name]);
  const id = frontEndOf("id") ?? name;
  const externalId = frontEndOf("externalId") ?? name;
  const isElsewhere = ({ path }: { path: AttributePath }) =>
    path.attribute === NAME_ATTRIBUTE[kind] || path.attribute === "id" || path.attribute === "active" ||
    (kind === "group" && path.attribute === "members") ||
    (path.attribute === "externalId" && names.has(externalId));
  const rows = all.filter((row) => !isElsewhere(row));
  const active = frontEndOf("active") ?? "active";
  const members = new Set(
    all.filter(({ path }) => kind === "group" && path.attribute === "members").map(({ frontEnd }) =>
      frontEnd
    ),
  );
  const taken = rows.map(({ frontEnd }) => frontEnd);
  return {
    rows,
    names,
    active,
    members,
    id,
    externalId,
    takenFrontEnds: new Set([...taken, ...names, ...members, ...(kind === "user" ? [active] : [])]),
    takenAttributes: new Set(all.filter(({ path }) => path.sub === null).map(({ path }) => path.attribute)),
  };
}

/** Whether an externalId is stored separately from the name, because the mapping gives it a front-end attribute. */
export function hasOwnExternalId(kind: ResourceKind, mapping: Mapping): boolean {
  const { names, externalId } = planOf(mapping, kind);
  return !names.has(externalId);
}

/** The id and the externalId of a resource: its name, unless the mapping gives them another attribute. */
export function resourceIds(content: Content, mapping: Mapping): { id: string; externalId: string } {
  const plan = planOf(mapping, content.kind);
  if (plan.names.has(plan.id) && plan.names.has(plan.externalId)) {
    return { id: content.name, externalId: content.name };
  }
  const frontEnd = toFrontEnd(content, mapping);
  return {
    // An empty id would be useless.
    id: frontEnd.get(plan.id)?.[0] ?? content.name,
    externalId: frontEnd.get(plan.externalId)?.[0] ?? "",
  };
}

/**
 * A resource as front-end attributes: first those of the rows, then attributes without a row under their own names, also those of the enterprise
 * extension. Values are texts in order. Empty values are omitted, so the lists of the parts of addresses may not match by position.
 */
export function toFrontEnd(content: Content, mapping: Mapping): FrontEnd {
  const plan = planOf(mapping, content.kind);
  const frontEnd = new Map<string, readonly string[]>();
  const put = (name: string, texts: readonly string[]) => {
    if (texts.length > 0 && !frontEnd.has(name)) frontEnd.set(name, texts);
  };
  for (const name of plan.names) put(name, [content.name]);
  if (content.kind === "user") put(plan.active, [String(content.active)]);
  else for (const name of plan.members) put(name, content.members);
  for (const { path, frontEnd: name } of plan.rows) put(name, textsAt(content.attributes, path));
  const putByName = ([name, value]: [string, JsonValue]) => {
    if (!plan.takenFrontEnds.has(name) && !plan.takenAttributes.has(name)) put(name, textsOf(value));
  };
  const enterprise = property(content.attributes, ENTERPRISE_SCHEMA);
  // Attributes that the extension does not define would come back outside it.
  const defined = isJsonObject(enterprise)
    ? Object.entries(enterprise).filter(([name]) => isEnterprise(name))
    : [];
  defined.forEach(putByName);
  Object.entries(content.attributes).forEach(putByName);
  return frontEnd;
}

/** The SCIM paths of a front-end attribute. None for the name, `active`, `members`, and attributes that cannot be set. */
function pathsOf(frontEndName: string, plan: Plan, kind: ResourceKind): readonly AttributePath[] {
  if (plan.takenFrontEnds.has(frontEndName)) {
    return plan.rows.filter(({ frontEnd }) => frontEnd === frontEndName).map(({ path }) => path);
  }
  if (plan.takenAttributes.has(frontEndName)) return [];
  const isInExtension = kind === "user" && isEnterprise(frontEndName);
  const path = readPath(kind, isInExtension ? `${ENTERPRISE_SCHEMA}:${frontEndName}` : frontEndName);
  return isSimple(path) ? [path] : [];
}

/** Whether the enterprise extension has an attribute with that name, but the core schema does not. */
function isEnterprise(name: string): boolean {
  return findSub(findDefinition(SCIM_ATTRIBUTES.user, ENTERPRISE_SCHEMA), name) !== undefined &&
    findDefinition(SCIM_ATTRIBUTES.user, name) === undefined;
}

/** Whether a front-end attribute can map to the SCIM attribute of the same name: it has no sub-attributes, and the server does not set it. */
function isSimple({ attribute, sub, multi, known }: AttributePath): boolean {
  if (sub !== null || attribute === "" || attribute === "__proto__") return false;
  return known === null ? !multi : known.type !== "complex" && known.mutability === "readWrite";
}

/**
 * A resource from front-end attributes. A user is active if `active` is missing or "true".
 *
 * @param options `name` is spelled as at the backend.
 */
export function fromFrontEnd(
  frontEnd: FrontEnd,
  { kind, name, mapping }: { kind: ResourceKind; name: string; mapping: Mapping },
): Content {
  const plan = planOf(mapping, kind);
  const draft = createDraft();
  for (const [frontEndName, texts] of frontEnd) {
    const values = texts.filter((text) => text !== "");
    if (values.length === 0) continue;
    for (const path of pathsOf(frontEndName, plan, kind)) draft.set(path, values);
  }
  const attributes = draft.finish();
  if (kind === "user") {
    const active = frontEnd.get(plan.active)?.[0];
    return {
      kind,
      name,
      active: active === undefined || active.toLowerCase() === "true",
      attributes: withPersonName(attributes),
    };
  }
  const members = [...plan.members].flatMap((member) => frontEnd.get(member) ?? []);
  return { kind, name, attributes, members: distinctNames(members.filter((member) => member !== "")) };
}

/** A front-end attribute of a backend. `single`: it stores only the first value. */
interface FrontEndAttribute {
  readonly frontEnd: string;
  readonly single?: boolean;
}

/** Whether every SCIM attribute of a front-end attribute of a user is read-only. */
export function isFrontEndReadOnly(
  frontEnd: string,
  mapping: Mapping,
  readOnly: ReadOnlyAttributes,
): boolean {
  const paths = pathsOf(frontEnd, planOf(mapping, "user"), "user");
  return paths.length > 0 && paths.every((path) => isReadOnly(path, readOnly));
}

/**
 * The SCIM attributes that some front-end attributes cover, for {@link mergeContent}: each top-level attribute, and each path in a complex one, such
 * as `name` and `name.familyName`, or a URN and `urn:…:department`. `addresses[0].region` means that only the first entry is stored.
 *
 * @param held names, or the rows of a backend.
 */
export function coveredAttributes(
  held: Iterable<string | FrontEndAttribute>,
  mapping: Mapping,
  kind: ResourceKind,
): Set<string> {
  const plan = planOf(mapping, kind);
  const covered = new Set<string>();
  for (const one of held) {
    const { frontEnd, single = false } = typeof one === "string" ? { frontEnd: one } : one;
    for (const { schema, attribute, multi, sub } of pathsOf(frontEnd, plan, kind)) {
      covered.add(schema ?? attribute);
      if (schema !== null) covered.add(`${schema}:${attribute}`);
      else if (sub !== null) covered.add(`${attribute}.${sub}`);
      if (single && multi && sub !== null) covered.add(`${attribute}[0].${sub}`);
    }
  }
  return covered;
}
