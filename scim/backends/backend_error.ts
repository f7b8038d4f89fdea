// Faults on their way to the border of a backend: inside, a step that fails throws one; at the border it becomes an outcome.

import { blankControlCharacters } from "../../platform/control_characters.ts";
import type { BackendFault, BackendOutcome } from "../backend_port.ts";

const MAX_DETAIL_CHARACTERS = 300;
/** A fault that is thrown inside a backend. Never leaves it. */
export class Trouble extends Error {
  readonly fault: BackendFault;

  constructor(fault: BackendFault, options: { cause?: unknown } = {}) {
    super(fault.detail, options);
    this.name = "Trouble";
    this.fault = fault;
  }
}

/** @param detail a sentence without secrets. */
export function unreachable(
  detail: string,
  { unsure = false, retryAfterMs }: { unsure?: boolean; retryAfterMs?: number } = {},
): Trouble {
  return new Trouble({ kind: "unreachable", detail, unsure, retry: true, ...optional({ retryAfterMs }) });
}

/** The backend answers, but not in its protocol or not sensibly. */
export function nonsense(detail: string): Trouble {
  return new Trouble({ kind: "nonsense", detail, unsure: false, retry: true });
}

/** What cannot be done at this backend, however often it is tried. */
export function unsupported(detail: string): Trouble {
  return new Trouble({ kind: "unsupported", detail, unsure: false, retry: false });
}

export function refused(detail: string, { retry = false }: { retry?: boolean } = {}): Trouble {
  return new Trouble({ kind: "refused", detail, unsure: false, retry });
}

export function busy(detail: string, { retryAfterMs }: { retryAfterMs?: number } = {}): Trouble {
  return new Trouble({ kind: "busy", detail, unsure: false, retry: true, ...optional({ retryAfterMs }) });
}

function optional({ retryAfterMs }: { retryAfterMs: number | undefined }): { retryAfterMs?: number } {
  return retryAfterMs === undefined ? {} : { retryAfterMs };
}

/** Runs `task`; what it throws becomes a fault. An error that is no {@link Trouble} is a bug, told to `onBug`. */
export async function outcomeOf<T>(
  task: () => Promise<T>,
  onBug: (bug: unknown) => void,
): Promise<BackendOutcome<T>> {
  try {
    return { ok: true, value: await task() };
  } catch (thrown) {
    return { ok: false, fault: faultOf(thrown, onBug) };
  }
}

/** The fault of whatever was thrown. After an unforeseen error, the operation may have been done: `unsure`. */
export function faultOf(thrown: unknown, onBug: (bug: unknown) => void): BackendFault {
  if (thrown instanceof Trouble) return thrown.fault;
  onBug(thrown);
  return { kind: "nonsense", detail: "something unforeseen went wrong here", unsure: true, retry: true };
}

/** A foreign sentence, short and on one line, without `secrets`. */
export function cleanDetail(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) if (secret !== "") clean = clean.replaceAll(secret, "…");
  return blankControlCharacters(clean).trim().slice(0, MAX_DETAIL_CHARACTERS);
}
