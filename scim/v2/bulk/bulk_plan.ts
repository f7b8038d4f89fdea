// Reads a bulk request and decides the order of its operations (RFC 7644 §3.7). Pure: nothing is written here.

import { property } from "../../schema/attributes.ts";
import { isJsonArray, isJsonObject } from "../../schema/json_limits.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";

/** RFC 7644 §3.7.4. /ServiceProviderConfig shows these limits. */
export const BULK_LIMITS = { maxOperations: 1000, maxPayloadSize: 1024 * 1024 } as const;

const BULK_METHODS = ["POST", "PUT", "PATCH", "DELETE"] as const;
const MESSAGE = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const REFERENCE = "bulkId:";
const MAX_BULK_ID_CHARACTERS = 256;
const MAX_BULK_PATH_CHARACTERS = 2048;

/** One operation of a bulk request. */
export interface BulkRequestOperation {
  /** The place in the request, from 0. */
  readonly index: number;
  readonly method: typeof BULK_METHODS[number];
  readonly path: string;
  readonly bulkId: string | null;
  /** The ETag that the resource must have. */
  readonly version: string | null;
  /** `null` for DELETE. */
  readonly data: JsonObject | null;
}

/** Why a bulk request, or one of its operations, is refused (RFC 7644 §3.12). */
export interface BulkProblem {
  readonly status: 400 | 409 | 413;
  readonly scimType?: "invalidSyntax" | "invalidValue";
  readonly detail: string;
}

/** An operation that is not tried, with its method and bulkId for the response. */
export interface RefusedBulkOperation {
  readonly index: number;
  readonly method: string | null;
  readonly bulkId: string | null;
  readonly problem: BulkProblem;
}

export interface BulkPlan {
  /** In the order in which they run: an operation runs after those that it refers to. */
  readonly operations: readonly BulkRequestOperation[];
  readonly refused: readonly RefusedBulkOperation[];
  /** The number of errors after which no operation runs any more. */
  readonly failOnErrors: number;
}

export type BulkPlanOutcome =
  | { readonly ok: true; readonly plan: BulkPlan }
  | { readonly ok: false; readonly problem: BulkProblem };

/**
 * Plans a bulk request. Operations keep their order, but one that refers to a later `bulkId` waits for it, and so do later operations on the same path.
 *
 * @param octets the length of the body.
 */
export function planBulk(body: JsonValue, octets: number): BulkPlanOutcome {
  const { maxOperations, maxPayloadSize } = BULK_LIMITS;
  if (octets > maxPayloadSize) {
    return refuse(413, `Send at most ${maxPayloadSize} octets in one bulk request.`);
  }
  if (!isJsonObject(body)) return refuse(400, "Send a JSON object.");
  const schemas = property(body, "schemas");
  if (!isJsonArray(schemas) || !schemas.includes(MESSAGE)) {
    return refuse(400, `Send "${MESSAGE}" in "schemas".`);
  }
  const sent = property(body, "Operations");
  if (!isJsonArray(sent)) return refuse(400, 'Send a list in "Operations".');
  if (sent.length > maxOperations) {
    return refuse(413, `Send at most ${maxOperations} operations in one bulk request.`);
  }
  const failOnErrors = property(body, "failOnErrors") ?? null;
  const isCount = typeof failOnErrors === "number" && Number.isSafeInteger(failOnErrors) && failOnErrors >= 1;
  if (failOnErrors !== null && !isCount) return refuse(400, 'Send "failOnErrors" as an integer from 1.');
  const plan = orderOperations(sent.map(readOperation));
  return { ok: true, plan: { ...plan, failOnErrors: isCount ? failOnErrors : Infinity } };
}

function refuse(status: BulkProblem["status"], detail: string): BulkPlanOutcome {
  const scimType = status === 400 ? { scimType: "invalidSyntax" as const } : {};
  return { ok: false, problem: { status, ...scimType, detail } };
}

function readOperation(sent: JsonValue, index: number): BulkRequestOperation | RefusedBulkOperation {
  const read = (name: string) => isJsonObject(sent) ? property(sent, name) ?? null : null;
  const textOf = (value: JsonValue) => typeof value === "string" ? value : null;
  const [bulkId, version, path, data] = [read("bulkId"), read("version"), read("path"), read("data")];
  // RFC 7644 §3.7 names the methods in capitals; clients also send "post".
  const name = textOf(read("method"))?.toUpperCase();
  const method = BULK_METHODS.find((one) => one === name);
  const refused = (detail: string): RefusedBulkOperation => {
    const problem = { status: 400, scimType: "invalidSyntax", detail } as const;
    return { index, method: method ?? null, bulkId: textOf(bulkId), problem };
  };
  if (method === undefined) return refused('Send "POST", "PUT", "PATCH" or "DELETE" in "method".');
  if (typeof path !== "string" || !path.startsWith("/") || path.length > MAX_BULK_PATH_CHARACTERS) {
    return refused('Send a "path" such as "/Users" or "/Users/<id>".');
  }
  const isBulkId = typeof bulkId === "string" && bulkId !== "" && bulkId.length <= MAX_BULK_ID_CHARACTERS;
  if (!isBulkId && (bulkId !== null || method === "POST")) {
    return refused(`Send a "bulkId" of 1 to ${MAX_BULK_ID_CHARACTERS} characters.`);
  }
  if (version !== null && typeof version !== "string") return refused('Send "version" as a string.');
  if (method === "DELETE") return { index, method, path, bulkId: textOf(bulkId), version, data: null };
  if (!isJsonObject(data)) return refused('Send an object in "data".');
  return { index, method, path, bulkId: textOf(bulkId), version, data };
}

/** The ids of `bulkId:` references in the path and in the data. */
function referencesOf({ path, data }: BulkRequestOperation): Set<string> {
  const found = new Set<string>();
  const visit = (value: JsonValue): void => {
    if (typeof value === "string") {
      if (value.startsWith(REFERENCE)) found.add(value.slice(REFERENCE.length));
    } else if (isJsonArray(value)) value.forEach(visit);
    else if (isJsonObject(value)) Object.values(value).forEach(visit);
  };
  path.split("/").forEach(visit);
  visit(data);
  return found;
}

function orderOperations(read: readonly (BulkRequestOperation | RefusedBulkOperation)[]) {
  const refused: RefusedBulkOperation[] = [];
  const creators = new Map<string, BulkRequestOperation>();
  const valid: BulkRequestOperation[] = [];
  for (const one of read) {
    if ("problem" in one) refused.push(one);
    else if (one.method === "POST" && one.bulkId !== null && creators.has(one.bulkId)) {
      refused.push(refusal(one, 400, "Use each bulkId once."));
    } else {
      if (one.method === "POST" && one.bulkId !== null) creators.set(one.bulkId, one);
      valid.push(one);
    }
  }
  const waits = new Map<BulkRequestOperation, ReadonlySet<BulkRequestOperation>>();
  const lastOnPath = new Map<string, BulkRequestOperation>();
  for (const one of valid) {
    const references = [...referencesOf(one)];
    if (references.some((id) => !creators.has(id))) {
      refused.push(refusal(one, 400, "Refer only to the bulkId of a POST of this request."));
      continue;
    }
    const earlier = one.method === "POST" ? undefined : lastOnPath.get(one.path);
    const needed = references.flatMap((id) => creators.get(id) ?? []);
    waits.set(one, new Set(earlier === undefined ? needed : [...needed, earlier]));
    if (one.method !== "POST") lastOnPath.set(one.path, one);
  }
  const { ordered, blocked } = sortByWaits(waits);
  return {
    operations: ordered,
    refused: [
      ...refused,
      ...blocked.map((one) =>
        refusal(
          one,
          409,
          "Create the resources first, then refer to them: these references cannot be resolved.",
        )
      ),
    ].sort((a, b) => a.index - b.index),
  };
}

function refusal(
  { index, method, bulkId }: BulkRequestOperation,
  status: 400 | 409,
  detail: string,
): RefusedBulkOperation {
  const scimType = status === 400 ? { scimType: "invalidValue" as const } : {};
  return { index, method, bulkId, problem: { status, ...scimType, detail } };
}

/** Repeats rounds over what is left, in the order of the request. What never becomes ready is in a circle, or waits for one. */
function sortByWaits(waits: ReadonlyMap<BulkRequestOperation, ReadonlySet<BulkRequestOperation>>) {
  const ordered: BulkRequestOperation[] = [];
  const done = new Set<BulkRequestOperation>();
  let blocked = [...waits.keys()];
  let isMoving = true;
  while (isMoving) {
    const before = blocked.length;
    blocked = blocked.filter((one) => {
      const isReady = [...waits.get(one) ?? []].every((other) => done.has(other));
      if (isReady) {
        done.add(one);
        ordered.push(one);
      }
      return !isReady;
    });
    isMoving = blocked.length > 0 && blocked.length < before;
  }
  return { ordered, blocked };
}

/**
 * An operation with its references replaced by ids. `null`: a referenced operation created nothing.
 *
 * @param ids the ids of created resources, by their bulkId.
 */
export function resolveBulkIds(
  operation: BulkRequestOperation,
  ids: ReadonlyMap<string, string>,
): BulkRequestOperation | null {
  if ([...referencesOf(operation)].some((id) => !ids.has(id))) return null;
  const replace = (text: string) =>
    text.startsWith(REFERENCE) ? ids.get(text.slice(REFERENCE.length)) ?? text : text;
  const visit = (value: JsonValue): JsonValue => {
    if (typeof value === "string") return replace(value);
    if (isJsonArray(value)) return value.map(visit);
    return isJsonObject(value) ? visitObject(value) : value;
  };
  const visitObject = (object: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(object).map(([name, value]) => [name, visit(value)]));
  const { path, data } = operation;
  return {
    ...operation,
    path: path.split("/").map(replace).join("/"),
    data: data === null ? null : visitObject(data),
  };
}
