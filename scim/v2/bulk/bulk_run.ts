// Runs the operations of a bulk plan one after the other (RFC 7644 §3.7.3). The caller gives the function that runs one.

import type { BulkRequestOperation } from "./bulk_references.ts";
import {
  type BulkPlan,
  type BulkProblem,
  laterReferences,
  type PlannedBulkOperation,
  type RefusedBulkOperation,
  resolveBulkIds,
} from "./bulk_plan.ts";
import type { TargetSchemas } from "../schema/target_schemas.ts";

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
