// Parses the answers of the second-factor service and of the telephony service, and makes the faults of calls: the meaning of an HTTP
// status, and texts without secrets and control characters. A member that a decision depends on must be present and have its type.
// Other members may be missing, and unknown ones are ignored.

import { parseDeviceLabel } from "../platform/device_label.ts";
import { asRecord, type JsonRecord } from "../platform/safe_json.ts";
import type { ApprovalRequest, DevicePairing, Fault, Outcome } from "../radius/ports.ts";
import { sanitizeDetail } from "../platform/control_characters.ts";

/** The error in a response body; `code` falls back to the HTTP status. */
export interface ErrorBody {
  readonly code: number;
  readonly detail: string;
}

const MAX_DETAIL_CHARACTERS = 200;
const MAX_RETRY_AFTER_MS = 3_600_000;

/** An outcome that failed. */
export function failed<T>(fault: Fault): Outcome<T> {
  return { ok: false, fault };
}

/** The fault for an answer that does not follow the interface. */
export function malformed<T>(detail: string): Outcome<T> {
  return failed({ kind: "nonsense", detail });
}

/** The fault for a status other than 2xx. `retryAfter` is the header's text. */
export function faultOfStatus(
  status: number,
  { error, retryAfter }: { error: ErrorBody; retryAfter: string | null },
): Fault {
  const { code, detail } = error;
  if (status >= 300 && status < 400) {
    return { kind: "unreachable", sent: true, detail: `redirected (HTTP ${status})` };
  }
  if (status === 404) return { kind: "unknown", code, detail };
  if (status === 429) return { kind: "busy", retryAfterMs: readRetryAfterMs(retryAfter), detail };
  if (status >= 400 && status < 500) return { kind: "refused", status, code, detail };
  if (status >= 500) return { kind: "failed", status, detail };
  return { kind: "nonsense", detail: `HTTP ${status} is no answer to this call` };
}

/** `Retry-After` in seconds (RFC 9110 §10.2.3), at most an hour; a date or anything else is 0. */
function readRetryAfterMs(text: string | null): number {
  if (text === null || !/^\d{1,9}$/.test(text.trim())) return 0;
  return Math.min(Number(text) * 1000, MAX_RETRY_AFTER_MS);
}

/** A text of a service for a fault: short, on one line, and without `secrets`, passcodes and phone numbers. */
export function maskDetail(text: string, secrets: readonly string[] = []): string {
  const limits = { maxCharacters: MAX_DETAIL_CHARACTERS, masksDigits: true };
  return sanitizeDetail(text.toWellFormed(), { secrets, ...limits });
}

const MAX_ID_CHARACTERS = 128;
const MAX_NAME_CHARACTERS = 256;
const MAX_TOTP_DIGITS = 10;

/** Whether an identifier is valid in a path: printable ASCII, and no dot segment, which a URL parser would resolve. */
export function isIdentifier(text: string): boolean {
  return text.length <= MAX_ID_CHARACTERS && /^[\x21-\x7e]+$/.test(text) && !/^\.+$/.test(text);
}

/**
 * An authentication request record.
 *
 * @param options.askedId the requested identifier; an answer for another one is a fault. `null` for a new one.
 * @param options.secrets texts that must not appear in `reason`.
 */
export function parseApprovalRequest(
  body: JsonRecord,
  { askedId, secrets = [] }: { askedId: string | null; secrets?: readonly string[] },
): Outcome<ApprovalRequest> {
  const fields = createFieldReader(body);
  const id = fields.identifier("id", askedId);
  const pending = fields.boolean("pending");
  const granted = fields.boolean("granted");
  const cancelled = fields.boolean("cancelled", false);
  const reason = fields.text("reason");
  const reasonCode = fields.integer("reason_code");
  if (fields.flaw() !== null) return malformed(`an authentication request whose ${fields.flaw()}`);
  return {
    ok: true,
    // A record that is granted and cancelled at the same time grants nothing.
    value: {
      id,
      pending,
      granted: granted && !cancelled,
      cancelled,
      reason: maskDetail(reason, secrets),
      reasonCode,
    },
  };
}

/** A pairing record. `askedId` as in {@link parseApprovalRequest}. */
export function parsePairing(
  body: JsonRecord,
  { askedId }: { askedId: string | null },
): Outcome<DevicePairing> {
  const fields = createFieldReader(body);
  const id = fields.identifier("id", askedId);
  const enabled = fields.boolean("enabled");
  const deactivated = fields.boolean("deactivated", false);
  const pending = fields.boolean("pending", !enabled && !deactivated);
  const totpLength = fields.integer("totp_length");
  const userName = readUserName(body);
  if (userName === null) return malformed("a pairing whose user has no name");
  if (fields.flaw() !== null) return malformed(`a pairing whose ${fields.flaw()}`);
  if (totpLength < 0 || totpLength > MAX_TOTP_DIGITS) return malformed("a pairing whose totp_length is odd");
  return {
    ok: true,
    value: {
      id,
      enabled: enabled && !deactivated,
      pending,
      deactivated,
      userName,
      totpLength,
      ...readDeviceName(body),
    },
  };
}

/** The name of the authenticator; a text that is not a valid phone name is left out, without an error. */
function readDeviceName(body: JsonRecord): { name?: string } {
  const given = asRecord(body.member("authenticator"))?.member("name");
  const name = typeof given === "string" ? parseDeviceLabel(given) : null;
  return name === null ? {} : { name };
}

function readUserName(body: JsonRecord): string | null {
  const name = asRecord(body.member("user"))?.member("name");
  return typeof name === "string" && name.length <= MAX_NAME_CHARACTERS ? name : null;
}

interface FieldReader {
  identifier(name: string, asked: string | null): string;
  boolean(name: string, absent?: boolean): boolean;
  /** Absent or null: empty. */
  text(name: string): string;
  /** Absent or null: 0. */
  integer(name: string): number;
  /** The first problem, as the end of a sentence, or `null`. */
  flaw(): string | null;
}

function createFieldReader(body: JsonRecord): FieldReader {
  let flaw: string | null = null;
  const wrong = <T>(what: string, fallback: T): T => {
    flaw ??= what;
    return fallback;
  };
  return {
    identifier(name, asked) {
      const value = body.member(name);
      if (typeof value !== "string" || !isIdentifier(value)) return wrong(`${name} is no identifier`, "");
      return asked === null || asked === value ? value : wrong(`${name} is not the one asked for`, "");
    },
    boolean(name, absent) {
      const value = body.member(name);
      if (value === undefined && absent !== undefined) return absent;
      return typeof value === "boolean" ? value : wrong(`${name} is no boolean`, false);
    },
    text(name) {
      const value = body.member(name) ?? "";
      return typeof value === "string" ? value : wrong(`${name} is no text`, "");
    },
    integer(name) {
      const value = body.member(name) ?? 0;
      return typeof value === "number" && Number.isSafeInteger(value)
        ? value
        : wrong(`${name} is no integer`, 0);
    },
    flaw: () => flaw,
  };
}
