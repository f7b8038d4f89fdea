// Reading resources: one by its id, lists, searches and /Me (RFC 7644 §3.4, §3.11).

import { canonicalName } from "../../../platform/canonical_name.ts";
import { matchesTag } from "../../http/handlers.ts";
import { ScimRefusal, typedRefusal, valueRefusal } from "../../http/refusals.ts";
import { etagOf, renderListResponse } from "../../schema/render_resource.ts";
import type { ResourceKind, Stored } from "../../schema/resource.ts";
import type { RenderedResource } from "../../ports.ts";
import { type PageReads, type QueryOutcome, queryPage, storedOctets } from "../query/query.ts";
import type { Projection } from "../schema/projection.ts";
import type { ListParameters } from "./list_parameters.ts";
import {
  type Operation,
  type OperationContext,
  type OperationResult,
  projectionOf,
  resourceTypeOf,
  traceResource,
} from "./operation.ts";
import {
  locationOf,
  readGroupsOnce,
  type RenderContext,
  renderResponse,
  userRenderer,
} from "../schema/render_stored.ts";

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
