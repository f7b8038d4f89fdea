// The error that a route throws to refuse a request, its response, and the conversion of a target's refusals. The codes are in
// error_codes.ts.

import { HttpError } from "../../platform/http_error.ts";
import { ERROR_CODES, type ErrorCode } from "./error_codes.ts";
import type { ConfigFault } from "../../platform/config/config.ts";
import type { SettingConflict } from "../../platform/config/setting_writer.ts";
import type { SealedOutcome } from "../../platform/sealed_rows.ts";
import type { Receipt } from "../../scim/ports.ts";
import type { ScimRefusal, ScimRefusalCode } from "../../scim/http/refusals.ts";

/** Who made the newest change of an object, and when (milliseconds since the epoch). */
export interface LastChange {
  /** As in the audit log: an administrator's name, `scim:hr`, `token:ci`. */
  readonly actor: string;
  readonly atMs: number;
  /** The caller made it, in another tab or on another computer. */
  readonly isOwn: boolean;
}

/** The body of every refusal. `id` is in the log too, so that a person can quote it. */
export interface RefusalBody {
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly id?: string;
    /** What each backend did, where some were asked. */
    readonly receipt?: Receipt;
    /** With `changed_meanwhile`: the change that came first. */
    readonly lastChange?: LastChange;
    /** With `changed_meanwhile`: the settings that were changed, by whom, and their values now. */
    readonly conflicts?: readonly SettingConflict[];
    /** With `bad_settings`. */
    readonly faults?: readonly ConfigFault[];
    /** With `bad_field`: the name of the field. */
    readonly field?: string;
  };
}

/** Thrown to refuse a request; one handler renders the response. */
export class Refusal extends HttpError {
  readonly code: ErrorCode;
  /** The results of backends, for the response body. */
  readonly receipt: Receipt | null = null;
  lastChange: LastChange | null = null;
  conflicts: readonly SettingConflict[] | null = null;
  faults: readonly ConfigFault[] | null = null;
  field: string | null = null;

  constructor(code: ErrorCode, headers: Readonly<Record<string, string>> = {}) {
    const { status, message } = ERROR_CODES[code];
    super(message, { status, headers });
    this.name = "Refusal";
    this.code = code;
  }
}

/** @throws Refusal if a change of a row that an administrator set up was not made */
export function requireChanged(outcome: SealedOutcome): void {
  if (outcome === "changed") throw new Refusal("changed_meanwhile");
  if (outcome === "unreadable") throw new Refusal("unreadable_entry");
}

/** The answer for a refusal, as JSON. */
export function refusalResponse(refusal: Refusal): Response {
  const { code, message, status, headers, receipt, lastChange, conflicts, faults, field } = refusal;
  const body: RefusalBody = {
    error: {
      code,
      message,
      ...(receipt === null ? {} : { receipt }),
      ...(lastChange === null ? {} : { lastChange }),
      ...(conflicts === null ? {} : { conflicts }),
      ...(faults === null ? {} : { faults }),
      ...(field === null ? {} : { field }),
    },
  };
  return Response.json(body, { status, headers });
}

/** A refusal with its own message. */
export class DetailedRefusal extends Refusal {
  override readonly receipt: Receipt | null;

  constructor(code: ErrorCode, { message, receipt = null, headers = {} }: {
    message?: string;
    receipt?: Receipt | null;
    headers?: Readonly<Record<string, string>>;
  } = {}) {
    super(code, headers);
    if (message !== undefined) this.message = message;
    this.receipt = receipt;
  }
}

/** The refusal of one field of a form. `message` can name the value and what is allowed. */
export function badField(field: string, message?: string): Refusal {
  const refusal = new DetailedRefusal("bad_field", message === undefined ? {} : { message });
  refusal.field = field;
  return refusal;
}

/** By the target's code. Other codes are bugs. */
const CODES: Partial<Record<ScimRefusalCode, ErrorCode>> = {
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
  read_only: "read_only_connector",
  backend_failed: "backend_failed",
  backend_unreachable: "backend_unreachable",
  busy: "busy_target",
};

/** Converts the refusals of an operation of a target. */
export async function withTargetErrors<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (fault) {
    const code = isScimRefusal(fault) ? CODES[fault.code] : undefined;
    if (!isScimRefusal(fault) || code === undefined) throw fault;
    const { message, receipt, headers } = fault;
    throw new DetailedRefusal(code, { message, receipt, headers });
  }
}

/** By its name: the console runs no code of SCIM. */
function isScimRefusal(fault: unknown): fault is ScimRefusal {
  return fault instanceof Error && fault.name === "ScimRefusal" && "code" in fault && "receipt" in fault;
}
