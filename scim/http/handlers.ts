// The handlers of the SCIM operations: each reads the request, calls the target and returns the response.

import { createHash } from "node:crypto";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { RequestBody } from "../../platform/http_error.ts";
import { type Clock, type Random, randomUuid, withTimeout } from "../../platform/runtime.ts";
import { ScimRefusal, type ScimRefusalCode, typedRefusal, valueRefusal } from "./refusals.ts";
import {
  createResponse,
  type QueryName,
  receiptHeaders,
  resourceLocation,
  type RouteHandler,
  type RouteRow,
} from "./routes.ts";
import { MAX_FILTER_CHARACTERS } from "../filter/filter.ts";
import type { Actor, BackendInfo, Page, Target, UserRenderer, Written } from "../ports.ts";
import type { RefreshReport } from "../backend_port.ts";
import type { Content, JsonObject, ResourceKind, Stored } from "../schema/resource.ts";
import { SEARCH_REQUEST_SCHEMA } from "../schema/attribute_table.ts";
import { isNamed, parseResource } from "../schema/parse_resource.ts";
import { parseJsonObject } from "../schema/attributes.ts";
import { extensionProblem } from "../v2/schema/custom_extension.ts";
import type { TargetSchemas } from "../v2/schema/target_schemas.ts";
import { nameFromPath } from "../schema/resource_name.ts";
import { etagOf, renderList, renderResource } from "../schema/render_resource.ts";

/** An authorized request for a row of SCIM_ROUTES. */
interface ScimCall {
  readonly headers: Headers;
  readonly body: RequestBody;
  readonly url: URL;
  readonly row: RouteRow;
  readonly kind: ResourceKind;
  readonly target: Target;
  readonly actor: Actor;
  /** The schemas of the target. */
  readonly types: TargetSchemas["types"];
  /** The path segment with the resource's name, still encoded. */
  readonly segment: string;
}

interface HandlerDeps {
  readonly http: { readonly publicUrl: string };
  readonly clock: Clock;
  readonly random: Random;
}

type Handler = (ask: ScimCall, deps: HandlerDeps) => Promise<Response>;

export const HANDLERS: Readonly<Record<RouteHandler, Handler>> = {
  async list(ask, deps) {
    const query = queryOf(ask);
    if (query.refresh) await refreshEverything(ask.target, { actor: ask.actor, clock: deps.clock });
    const { texts, ...place } = await readTexts(ask, query, deps);
    const text = renderList(texts, place);
    return conditionally(ask, { text, etag: contentTag(text) });
  },

  async get(ask, deps) {
    const { target, kind, actor } = ask;
    const name = nameOf(ask);
    const { refresh } = queryOf(ask);
    if (kind === "user" && !refresh) {
      const user = await target.directory.render(rendererOf(ask, deps)).read(canonicalName(name));
      if (user === null) throw new ScimRefusal("not_found");
      return conditionally(ask, { text: user.text, etag: etagOf(user.version) });
    }
    const stored = refresh
      ? await withRefreshTimeout(target.refreshOne(kind, name, actor), deps.clock)
      : await target.directory.read(kind, canonicalName(name));
    if (stored === null) throw new ScimRefusal("not_found");
    return conditionally(ask, { text: resourceText(stored, ask, deps), etag: etagOf(stored.version) });
  },

  async create(ask, deps) {
    const { target, actor } = ask;
    // The body first: a search ignores the query parameters, so none of them is an error.
    const { content, password } = await contentOf(ask, deps);
    const { backends } = queryOf(ask);
    const written = await target.create(content, { actor, backends, password });
    return writeResponse(written, { status: 201, ask, deps });
  },

  async replace(ask, deps) {
    const { target, actor } = ask;
    const pathName = nameOf(ask);
    const { backends } = queryOf(ask);
    const { content, password } = await contentOf(ask, deps, { pathName });
    const ifVersion = await expectedVersion(ask, pathName);
    const written = await target.replace(content, { actor, backends, password, ifVersion });
    return writeResponse(written, { status: 200, ask, deps });
  },

  async delete(ask) {
    const { target, kind, actor } = ask;
    const name = nameOf(ask);
    const { backends } = queryOf(ask);
    const ifVersion = await expectedVersion(ask, name);
    const { receipt } = await target.remove(kind, name, { actor, backends, ifVersion });
    return createResponse(null, { status: 204, headers: receiptHeaders(receipt) });
  },

  none: () => Promise.reject(new ScimRefusal("unsupported")),
};

function queryOf({ url, row, target }: ScimCall): ScimQuery {
  return readQuery(url.searchParams, { names: row.query, backends: target.backends });
}

function nameOf({ segment }: ScimCall): string {
  const read = nameFromPath(segment);
  if (!read.ok) throw valueRefusal(`The name in the path is not valid: ${read.problem}.`);
  return read.name;
}

/** A page as JSON texts. */
async function readTexts(
  ask: ScimCall,
  query: ScimQuery,
  deps: HandlerDeps,
): Promise<{ texts: readonly string[]; total: number; startIndex: number }> {
  const { target, kind } = ask;
  if (kind === "user" && query.q === null) {
    const options = { page: query.page, size: target.pageSize };
    const { users, ...place } = await target.directory.render(rendererOf(ask, deps)).page(options);
    return { ...place, texts: users.map(({ text }) => text) };
  }
  const { resources, ...place } = await readPage(ask, query);
  return { ...place, texts: resources.map((stored) => resourceText(stored, ask, deps)) };
}

function rendererOf(ask: ScimCall, deps: HandlerDeps): UserRenderer {
  const { target: { name, mapping } } = ask;
  return {
    interfaceName: "idm",
    on: [name, mapping, deps.http.publicUrl],
    render: (stored) => resourceText(stored, ask, deps),
  };
}

async function readPage({ target, kind }: ScimCall, { page, q }: ScimQuery): Promise<Page> {
  const options = { page, size: target.pageSize };
  if (q === null) return await target.directory.page(kind, options);
  const found = await target.directory.search(kind, q, options);
  if (found.ok) return found.page;
  throw typedRefusal({ scimType: found.problem.kind, detail: found.problem.detail });
}

async function contentOf(
  { body, kind, target, types }: ScimCall,
  { random }: HandlerDeps,
  { pathName }: { pathName?: string } = {},
): Promise<{ content: Content; password: string | undefined }> {
  const parsed = parseJsonObject(await body.read());
  if (!parsed.ok) throw new ScimRefusal("invalid_syntax", { detail: parsed.problem });
  if (pathName === undefined && isSearch(parsed.value)) throw new ScimRefusal("unsupported");
  const newName = () => randomUuid(random);
  const readStored = async () =>
    pathName === undefined ? null : await target.directory.read(kind, canonicalName(pathName));
  const group = kind === "group" ? await readStored() : null;
  const members = group?.content.kind === "group" ? group.content.members : [];
  const options = { mapping: target.mapping, pathName, members, newName };
  const read = parseResource(kind, parsed.value, options);
  const problem = read.ok ? extensionProblem(read.content.attributes, types[kind]) : null;
  const isWhole = pathName === undefined || isNamed(kind, parsed.value);
  if (read.ok && problem === null && isWhole) return read;
  // What the resource has may stay: the spelling of its name, and values that only a backend could set.
  const stored = group ?? await readStored();
  const again = stored === null ? read : parseResource(kind, parsed.value, {
    ...options,
    pathName: stored.content.name,
    previous: stored.content.attributes,
  });
  if (!again.ok) throw new ScimRefusal(again.code, { detail: again.detail });
  const detail = extensionProblem(again.content.attributes, types[kind], stored?.content.attributes);
  if (detail !== null) throw valueRefusal(detail);
  return again;
}

/** RFC 7644 §3.4.3: the schema distinguishes a search from a resource. */
function isSearch({ schemas }: JsonObject): boolean {
  const wanted = SEARCH_REQUEST_SCHEMA.toLowerCase();
  return Array.isArray(schemas) &&
    schemas.some((one) => typeof one === "string" && one.toLowerCase() === wanted);
}

/** The version that the request requires, if any (RFC 9110 §13.1). */
async function expectedVersion(
  { headers, target, kind }: ScimCall,
  name: string,
): Promise<string | undefined> {
  const match = parsePrecondition(headers.get("if-match"));
  const noneMatch = parsePrecondition(headers.get("if-none-match"));
  if (match === null && noneMatch === null) return undefined;
  const stored = await target.directory.read(kind, canonicalName(name));
  // For a missing resource, the response is the same as without the condition (RFC 9110 §13.2.1).
  if (stored === null) return undefined;
  checkPreconditions({ ifMatch: match, ifNoneMatch: noneMatch }, stored);
  return match === null || match === "any" ? undefined : stored.version;
}

function resourceText(
  stored: Stored,
  { target, kind }: ScimCall,
  { http: { publicUrl } }: HandlerDeps,
): string {
  const { name } = stored.content;
  return renderResource(stored, {
    location: resourceLocation({ publicUrl, target: target.name }, { kind, name }),
    mapping: target.mapping,
  });
}

/** A list has no version, so its tag is a hash of the text. */
function contentTag(text: string): string {
  return `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
}

function conditionally(
  { headers }: ScimCall,
  { text, etag }: { text: string; etag: string },
): Response {
  const held = parsePrecondition(headers.get("if-none-match"));
  const isHeld = held !== null && matchesTag(held, etag);
  return isHeld
    ? createResponse(null, { status: 304, headers: { etag } })
    : createResponse(text, { status: 200, headers: { etag } });
}

function writeResponse(
  { stored, receipt }: Written,
  { status, ask, deps }: { status: 200 | 201; ask: ScimCall; deps: HandlerDeps },
): Response {
  if (stored === null) throw new Error("Cannot answer a write: the target returned no resource");
  const { name } = stored.content;
  const location = resourceLocation(
    { publicUrl: deps.http.publicUrl, target: ask.target.name },
    { kind: ask.kind, name },
  );
  return createResponse(resourceText(stored, ask, deps), {
    status,
    headers: {
      etag: etagOf(stored.version),
      ...receiptHeaders(receipt),
      ...status === 201 ? { location } : {},
    },
  });
}

/** The condition of a header: any version, or one of these tags. */
export type Precondition = "any" | readonly string[];

/** The maximum number of tags in one header. */
const MAX_TAGS = 100;
const TAG = /(?:W\/)?"([^"]*)"/g;

/** The opaque parts of the tags in If-Match or If-None-Match. `null`: the header is absent. */
export function parsePrecondition(header: string | null): Precondition | null {
  if (header === null) return null;
  if (header.trim() === "*") return "any";
  const tags: string[] = [];
  for (const [, opaque = ""] of header.matchAll(TAG)) {
    if (tags.length >= MAX_TAGS) break;
    tags.push(opaque);
  }
  return tags;
}

/** Whether an existing resource with an entity tag, such as `W/"x"`, matches the condition. */
export function matchesTag(condition: Precondition, etag: string): boolean {
  return condition === "any" || condition.includes(etag.replace(/^W\//, "").replaceAll('"', ""));
}

/** Checks If-Match and If-None-Match of a write (RFC 7644 §3.14). @throws ScimRefusal `precondition` */
export function checkPreconditions(
  { ifMatch, ifNoneMatch }: { ifMatch: Precondition | null; ifNoneMatch: Precondition | null },
  { version }: Pick<Stored, "version">,
): void {
  const tag = etagOf(version);
  if (ifNoneMatch !== null && matchesTag(ifNoneMatch, tag)) {
    throw new ScimRefusal("precondition", { detail: "The resource exists, and If-None-Match matches it." });
  }
  if (ifMatch !== null && !matchesTag(ifMatch, tag)) throw new ScimRefusal("precondition");
}

/** How long a request waits for a refresh. The refresh itself continues. */
const REFRESH_TIMEOUT_MS = 120_000;
const RETRY_AFTER_S = "30";
const MAX_LISTED_FAULTS = 5;

/**
 * Reads all resources of a target from its backends.
 *
 * @throws ScimRefusal `backend_unreachable`, `backend_failed`; `busy` if it takes too long.
 */
async function refreshEverything(
  target: Target,
  { actor, clock }: { actor: Actor; clock: Clock },
): Promise<void> {
  const refusal = reportRefusal(await withRefreshTimeout(target.refreshAll(actor), clock));
  if (refusal !== null) throw refusal;
}

/** The refusal for a refresh with faults. `null` if it read everything. */
function reportRefusal(report: RefreshReport): ScimRefusal | null {
  // Entries that cannot be resources never appear in a response.
  const faults = report.faults.filter(({ kind }) => kind !== "left_out");
  if (faults.length === 0) return null;
  const named = faults.slice(0, MAX_LISTED_FAULTS).map(({ backend, detail }) => `"${backend}": ${detail}`)
    .join(" ");
  const more = faults.length > MAX_LISTED_FAULTS ? ` And ${faults.length - MAX_LISTED_FAULTS} more.` : "";
  const code: ScimRefusalCode = faults.some(({ kind }) => kind !== undefined && PERMANENT.has(kind))
    ? "backend_failed"
    : "backend_unreachable";
  return new ScimRefusal(code, {
    detail: `Some connectors could not be read. ${named}${more}`,
    headers: code === "backend_unreachable" ? { "retry-after": RETRY_AFTER_S } : {},
  });
}

/** Faults that a retry does not fix. */
const PERMANENT: ReadonlySet<string> = new Set([
  ...["refused", "nonsense", "unsupported", "deletion_limit", "addition_limit", "rename_conflict"],
]);

/** Waits for a refresh, up to a limit. */
async function withRefreshTimeout<T>(refresh: Promise<T>, clock: Clock): Promise<T> {
  const timed = await withTimeout(refresh, { clock, timeoutMs: REFRESH_TIMEOUT_MS });
  if (timed.inTime) return timed.value;
  throw new ScimRefusal("busy", {
    detail: "The connectors are still being read. Try again later, or without refresh for the stored data.",
    headers: { "retry-after": RETRY_AFTER_S },
  });
}

// The query parameters of an operation. Unknown parameters are ignored.

/** The query of a request. Parameters that are absent, or that the operation ignores, have their defaults. */
interface ScimQuery {
  readonly refresh: boolean;
  /** From 1. */
  readonly page: number;
  /** `null` if absent or empty. */
  readonly q: string | null;
  /** Absent: all backends of the target. */
  readonly backends?: readonly string[];
}

const PRESET: ScimQuery = { refresh: false, page: 1, q: null };
const MAX_PAGE = 2 ** 31;

interface QueryContext {
  readonly backends: readonly BackendInfo[];
}

/** The parser of each parameter. It throws the refusal for a bad value. */
const READERS: Readonly<Record<QueryName, (text: string, reading: QueryContext) => Partial<ScimQuery>>> = {
  refresh(text) {
    if (text !== "true" && text !== "false") throw valueRefusal("refresh must be true or false.");
    return { refresh: text === "true" };
  },
  page(text) {
    const page = /^[0-9]{1,16}$/.test(text) ? Number(text) : 0;
    if (page < 1) throw valueRefusal("page must be a whole number from 1, with at most 16 digits.");
    // No target has so many pages, so this page is empty, too.
    return { page: Math.min(page, MAX_PAGE) };
  },
  q(text) {
    if (text.length > MAX_FILTER_CHARACTERS) {
      throw valueRefusal(`q must have at most ${MAX_FILTER_CHARACTERS.toLocaleString("en-US")} characters.`);
    }
    return { q: text.trim() === "" ? null : text };
  },
  backends: (text, { backends }) => ({ backends: backendNames(text, backends) }),
};

/**
 * @param given the request's parameters.
 * @param listed the parameters of the operation, and the backends of its target.
 * @throws ScimRefusal `invalid_value` or `unknown_backend`; also if one of these parameters is given twice.
 */
function readQuery(
  given: URLSearchParams,
  listed: QueryContext & { readonly names: readonly QueryName[] },
): ScimQuery {
  let query = PRESET;
  for (const name of listed.names) {
    const values = given.getAll(name);
    const [text] = values;
    if (text === undefined) continue;
    if (values.length > 1) throw valueRefusal(`${name} is given twice.`);
    query = { ...query, ...READERS[name](text, listed) };
  }
  return query;
}

function backendNames(text: string, backends: readonly BackendInfo[]): string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  for (const name of names) {
    if (name === "") {
      throw valueRefusal("backends must be a list of names, separated by commas. One of them is empty.");
    }
    if (backends.some((one) => one.name === name)) continue;
    const known = backends.map((one) => `"${one.name}"`).join(", ");
    throw new ScimRefusal("unknown_backend", {
      detail: `The directory has no connector "${shortened(name)}". It has ${known}.`,
    });
  }
  return names;
}

const MAX_QUOTED_CHARACTERS = 64;

function shortened(text: string): string {
  return text.length > MAX_QUOTED_CHARACTERS ? `${text.slice(0, MAX_QUOTED_CHARACTERS)}…` : text;
}
