// What GET and .search read: a resource, lists with their parameters, /Me, and the discovery endpoints (RFC 7644 §3.4, §3.11, §4).

import { canonicalName } from "../../../platform/canonical_name.ts";
import { matchesTag } from "../../http/handlers.ts";
import { ScimRefusal, typedRefusal, valueRefusal } from "../../http/refusals.ts";
import { etagOf, renderListResponse } from "../../schema/render_resource.ts";
import type { JsonObject, JsonValue, ResourceKind, Stored } from "../../schema/resource.ts";
import type { RenderedResource } from "../../ports.ts";
import { type PageReads, type QueryOutcome, queryPage, storedOctets } from "../query/query.ts";
import {
  locationOf,
  type Projection,
  type ProjectionParameters,
  readGroupsOnce,
  type RenderContext,
  renderResponse,
  userRenderer,
} from "../schema/render_stored.ts";
import {
  type Operation,
  type OperationContext,
  type OperationResult,
  projectionOf,
  resourceTypeOf,
  traceResource,
} from "./operation.ts";
import { MAX_FILTER_CHARACTERS } from "../../filter/filter.ts";
import { isJsonArray, propertyWithoutCase } from "../../schema/attributes.ts";
import {
  type AttributeDefinition,
  type ResourceTypeDefinition,
  type SchemaDefinition,
  SEARCH_REQUEST_SCHEMA,
} from "../../schema/attribute_table.ts";
import { isMessage } from "../schema/read_body.ts";
import { BULK_LIMITS } from "../bulk/bulk_plan.ts";
import { CURSOR_TIMEOUT_SECONDS } from "../query/query_cursor.ts";
import {
  RESOURCE_TYPE_SCHEMA,
  SCHEMA_SCHEMA,
  SERVICE_PROVIDER_CONFIG_SCHEMA,
} from "../schema/target_schemas.ts";

/** How the resources of an operation are rendered. */
export function renderContextOf(operation: Pick<Operation, "context" | "kind">): RenderContext {
  const { baseUrl, target: { directory } } = operation.context;
  return { type: resourceTypeOf(operation), baseUrl, directory };
}

/** The resource of an operation, with its members. @throws ScimRefusal `not_found` */
export async function readWanted({ context, kind, id }: Operation): Promise<Stored> {
  const stored = id === null ? null : await context.target.directory.readById(kind, id);
  if (stored === null) throw notFound(kind, id);
  traceResource(context, stored);
  return stored;
}

/** @throws ScimRefusal `not_found` */
export async function readWantedHead({ context, kind, id }: Operation): Promise<Stored> {
  const stored = id === null ? null : await context.target.directory.readHeadById(kind, id);
  if (stored === null) throw notFound(kind, id);
  traceResource(context, stored);
  return stored;
}

const MAX_QUOTED = 64;

function notFound(kind: ResourceKind, id: string | null): ScimRefusal {
  const quoted = JSON.stringify((id ?? "").slice(0, MAX_QUOTED).toWellFormed());
  return new ScimRefusal("not_found", { detail: `There is no ${kind} with the id ${quoted}.` });
}

/** GET of one resource. */
export async function getOperation(operation: Operation): Promise<OperationResult> {
  const projection = projectionOf(operation);
  const { context, kind, id } = operation;
  if (kind === "user" && id !== null && projection.isPlain) {
    const renderer = userRenderer(renderContextOf(operation), projection);
    const user = await context.target.directory.render(renderer).readById(id);
    if (user === null) throw notFound(kind, id);
    context.trace.resource = { kind, id: user.id, name: user.name };
    return resultOf(operation, { ...user, text: () => Promise.resolve(user.text) });
  }
  const isHead = operation.kind === "group" && !projection.includes("members");
  const stored = isHead ? await readWantedHead(operation) : await readWanted(operation);
  return await storedResult(operation, { stored, projection, isHead });
}

async function storedResult(
  operation: Operation,
  { stored, projection, isHead = false }: { stored: Stored; projection: Projection; isHead?: boolean },
): Promise<OperationResult> {
  const { id, version } = stored;
  const text = () => renderResponse(stored, renderContextOf(operation), projection, { isHead });
  return await resultOf(operation, { id, version, text, isHead });
}

async function resultOf(
  operation: Operation,
  { id, version, text, isHead = false }: {
    id: string;
    version: string;
    text: () => Promise<string>;
    isHead?: boolean;
  },
): Promise<OperationResult> {
  const { ifNoneMatch } = operation;
  const etag = etagOf(version);
  const isHeld = !isHead && ifNoneMatch !== null && matchesTag(ifNoneMatch, etag);
  if (isHeld) return { status: 304, text: null, etag };
  const location = locationOf(renderContextOf(operation), id);
  return { status: 200, text: await text(), location, ...(isHead ? {} : { etag }) };
}

/** GET of /Me: the user that the connection was created for. */
export async function meOperation(operation: Operation): Promise<OperationResult> {
  const { target, connection: { settings: { meUser } } } = operation.context;
  const stored = meUser === null ? null : await target.directory.read("user", canonicalName(meUser));
  if (stored === null) throw new ScimRefusal("no_me");
  traceResource(operation.context, stored);
  return await storedResult(operation, { stored, projection: projectionOf(operation) });
}

/** A list of one kind, or of users and then groups (RFC 7644 §3.4.2.1). */
export async function listOperation(
  context: OperationContext,
  { kinds, parameters }: { kinds: readonly ResourceKind[]; parameters: ListParameters },
): Promise<OperationResult> {
  const texts: string[] = [];
  const { startIndex, count, cursor } = parameters;
  if (cursor !== null && kinds.length > 1) {
    throw valueRefusal("Use a cursor with /Users or /Groups, not with both at once.");
  }
  let total = 0;
  let skip = startIndex - 1;
  let isFull = false;
  let place: ReturnType<typeof cursorsOf> | null = null;
  for (const kind of kinds) {
    const found = await query(context, kind, {
      isRoot: kinds.length > 1,
      ...parameters,
      startIndex: skip + 1,
      count: isFull ? 0 : count - texts.length,
    });
    for (const { text } of found.resources) texts.push(text);
    // A page can end early, and the resources of the next kind come after all of this one.
    isFull ||= skip + found.resources.length < found.total;
    total += found.total;
    skip = Math.max(0, skip - found.total);
    if (cursor !== null) place = cursorsOf(found);
  }
  return { status: 200, text: renderListResponse({ total, texts, ...(place ?? { startIndex }) }) };
}

function cursorsOf({ nextCursor, previousCursor }: FoundPage) {
  return { nextCursor: nextCursor ?? undefined, previousCursor: previousCursor ?? undefined };
}

type FoundPage = Extract<QueryOutcome<RenderedResource>, { ok: true }>;

/** The resources of a page as texts. Users with all attributes come from memory. */
function pageReads(
  context: OperationContext,
  kind: ResourceKind,
  parameters: ListParameters,
): PageReads<RenderedResource> {
  const { directory } = context.target;
  const octetsOf = ({ storedLength }: RenderedResource) => storedLength;
  const projection = projectionOf({ context, kind, projection: parameters });
  const render = readGroupsOnce(renderContextOf({ context, kind }));
  if (kind === "user" && projection.isPlain) {
    const users = directory.render(userRenderer(render, projection));
    return {
      list: (_users, listing, options) => users.list(listing, options),
      readMany: (_users, listed) => users.readMany(listed),
      octetsOf,
    };
  }
  return {
    list: directory.indexes.list,
    async readMany(_kind, listed) {
      const found: RenderedResource[] = [];
      for (const stored of await directory.indexes.readMany(kind, listed)) {
        const text = await renderResponse(stored, render, projection);
        found.push({ text, storedLength: storedOctets(stored) });
      }
      return found;
    },
    octetsOf,
  };
}

async function query(
  context: OperationContext,
  kind: ResourceKind,
  parameters: ListParameters & { readonly isRoot: boolean },
): Promise<FoundPage> {
  const { target, schemas, baseUrl, cursors } = context;
  const reads = pageReads(context, kind, parameters);
  const found = await queryPage(target, schemas, { ...parameters, kind }, { ...cursors, baseUrl, reads });
  if (found.ok) return found;
  throw typedRefusal({ scimType: found.problem, detail: found.detail });
}

// The parameters of lists and searches, from a query or from a SearchRequest (RFC 7644 §3.4.2, §3.4.3, RFC 9865 §2).

/** No target has so many resources, so this page is empty, too. */
const MAX_START_INDEX = 2 ** 31;

interface ListParameters extends ProjectionParameters {
  readonly filter: string | null;
  readonly sortBy: string | null;
  readonly sortOrder: "ascending" | "descending";
  /** From 1. */
  readonly startIndex: number;
  readonly count: number;
  /** `null`: pages by index. Empty: the first page by cursor. */
  readonly cursor: string | null;
}

/** The resources of a page, if the request does not say how many, and at most. */
export const PAGE_SIZE = { preset: 100, max: 1000 } as const;

/** Of a filter, a sort path and a cursor. */
export const MAX_QUERY_CHARACTERS = MAX_FILTER_CHARACTERS;

/** The parameters of a GET. Unknown ones are ignored: Entra ID adds `aadOptscim062020`. @throws ScimRefusal `invalid_value` or `invalid_count` */
export function readListQuery(query: URLSearchParams): ListParameters {
  const text = (name: string): string | null => {
    const [value = null, ...more] = valuesWithoutCase(query, name);
    // To choose one of two filters would answer another question.
    if (more.some((other) => other !== value)) throw valueRefusal(`${name} is given twice.`);
    return value;
  };
  const cursor = text("cursor");
  return toListParameters({
    filter: text("filter"),
    sortBy: text("sortBy"),
    sortOrder: text("sortOrder"),
    startIndex: integerText(text("startIndex"), "startIndex"),
    count: integerText(text("count"), "count", cursor),
    cursor,
    ...projectionQuery(query),
  });
}

/** `attributes` and `excludedAttributes` of a query. A parameter that is repeated names more attributes. */
export function projectionQuery(query: URLSearchParams): ProjectionParameters {
  if (query.size === 0) return {};
  const only = valuesWithoutCase(query, "attributes");
  const except = valuesWithoutCase(query, "excludedAttributes");
  return {
    ...(only.length === 0 ? {} : { attributes: only.join(",") }),
    ...(except.length === 0 ? {} : { excludedAttributes: except.join(",") }),
  };
}

function valuesWithoutCase(query: URLSearchParams, name: string): string[] {
  const lower = name.toLowerCase();
  return [...query].flatMap(([key, value]) => key.toLowerCase() === lower ? [value] : []);
}

/** The parameters of a SearchRequest. @throws ScimRefusal `invalid_syntax`, `invalid_value` or `invalid_count` */
export function readSearchRequest(body: JsonObject): ListParameters {
  if (!isMessage(messageProperty(body, "schemas"), SEARCH_REQUEST_SCHEMA)) {
    throw new ScimRefusal("invalid_syntax", { detail: `Send "${SEARCH_REQUEST_SCHEMA}" in "schemas".` });
  }
  const cursor = textOf(body, "cursor");
  const names = (name: string): readonly string[] | undefined => {
    const given = messageProperty(body, name) ?? undefined;
    if (given === undefined) return undefined;
    if (isJsonArray(given) && given.every((one) => typeof one === "string")) return given;
    if (typeof given === "string") return given.split(",");
    throw valueRefusal(`${name} must be a list of names.`);
  };
  const [attributes, excludedAttributes] = [names("attributes"), names("excludedAttributes")];
  return toListParameters({
    filter: textOf(body, "filter"),
    sortBy: textOf(body, "sortBy"),
    sortOrder: textOf(body, "sortOrder"),
    startIndex: integerOf(messageProperty(body, "startIndex"), "startIndex"),
    count: integerOf(messageProperty(body, "count"), "count", cursor),
    cursor,
    ...(attributes === undefined ? {} : { attributes }),
    ...(excludedAttributes === undefined ? {} : { excludedAttributes }),
  });
}

interface GivenParameters extends ProjectionParameters {
  readonly filter: string | null;
  readonly sortBy: string | null;
  readonly sortOrder: string | null;
  readonly startIndex: number | null;
  readonly count: number | null;
  readonly cursor: string | null;
}

function toListParameters(given: GivenParameters): ListParameters {
  const { filter, sortBy, startIndex, count, cursor, sortOrder: _order, ...projection } = given;
  for (const [name, text] of Object.entries({ filter, sortBy, cursor })) {
    if (text !== null && text.length > MAX_QUERY_CHARACTERS) {
      throw valueRefusal(`${name} must have at most ${MAX_QUERY_CHARACTERS} characters.`);
    }
  }
  if (cursor !== null && count !== null && count < 1) throw invalidInteger("count", cursor);
  if (cursor !== null && cursor !== "" && startIndex !== null) {
    throw valueRefusal("Send either cursor or startIndex, not both.");
  }
  return {
    ...projection,
    filter: filter === null || filter.trim() === "" ? null : filter,
    sortBy: sortBy === null || sortBy.trim() === "" ? null : sortBy,
    sortOrder: sortOrderOf(given.sortOrder),
    // RFC 7644 §3.4.2.4: less than 1 means 1, and a negative count means 0.
    startIndex: Math.min(Math.max(1, startIndex ?? 1), MAX_START_INDEX),
    count: Math.min(Math.max(0, count ?? PAGE_SIZE.preset), PAGE_SIZE.max),
    cursor,
  };
}

function messageProperty(body: JsonObject, name: string): JsonValue | undefined {
  return propertyWithoutCase(
    body,
    name,
    () => new ScimRefusal("invalid_syntax", { detail: `Send "${name}" once. Case does not count.` }),
  );
}

function textOf(body: JsonObject, name: string): string | null {
  const given = messageProperty(body, name) ?? null;
  if (given === null || typeof given === "string") return given;
  throw valueRefusal(`${name} must be a text.`);
}

function integerText(text: string | null, name: string, cursor: string | null = null): number | null {
  if (text === null || text === "") return null;
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) throw invalidInteger(name, cursor);
  return value;
}

function integerOf(given: JsonValue | undefined, name: string, cursor: string | null = null): number | null {
  if (given === undefined || given === null) return null;
  if (typeof given === "number" && Number.isSafeInteger(given)) return given;
  throw invalidInteger(name, cursor);
}

/** RFC 9865 §2.1 has its own error for the count of a page by cursor. */
function invalidInteger(name: string, cursor: string | null): ScimRefusal {
  if (cursor !== null) return new ScimRefusal("invalid_count");
  return valueRefusal(`${name} must be an integer.`);
}

/** RFC 7644 §3.4.2.3. The short forms are accepted, and another word is not read as the default order. */
function sortOrderOf(given: string | null): ListParameters["sortOrder"] {
  const order = given?.trim().toLowerCase() ?? "";
  if (order === "" || order === "asc" || order === "ascending") return "ascending";
  if (order === "desc" || order === "descending") return "descending";
  throw valueRefusal("sortOrder must be ascending or descending.");
}

// /ServiceProviderConfig, /ResourceTypes and /Schemas (RFC 7644 §4, RFC 7643 §5 to §7).

/** What the server supports, and its limits (RFC 7643 §5, RFC 9865 §4). */
const FEATURES = {
  patch: { supported: true },
  bulk: { supported: true, ...BULK_LIMITS },
  filter: { supported: true, maxResults: PAGE_SIZE.max },
  changePassword: { supported: true },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: "oauthbearertoken",
      name: "Bearer token",
      description: "A token of a connection (RFC 6750).",
      specUri: "https://www.rfc-editor.org/info/rfc6750",
      primary: true,
    },
    {
      type: "oauth2",
      name: "OAuth 2.0 client credentials",
      description: "A short-lived token for the client secret of a connection (RFC 6749 §4.4).",
      specUri: "https://www.rfc-editor.org/info/rfc6749",
    },
    {
      type: "httpbasic",
      name: "HTTP Basic",
      description: "The name and password of a provisioning credential (RFC 7617).",
      specUri: "https://www.rfc-editor.org/info/rfc7617",
    },
  ],
  pagination: {
    cursor: true,
    index: true,
    defaultPaginationMethod: "index",
    defaultPageSize: PAGE_SIZE.preset,
    maxPageSize: PAGE_SIZE.max,
    cursorTimeout: CURSOR_TIMEOUT_SECONDS,
  },
} as const;

export function serviceProviderConfig({ baseUrl }: Pick<OperationContext, "baseUrl">): OperationResult {
  return found({
    schemas: [SERVICE_PROVIDER_CONFIG_SCHEMA],
    ...FEATURES,
    meta: metaOf("ServiceProviderConfig", `${baseUrl}/ServiceProviderConfig`),
  });
}

/** @param id `null`: all of them. */
export function resourceTypes({ schemas, baseUrl }: OperationContext, id: string | null): OperationResult {
  const types = Object.values(schemas.types);
  if (id === null) return listed(types.map((type) => renderResourceType(type, baseUrl)));
  const type = types.find(({ name }) => name.toLowerCase() === id.toLowerCase());
  if (type === undefined) {
    throw new ScimRefusal("not_found", { detail: "There is no resource type of that name." });
  }
  return found(renderResourceType(type, baseUrl));
}

/** @param id the URN. `null`: all of them. */
export function schemaList({ schemas, baseUrl }: OperationContext, id: string | null): OperationResult {
  if (id === null) return listed(schemas.schemas.map((schema) => renderSchema(schema, baseUrl)));
  const schema = schemas.schemas.find((one) => one.id.toLowerCase() === id.toLowerCase());
  if (schema === undefined) {
    throw new ScimRefusal("not_found", { detail: "There is no schema with that URN." });
  }
  return found(renderSchema(schema, baseUrl));
}

function found(body: JsonObject): OperationResult {
  return { status: 200, text: JSON.stringify(body) };
}

function listed(bodies: readonly JsonObject[]): OperationResult {
  const texts = bodies.map((body) => JSON.stringify(body));
  return { status: 200, text: renderListResponse({ total: texts.length, texts, startIndex: 1 }) };
}

/** @param baseUrl the absolute URL of the target, without a slash at the end. */
export function renderResourceType(type: ResourceTypeDefinition, baseUrl: string): JsonObject {
  return {
    schemas: [RESOURCE_TYPE_SCHEMA],
    id: type.name,
    name: type.name,
    description: type.description,
    endpoint: type.endpoint,
    schema: type.schema.id,
    schemaExtensions: type.extensions.map(({ schema, required }) => ({ schema: schema.id, required })),
    meta: metaOf("ResourceType", `${baseUrl}/ResourceTypes/${type.name}`),
  };
}

/** @param baseUrl the absolute URL of the target, without a slash at the end. */
export function renderSchema(
  { id, name, description, attributes }: SchemaDefinition,
  baseUrl: string,
): JsonObject {
  return {
    schemas: [SCHEMA_SCHEMA],
    id,
    name,
    description,
    attributes: attributes.map(renderDefinition),
    // A URN may have characters that a path does not have (RFC 8141 §2).
    meta: metaOf("Schema", `${baseUrl}/Schemas/${encodeURIComponent(id).replaceAll("%3A", ":")}`),
  };
}

/** As in RFC 7643 §8.7.1: `caseExact` and `uniqueness` only for values that can have them. */
function renderDefinition(definition: AttributeDefinition): JsonObject {
  const { name, type, multiValued, description, required, canonicalValues, referenceTypes, subAttributes } =
    definition;
  const isComparable = type !== "complex" && type !== "boolean";
  return {
    name,
    type,
    multiValued,
    description,
    required,
    ...(canonicalValues === undefined ? {} : { canonicalValues }),
    ...(isComparable ? { caseExact: definition.caseExact } : {}),
    mutability: definition.mutability,
    returned: definition.returned,
    ...(isComparable ? { uniqueness: definition.uniqueness } : {}),
    ...(referenceTypes === undefined ? {} : { referenceTypes }),
    ...(subAttributes === undefined ? {} : { subAttributes: subAttributes.map(renderDefinition) }),
  };
}

function metaOf(resourceType: string, location: string): JsonObject {
  return { resourceType, location };
}
