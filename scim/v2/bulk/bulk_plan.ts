// Reads a bulk request, decides the order of its operations, and runs them one after the other (RFC 7644 §3.7). The caller gives the function that
// runs one.

import { isMessage } from "../schema/read_body.ts";
import type { TargetSchemas } from "../schema/target_schemas.ts";
import { PATCH_MESSAGE } from "../patch/patch_request.ts";
import {
  BULK_METHODS,
  type BulkRequestOperation,
  referencesOf,
  replaceReferences,
} from "./bulk_references.ts";
import { isJsonArray, isJsonObject, spellingsOf } from "../../schema/attributes.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";

/** RFC 7644 §3.7.4. /ServiceProviderConfig shows these limits. */
export const BULK_LIMITS = { maxOperations: 1000, maxPayloadSize: 1024 * 1024 } as const;

const MESSAGE = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const MAX_BULK_ID_CHARACTERS = 256;
const MAX_BULK_PATH_CHARACTERS = 2048;

interface PlannedBulkOperation extends BulkRequestOperation {
  /** The bulkIds of references to operations that run later, or to itself: the resource is created without them. */
  readonly later?: ReadonlySet<string>;
}

/** Why a bulk request, or one of its operations, is refused (RFC 7644 §3.12). */
interface BulkProblem {
  readonly status: number;
  readonly scimType?: "invalidSyntax" | "invalidValue";
  readonly detail: string;
}

/** An operation that is not tried, with its method and bulkId for the response. */
interface RefusedBulkOperation {
  readonly index: number;
  readonly method: string | null;
  readonly bulkId: string | null;
  readonly problem: BulkProblem;
}

export interface BulkPlan {
  /** In the order in which they run: an operation runs after those that it refers to. */
  readonly operations: readonly PlannedBulkOperation[];
  readonly refused: readonly RefusedBulkOperation[];
  /** The number of errors after which no operation runs any more. */
  readonly failOnErrors: number;
}

type BulkPlanOutcome =
  | { readonly ok: true; readonly plan: BulkPlan }
  | { readonly ok: false; readonly problem: BulkProblem };

/**
 * Plans a bulk request. Operations keep their order, but one that refers to a later `bulkId` waits for it, and so do later operations on the same path.
 *
 * @param octets the length of the body.
 */
export function planBulk(
  body: JsonValue,
  { octets, schemas }: { octets: number; schemas: TargetSchemas },
): BulkPlanOutcome {
  const { maxOperations, maxPayloadSize } = BULK_LIMITS;
  if (octets > maxPayloadSize) {
    return refuse(413, `Send at most ${maxPayloadSize} octets in one bulk request.`);
  }
  if (!isJsonObject(body)) return refuse(400, "Send a JSON object.");
  const twice = MESSAGE_NAMES.find((name) => spellingsOf(body, name).length > 1);
  if (twice !== undefined) return refuse(400, sendOnce(twice));
  if (!isMessage(valueOf(body, "schemas"), MESSAGE)) {
    return refuse(400, `Send "${MESSAGE}" in "schemas".`);
  }
  const sent = valueOf(body, "Operations");
  if (!isJsonArray(sent)) return refuse(400, 'Send a list in "Operations".');
  if (sent.length > maxOperations) {
    return refuse(413, `Send at most ${maxOperations} operations in one bulk request.`);
  }
  const failOnErrors = valueOf(body, "failOnErrors") ?? null;
  const isCount = typeof failOnErrors === "number" && Number.isSafeInteger(failOnErrors) && failOnErrors >= 1;
  if (failOnErrors !== null && !isCount) return refuse(400, 'Send "failOnErrors" as an integer from 1.');
  const plan = orderOperations(sent.map(readOperation), schemas);
  return { ok: true, plan: { ...plan, failOnErrors: isCount ? failOnErrors : Infinity } };
}

const MESSAGE_NAMES = ["schemas", "Operations", "failOnErrors"] as const;
const OPERATION_NAMES = ["method", "bulkId", "version", "path", "data"] as const;
const sendOnce = (name: string) => `Send "${name}" once. Case does not count.`;

function valueOf(object: JsonObject, name: string): JsonValue | undefined {
  return object[spellingsOf(object, name)[0] ?? ""];
}

function refuse(status: number, detail: string): BulkPlanOutcome {
  const scimType = status === 400 ? { scimType: "invalidSyntax" as const } : {};
  return { ok: false, problem: { status, ...scimType, detail } };
}

function readOperation(sent: JsonValue, index: number): BulkRequestOperation | RefusedBulkOperation {
  const read = (name: string) => isJsonObject(sent) ? valueOf(sent, name) ?? null : null;
  const textOf = (value: JsonValue) => typeof value === "string" ? value : null;
  const [bulkId, version, path, data] = [read("bulkId"), read("version"), read("path"), read("data")];
  // RFC 7644 §3.7 names the methods in capitals; clients also send "post".
  const name = textOf(read("method"))?.toUpperCase();
  const method = BULK_METHODS.find((one) => one === name);
  const refused = (detail: string): RefusedBulkOperation => {
    const problem = { status: 400, scimType: "invalidSyntax", detail } as const;
    return { index, method: method ?? null, bulkId: textOf(bulkId), problem };
  };
  const twice = OPERATION_NAMES.find((name) => isJsonObject(sent) && spellingsOf(sent, name).length > 1);
  if (twice !== undefined) return refused(sendOnce(twice));
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

function orderOperations(
  read: readonly (BulkRequestOperation | RefusedBulkOperation)[],
  schemas: TargetSchemas,
): Pick<BulkPlan, "operations" | "refused"> {
  const refused: RefusedBulkOperation[] = [];
  const creators = new Map<string, BulkRequestOperation>();
  const valid: BulkRequestOperation[] = [];
  for (const one of read) {
    if ("problem" in one) refused.push(one);
    else if (one.method === "POST" && one.bulkId !== null && creators.has(one.bulkId)) {
      refused.push(refusal(one, "Use each bulkId once."));
    } else {
      if (one.method === "POST" && one.bulkId !== null) creators.set(one.bulkId, one);
      valid.push(one);
    }
  }
  const waits = new Map<BulkRequestOperation, readonly BulkRequestOperation[]>();
  const lastOnPath = new Map<string, BulkRequestOperation>();
  for (const one of valid) {
    const references = [...referencesOf(one, schemas)];
    if (references.some((id) => !creators.has(id))) {
      refused.push(refusal(one, "Refer only to the bulkId of a POST of this request."));
      continue;
    }
    const earlier = one.method === "POST" ? undefined : lastOnPath.get(one.path);
    const needed = references.flatMap((id) => creators.get(id) ?? []);
    waits.set(one, earlier === undefined ? needed : [...needed, earlier]);
    if (one.method !== "POST") lastOnPath.set(one.path, one);
  }
  return { operations: sortByWaits(waits), refused: refused.sort((a, b) => a.index - b.index) };
}

function refusal({ index, method, bulkId }: BulkRequestOperation, detail: string): RefusedBulkOperation {
  return { index, method, bulkId, problem: { status: 400, scimType: "invalidValue", detail } };
}

/**
 * Each operation after those that it waits for, otherwise in the order of the request. Each wait is followed once. A wait for an operation that
 * itself is waiting closes a circle: its reference is set later (RFC 7644 §3.7.1). Only creations can be in a circle.
 */
function sortByWaits(
  waits: ReadonlyMap<BulkRequestOperation, readonly BulkRequestOperation[]>,
): PlannedBulkOperation[] {
  const ordered: PlannedBulkOperation[] = [];
  const waiting = new Set<BulkRequestOperation>();
  const done = new Set<BulkRequestOperation>();
  const visit = (one: BulkRequestOperation): void => {
    waiting.add(one);
    const later = new Set<string>();
    for (const other of waits.get(one) ?? []) {
      if (waiting.has(other)) later.add(other.bulkId ?? "");
      else if (!done.has(other) && waits.has(other)) visit(other);
    }
    waiting.delete(one);
    done.add(one);
    ordered.push(later.size === 0 ? one : { ...one, later });
  };
  for (const one of waits.keys()) if (!done.has(one)) visit(one);
  return ordered;
}

/**
 * An operation with its references replaced by ids, and without those that are set later. `null`: a referenced operation created nothing.
 *
 * @param ids the ids of created resources, by their bulkId.
 */
function resolveBulkIds(
  operation: PlannedBulkOperation,
  schemas: TargetSchemas,
  ids: ReadonlyMap<string, string>,
): BulkRequestOperation | null {
  let isComplete = true;
  const resolved = replaceReferences(operation, schemas, (bulkId) => {
    if (operation.later?.has(bulkId) === true) return undefined;
    isComplete &&= ids.has(bulkId);
    return ids.get(bulkId) ?? "";
  });
  return isComplete ? resolved : null;
}

/**
 * The PATCH that sets the references which a creation left out: the attributes that have them, as the client sent them. `null`: a referenced
 * operation created nothing.
 *
 * @param id of the created resource.
 */
function laterReferences(
  operation: PlannedBulkOperation,
  schemas: TargetSchemas,
  { ids, id }: { ids: ReadonlyMap<string, string>; id: string },
): BulkRequestOperation | null {
  const { later = new Set<string>(), data, path } = operation;
  const whole = resolveBulkIds({ ...operation, later: new Set() }, schemas, ids);
  if (whole === null || data === null) return null;
  const left = Object.entries(data).filter(([name, value]) => {
    const part = { ...operation, data: { [name]: value } };
    return !referencesOf(part, schemas).isDisjointFrom(later);
  });
  const value = Object.fromEntries(left.map(([name]) => [name, whole.data?.[name] ?? null]));
  return {
    ...{ index: operation.index, method: "PATCH", bulkId: operation.bulkId, version: null },
    path: `${path.replace(/\/$/, "")}/${encodeURIComponent(id)}`,
    data: { schemas: [PATCH_MESSAGE], Operations: [{ op: "add", value }] },
  };
}

/** The result of one operation that was tried. */
export type BulkOperationResult =
  | {
    readonly ok: true;
    readonly status: number;
    readonly location: string;
    readonly version?: string;
    /** The id of the resource. */
    readonly id: string;
  }
  | { readonly ok: false; readonly status: number; readonly response: unknown };

/** One entry of the response: the operation, and its result or the reason why it did not run. */
export interface BulkEntry {
  readonly operation: BulkRequestOperation | RefusedBulkOperation;
  readonly result: BulkOperationResult | { readonly ok: false; readonly problem: BulkProblem };
}

const FAILED_REFERENCE: BulkProblem = {
  status: 409,
  detail: "Correct the operation with the bulkId that this operation refers to: it created no resource.",
};

export interface BulkRunDeps {
  readonly schemas: TargetSchemas;
  readonly execute: (operation: BulkRequestOperation) => Promise<BulkOperationResult>;
  /** Sets the references that a creation left out. Default: like an operation. */
  readonly complete?: (operation: BulkRequestOperation) => Promise<BulkOperationResult>;
}

/**
 * Runs a plan. Operations that the plan refuses count as errors before the first one runs.
 *
 * @returns the entries of the response in the order of the request. After `failOnErrors` errors, the other operations have no entry.
 */
export async function runBulk(plan: BulkPlan, deps: BulkRunDeps): Promise<BulkEntry[]> {
  const entries = new Map<number, BulkEntry>();
  const ids = new Map<string, string>();
  const open = new OpenReferences();
  let errors = 0;
  const add = (entry: BulkEntry) => {
    entries.set(entry.operation.index, entry);
    if (!entry.result.ok) errors++;
  };
  for (const operation of plan.refused) {
    if (errors >= plan.failOnErrors) break;
    add({ operation, result: { ok: false, problem: operation.problem } });
  }
  for (const operation of plan.operations) {
    if (errors >= plan.failOnErrors) break;
    const resolved = resolveBulkIds(operation, deps.schemas, ids);
    const result = resolved === null
      ? { ok: false, problem: FAILED_REFERENCE } as const
      : await deps.execute(resolved);
    if (result.ok && operation.method === "POST" && operation.bulkId !== null) {
      ids.set(operation.bulkId, result.id);
    }
    add({ operation, result });
    if (result.ok) open.add(operation, result);
    for (const one of open.readyAfter(operation)) {
      add({ operation: one.operation, result: await completed(one, ids, deps) });
    }
  }
  for (const one of open.unfinished()) {
    add({ operation: one.operation, result: { ok: false, problem: incomplete(one.result) } });
  }
  return [...entries.values()].sort((a, b) => a.operation.index - b.operation.index);
}

type Created = Extract<BulkOperationResult, { ok: true }>;

interface OpenReference {
  readonly operation: PlannedBulkOperation;
  readonly result: Created;
}

/** Created resources whose references to later operations are not set yet. */
class OpenReferences {
  readonly #waiting = new Map<string, Set<OpenReference>>();
  readonly #missing = new Map<OpenReference, number>();

  add(operation: PlannedBulkOperation, result: Created): void {
    const one = { operation, result };
    const { later = new Set() } = operation;
    if (later.size > 0) this.#missing.set(one, later.size);
    for (const bulkId of later) this.#waiting.set(bulkId, (this.#waiting.get(bulkId) ?? new Set()).add(one));
  }

  /** Those that waited only for this operation, whether it succeeded or not. */
  readyAfter({ method, bulkId }: PlannedBulkOperation): OpenReference[] {
    if (method !== "POST" || bulkId === null) return [];
    return [...this.#waiting.get(bulkId) ?? []].filter((one) => {
      const missing = (this.#missing.get(one) ?? 1) - 1;
      this.#missing.set(one, missing);
      return missing === 0;
    });
  }

  /** Those that wait for an operation that did not run, because of too many errors. */
  unfinished(): OpenReference[] {
    return [...this.#missing].flatMap(([one, missing]) => missing > 0 ? [one] : []);
  }
}

/** The result of a creation after its second pass. RFC 7644 §3.7.1: 409 only if the attempt failed. */
async function completed(
  { operation, result }: OpenReference,
  ids: ReadonlyMap<string, string>,
  { schemas, execute, complete = execute }: BulkRunDeps,
): Promise<BulkEntry["result"]> {
  const rest = laterReferences(operation, schemas, { ids, id: result.id });
  const { version: _before, ...created } = result;
  const second = rest === null ? null : await complete(rest);
  if (second?.ok === true) {
    return second.version === undefined ? created : { ...created, version: second.version };
  }
  return { ok: false, problem: incomplete(result) };
}

function incomplete({ id }: Created): BulkProblem {
  const detail = `The resource ${id} was created, but a reference to another one could not be set.`;
  return { status: 409, detail };
}
