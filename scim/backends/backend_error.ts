// Errors of backends. Inside a backend, a failed step throws a BackendError. The public methods turn it into an outcome.

import { sanitizeDetail } from "../../platform/control_characters.ts";
import type { BackendFault, BackendOutcome } from "../backend_port.ts";

const MAX_DETAIL_CHARACTERS = 300;
/** A fault that is thrown inside a backend. The public methods return it as an outcome. */
export class BackendError extends Error {
  readonly fault: BackendFault;

  constructor(fault: BackendFault, options: { cause?: unknown } = {}) {
    super(fault.detail, options);
    this.name = "BackendError";
    this.fault = fault;
  }
}

/** @param detail a sentence without secrets. */
export function unreachableError(
  detail: string,
  { unsure = false, retryAfterMs }: { unsure?: boolean; retryAfterMs?: number } = {},
): BackendError {
  const fault = { kind: "unreachable", detail, unsure, retry: true } as const;
  return new BackendError(retryAfterMs === undefined ? fault : { ...fault, retryAfterMs });
}

/** A response that does not follow the protocol. */
export function malformedError(detail: string): BackendError {
  return new BackendError({ kind: "nonsense", detail, unsure: false, retry: true });
}

/** An operation that this backend can never perform. */
export function unsupportedError(detail: string): BackendError {
  return new BackendError({ kind: "unsupported", detail, unsure: false, retry: false });
}

export function refusedError(detail: string, { retry = false }: { retry?: boolean } = {}): BackendError {
  return new BackendError({ kind: "refused", detail, unsure: false, retry });
}

/** The gateway gave up before it called the backend. */
export function localError(kind: "busy" | "unreachable", detail: string): BackendError {
  return new BackendError({ kind, detail, unsure: false, retry: true, isLocal: true });
}

/** Runs `task`, and returns its error as a fault. An error that is not a {@link BackendError} is a bug and is passed to `onBug`. */
export async function toBackendOutcome<T>(
  task: () => Promise<T>,
  onBug: (bug: unknown) => void,
): Promise<BackendOutcome<T>> {
  try {
    return { ok: true, value: await task() };
  } catch (thrown) {
    return { ok: false, fault: toBackendFault(thrown, onBug) };
  }
}

/** The fault of a thrown value. After an unexpected error, the operation may have taken effect: `unsure`. */
export function toBackendFault(thrown: unknown, onBug: (bug: unknown) => void): BackendFault {
  if (thrown instanceof BackendError) return thrown.fault;
  onBug(thrown);
  return { kind: "nonsense", detail: "unexpected error in the backend client", unsure: true, retry: true };
}

/** A text from a backend for a fault: short, on one line, and without `secrets`. */
export function foreignDetail(text: string, secrets: readonly string[] = []): string {
  return sanitizeDetail(text, { secrets, maxCharacters: MAX_DETAIL_CHARACTERS }).trim();
}

/** Thrown only by `Backend.list`. Earlier pages remain valid. */
export class BackendListError extends Error {
  readonly fault: BackendFault;

  constructor(fault: BackendFault) {
    super(fault.detail);
    this.name = "BackendListError";
    this.fault = fault;
  }
}
