// Bulk requests (RFC 7644 §3.7): each operation runs like a request of its own.

import type { BulkRequestOperation } from "../bulk/bulk_references.ts";
import { refusalRow, ScimRefusal, typedRefusal } from "../../http/refusals.ts";
import { parsePrecondition } from "../../http/handlers.ts";
import { errorBody } from "../../schema/render_resource.ts";
import type { JsonObject } from "../../schema/resource.ts";
import { type BulkEntry, type BulkOperationResult, planBulk, runBulk } from "../bulk/bulk_plan.ts";
import type { Operation, OperationContext, OperationResult } from "./operation.ts";
import { patchOperation } from "./patch_operation.ts";
import { findPlace, type V2Handler } from "./v2_routes.ts";
import { createOperation, deleteOperation, replaceOperation } from "./write_operations.ts";

const BULK_RESPONSE = "urn:ietf:params:scim:api:messages:2.0:BulkResponse";

/** The handlers of operations that write. */
export const WRITE_HANDLERS: Partial<Record<V2Handler, (operation: Operation) => Promise<OperationResult>>> =
  {
    create: createOperation,
    replace: replaceOperation,
    patch: patchOperation,
    delete: deleteOperation,
  };

interface SentBulk {
  readonly body: JsonObject;
  /** The length of the body. */
  readonly octets: number;
  /** An error that is not a refusal: it is logged, and the entry says so. */
  readonly onFault: (fault: unknown) => ScimRefusal;
}

export async function bulkOperation(
  context: OperationContext,
  { body, octets, onFault }: SentBulk,
): Promise<OperationResult> {
  const { schemas } = context;
  const planned = planBulk(body, { octets, schemas });
  if (!planned.ok) {
    const { status, scimType = "invalidSyntax", detail } = planned.problem;
    throw status === 413 ? new ScimRefusal("too_large", { detail }) : typedRefusal({ scimType, detail });
  }
  const { operations, refused } = planned.plan;
  context.access.admitOperations(context.connection, Math.max(1, operations.length + refused.length));
  const execute = async (operation: BulkRequestOperation): Promise<BulkOperationResult> => {
    try {
      return await runOne(context, operation);
    } catch (fault) {
      const refusal = fault instanceof ScimRefusal ? fault : onFault(fault);
      const { status, message: detail } = refusal;
      const { scimType } = refusalRow(refusal.code);
      return { ok: false, status, response: errorBody({ status, scimType, detail }) };
    }
  };
  const entries = await runBulk(planned.plan, {
    schemas,
    execute,
    // A dry run created nothing that could be changed.
    ...context.connection.settings.dryRun ? { complete: skipped } : {},
  });
  const bodies = entries.map((entry) => entryBody(entry, context));
  const text = JSON.stringify({ schemas: [BULK_RESPONSE], Operations: bodies });
  return { status: 200, text };
}

function skipped({ path }: BulkRequestOperation): Promise<BulkOperationResult> {
  return Promise.resolve({ ok: true, status: 200, location: path, id: "" });
}

async function runOne(
  context: OperationContext,
  operation: BulkRequestOperation,
): Promise<BulkOperationResult> {
  const { method, path, version, data } = operation;
  const place = findPlace(path);
  const row = place?.rows.find((one) => one.method === method);
  const handler = row === undefined ? undefined : WRITE_HANDLERS[row.handler];
  if (place === null || row === undefined || row.kind === null || handler === undefined) {
    throw new ScimRefusal("no_such_path");
  }
  const connection = await context.access.readmit(context.connection);
  if (connection.settings.access === "read") {
    throw new ScimRefusal("forbidden", { detail: "This connection has read access only." });
  }
  const result = await handler({
    // The log has one entry for the whole request.
    context: { ...context, connection, trace: { resource: null, attributes: [], planned: null } },
    kind: row.kind,
    id: place.id,
    json: () => Promise.resolve(data ?? {}),
    ifMatch: parsePrecondition(version),
    ifNoneMatch: null,
    projection: {},
  });
  const id = result.id ?? place.id ?? "";
  const location = result.location ?? `${context.baseUrl}${context.schemas.types[row.kind].endpoint}/${id}`;
  return {
    ok: true,
    status: result.status,
    location,
    id,
    ...(result.etag === undefined ? {} : { version: result.etag }),
  };
}

/** RFC 7644 §3.7.3: `status` is a string, `response` is there for errors only, and only a POST that failed has no location. */
function entryBody({ operation, result }: BulkEntry, context: OperationContext): JsonObject {
  const { method, bulkId } = operation;
  const head = { ...(method === null ? {} : { method }), ...(bulkId === null ? {} : { bulkId }) };
  if (result.ok) {
    const { location, version, status } = result;
    return { ...head, location, ...(version === undefined ? {} : { version }), status: String(status) };
  }
  const path = "path" in operation && method !== "POST" ? operation.path : null;
  const failed = { ...head, ...(path === null ? {} : { location: context.baseUrl + path }) };
  if ("problem" in result) {
    return { ...failed, status: String(result.problem.status), response: errorBody(result.problem) };
  }
  return { ...failed, status: String(result.status), response: result.response as JsonObject };
}
