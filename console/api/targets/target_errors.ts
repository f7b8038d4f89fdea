// What a target of the identity interface will not do, as a refusal of the console: with its own sentence, and with what each
// backend said where some were asked already.

import type { ScimRefusal, ScimRefusalCode } from "../../../scim/http/refusals.ts";
import type { Receipt } from "../../../scim/ports.ts";
import { Refusal, type RefusalCode } from "../errors.ts";

/** A refusal that says more than its row. */
export class DetailedRefusal extends Refusal {
  override readonly receipt: Receipt | null;

  constructor(code: RefusalCode, { message, receipt = null, headers = {} }: {
    message?: string;
    receipt?: Receipt | null;
    headers?: Readonly<Record<string, string>>;
  } = {}) {
    super(code, headers);
    if (message !== undefined) this.message = message;
    this.receipt = receipt;
  }
}

/** By the target's own reasons; what is not here is a fault of ours. */
const CODES: Partial<Record<ScimRefusalCode, RefusalCode>> = {
  invalid_syntax: "bad_value",
  invalid_value: "bad_value",
  renamed: "bad_value",
  unknown_backend: "bad_value",
  invalid_filter: "bad_filter",
  too_many: "bad_filter",
  not_found: "unknown_object",
  taken: "object_exists",
  changed: "changed_meanwhile",
  precondition: "changed_meanwhile",
  too_large: "bad_value",
  backend_failed: "backend_failed",
  backend_unreachable: "backend_unreachable",
  busy: "busy_target",
};

/** The value of an operation of a target; its refusals become the console's. */
export async function ofTarget<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (fault) {
    const code = isScimRefusal(fault) ? CODES[fault.code] : undefined;
    if (!isScimRefusal(fault) || code === undefined) throw fault;
    const { message, receipt, headers } = fault;
    throw new DetailedRefusal(code, { message, receipt, headers });
  }
}

/** By its name: the console runs no code of the identity interface. */
function isScimRefusal(fault: unknown): fault is ScimRefusal {
  return fault instanceof Error && fault.name === "ScimRefusal" && "code" in fault && "receipt" in fault;
}
