// Runs the operations of a bulk plan one after the other (RFC 7644 §3.7.3). The caller gives the function that runs one.

import {
  type BulkPlan,
  type BulkProblem,
  type BulkRequestOperation,
  type RefusedBulkOperation,
  resolveBulkIds,
} from "./bulk_plan.ts";

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

/**
 * Runs a plan. Operations that the plan refuses count as errors before the first one runs.
 *
 * @returns the entries of the response in the order of the request. After `failOnErrors` errors, the other operations have no entry.
 */
export async function runBulk(
  plan: BulkPlan,
  execute: (operation: BulkRequestOperation) => Promise<BulkOperationResult>,
): Promise<BulkEntry[]> {
  const entries: BulkEntry[] = [];
  const ids = new Map<string, string>();
  let errors = 0;
  const add = (entry: BulkEntry) => {
    entries.push(entry);
    if (!entry.result.ok) errors++;
  };
  for (const operation of plan.refused) {
    if (errors >= plan.failOnErrors) break;
    add({ operation, result: { ok: false, problem: operation.problem } });
  }
  for (const operation of plan.operations) {
    if (errors >= plan.failOnErrors) break;
    const resolved = resolveBulkIds(operation, ids);
    if (resolved === null) {
      add({ operation, result: { ok: false, problem: FAILED_REFERENCE } });
      continue;
    }
    const result = await execute(resolved);
    if (result.ok && operation.method === "POST" && operation.bulkId !== null) {
      ids.set(operation.bulkId, result.id);
    }
    add({ operation, result });
  }
  return entries.sort((a, b) => a.operation.index - b.operation.index);
}
