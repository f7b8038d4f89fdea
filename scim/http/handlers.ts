// What each operation does: query and body in, a call of the target, the answer out.

import { createHash } from "node:crypto";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { RequestBody } from "../../platform/http_error.ts";
import { randomUuid } from "../../platform/uuid.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import { ScimRefusal } from "./refusals.ts";
import { resourceLocation, type RouteDeed, type RouteRow } from "./routes.ts";
import type { Actor, Page, Target, Written } from "../ports.ts";
import type { Content, JsonObject, ResourceKind, Stored } from "../schema/resource.ts";
import { SEARCH_REQUEST_SCHEMA } from "../schema/attribute_table.ts";
import { readContent } from "../schema/parse_resource.ts";
import { parseBody } from "../schema/json_limits.ts";
import { nameFromPath } from "../schema/resource_name.ts";
import { etagOf, renderList, renderResource } from "../schema/render_resource.ts";
import { answer, receiptHeaders } from "./responses.ts";
import { names, opaqueOf, readCondition } from "./preconditions.ts";
import { type Query, readQuery } from "./query.ts";
import { patiently, refreshEverything } from "./refresh_query.ts";

/** A request of a caller who may make it, for a row of the table. */
export interface Ask {
  readonly headers: Headers;
  readonly body: RequestBody;
  readonly url: URL;
  readonly row: RouteRow;
  readonly kind: ResourceKind;
  readonly target: Target;
  readonly actor: Actor;
  /** The segment that holds a resource's name, as it was sent. */
  readonly segment: string;
}

export interface DeedDeps {
  readonly publicUrl: string;
  readonly clock: Clock;
  readonly random: Random;
}

type Deed = (ask: Ask, deps: DeedDeps) => Promise<Response>;

export const DEEDS: Readonly<Record<RouteDeed, Deed>> = {
  async list(ask, deps) {
    const query = queryOf(ask);
    if (query.refresh) await refreshEverything(ask.target, { actor: ask.actor, clock: deps.clock });
    const page = await readPage(ask, query);
    const texts = page.resources.map((stored) => resourceText(stored, ask, deps));
    const text = renderList(texts, { total: page.total, startIndex: page.startIndex });
    return conditionally(ask, { text, etag: contentTag(text) });
  },

  async get(ask, deps) {
    const { target, kind, actor } = ask;
    const name = nameOf(ask);
    const stored = queryOf(ask).refresh
      ? await patiently(target.refreshOne(kind, name, actor), deps.clock)
      : await target.directory.read(kind, canonicalName(name));
    if (stored === null) throw new ScimRefusal("not_found");
    return conditionally(ask, { text: resourceText(stored, ask, deps), etag: etagOf(stored.version) });
  },

  async create(ask, deps) {
    const { target, actor } = ask;
    // The body first: a search listens to no parameter, so none of its can be a fault.
    const { content, password } = await contentOf(ask, deps);
    const { backends } = queryOf(ask);
    const written = await target.create(content, { actor, backends, password });
    return writtenAnswer(written, { status: 201, ask, deps });
  },

  async replace(ask, deps) {
    const { target, actor } = ask;
    const pathName = nameOf(ask);
    const { backends } = queryOf(ask);
    const { content, password } = await contentOf(ask, deps, { pathName });
    const ifVersion = await expectedVersion(ask, pathName);
    const written = await target.replace(content, { actor, backends, password, ifVersion });
    return writtenAnswer(written, { status: 200, ask, deps });
  },

  async delete(ask) {
    const { target, kind, actor } = ask;
    const name = nameOf(ask);
    const { backends } = queryOf(ask);
    const ifVersion = await expectedVersion(ask, name);
    const { receipt } = await target.remove(kind, name, { actor, backends, ifVersion });
    return answer(null, { status: 204, headers: receiptHeaders(receipt) });
  },

  none: () => Promise.reject(new ScimRefusal("unsupported")),
};

function queryOf({ url, row, target }: Ask): Query {
  return readQuery(url.searchParams, { names: row.query, backends: target.backends });
}

function nameOf({ segment }: Ask): string {
  const read = nameFromPath(segment);
  if (!read.ok) {
    throw new ScimRefusal("invalid_value", { detail: `The path names nothing: ${read.problem}.` });
  }
  return read.name;
}

async function readPage({ target, kind }: Ask, { page, q }: Query): Promise<Page> {
  const options = { page, size: target.pageSize };
  if (q === null) return await target.directory.page(kind, options);
  const found = await target.directory.search(kind, q, options);
  if (found.ok) return found.page;
  const { kind: problem, detail } = found.problem;
  throw new ScimRefusal(problem === "tooMany" ? "too_many" : "invalid_filter", { detail });
}

async function contentOf(
  { body, kind, target }: Ask,
  { random }: DeedDeps,
  { pathName }: { pathName?: string } = {},
): Promise<{ content: Content; password: string | undefined }> {
  const parsed = parseBody(await body.read());
  if (!parsed.ok) throw new ScimRefusal("invalid_syntax", { detail: parsed.problem });
  if (pathName === undefined && isSearch(parsed.value)) throw new ScimRefusal("unsupported");
  const newName = () => randomUuid(random);
  const read = readContent(kind, parsed.value, { mapping: target.mapping, pathName, newName });
  if (!read.ok) throw new ScimRefusal(read.code, { detail: read.detail });
  return read;
}

/** RFC 7644 §3.4.3: a search is told from a resource by its schema. */
function isSearch({ schemas }: JsonObject): boolean {
  const wanted = SEARCH_REQUEST_SCHEMA.toLowerCase();
  return Array.isArray(schemas) &&
    schemas.some((one) => typeof one === "string" && one.toLowerCase() === wanted);
}

/** The version that the request insists on, if it does (RFC 9110 §13.1). */
async function expectedVersion({ headers, target, kind }: Ask, name: string): Promise<string | undefined> {
  const match = readCondition(headers.get("if-match"));
  const noneMatch = readCondition(headers.get("if-none-match"));
  if (match === null && noneMatch === null) return undefined;
  const stored = await target.directory.read(kind, canonicalName(name));
  // What is not there is answered as without the condition (RFC 9110 §13.2.1).
  if (stored === null) return undefined;
  const tag = opaqueOf(etagOf(stored.version));
  if (noneMatch !== null && names(noneMatch, tag)) {
    throw new ScimRefusal("precondition", { detail: "The resource is there, and If-None-Match names it." });
  }
  if (match === null) return undefined;
  if (!names(match, tag)) throw new ScimRefusal("precondition");
  return match === "any" ? undefined : stored.version;
}

function resourceText(stored: Stored, { target, kind }: Ask, { publicUrl }: DeedDeps): string {
  const { name } = stored.content;
  return renderResource(stored, {
    location: resourceLocation({ publicUrl, target: target.name }, { kind, name }),
    mapping: target.mapping,
  });
}

/** A list has no version of its own, so its tag is made from what it says. */
function contentTag(text: string): string {
  return `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
}

function conditionally(
  { headers }: Ask,
  { text, etag }: { text: string; etag: string },
): Response {
  const held = readCondition(headers.get("if-none-match"));
  const isHeld = held !== null && names(held, opaqueOf(etag));
  return isHeld
    ? answer(null, { status: 304, headers: { etag } })
    : answer(text, { status: 200, headers: { etag } });
}

function writtenAnswer(
  { stored, receipt }: Written,
  { status, ask, deps }: { status: 200 | 201; ask: Ask; deps: DeedDeps },
): Response {
  if (stored === null) throw new Error("Cannot answer a write: the target gave no resource");
  const { name } = stored.content;
  const location = resourceLocation(
    { publicUrl: deps.publicUrl, target: ask.target.name },
    { kind: ask.kind, name },
  );
  return answer(resourceText(stored, ask, deps), {
    status,
    headers: {
      etag: etagOf(stored.version),
      ...receiptHeaders(receipt),
      ...status === 201 ? { location } : {},
    },
  });
}
