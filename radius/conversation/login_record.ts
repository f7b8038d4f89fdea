// A finished login as the history keeps it: by place, not by name, because every login writes one.

import { type Denial, readDenial } from "../flow/denial_causes.ts";

/** How one login went. Holds no secret. */
export interface FinishedLogin {
  readonly user: string;
  readonly client: string;
  readonly source: string;
  readonly place: string;
  readonly factor: string | null;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly outcome: string;
  /** Why a user was refused, where that was the reason. */
  readonly refusedFor: string | null;
  /** The first factor was asked and was right. */
  readonly passwordRight: boolean;
  /** The target whose users logged in; absent in records from before it was kept. */
  readonly target?: string;
  /** The phone that was asked last, where that was the factor and it has a name. */
  readonly phone?: string;
  /** Why the push was not approved; absent when that did not end the login, and in records of older versions. */
  readonly denial?: Denial;
  readonly moments: readonly { readonly atMs: number; readonly step: string; readonly row: string }[];
}

/** How long the history goes back. */
export const HISTORY_KEPT_MS = 90 * 24 * 3600_000;

/** The store's key of a finished conversation; ordered by its beginning. */
export function historyKey(conversationId: string): readonly [string, string] {
  return ["history", conversationId];
}

const utf8 = new TextEncoder();
const text = new TextDecoder();

export function packFinished(login: FinishedLogin): Uint8Array<ArrayBuffer> {
  const { user, client, source, place, factor, startedMs, endedMs, outcome, refusedFor, denial } = login;
  const moments: unknown[] = [];
  for (const { atMs, step, row } of login.moments) moments.push(atMs - startedMs, step, row);
  return utf8.encode(
    JSON.stringify([
      user,
      client,
      source,
      place,
      factor,
      startedMs,
      endedMs - startedMs,
      outcome,
      refusedFor,
      moments,
      login.passwordRight ? 1 : 0,
      login.target,
      login.phone,
      denial === undefined ? null : [denial.cause, denial.by],
    ]),
  );
}

/** `null` for what is no such record. */
export function unpackFinished(value: unknown): FinishedLogin | null {
  if (!(value instanceof Uint8Array)) return null;
  try {
    return readList(JSON.parse(text.decode(value)));
  } catch (_notJson) {
    return null;
  }
}

function readList(list: unknown): FinishedLogin | null {
  if (!Array.isArray(list)) return null;
  const [user, client, source, place, factor, startedMs, tookMs, outcome, refusedFor, packed, right] = list;
  const [target, phone, storedDenial] = list.slice(11);
  const denial = readDenial(storedDenial);
  const texts = [user, client, source, place, outcome];
  if (!texts.every((one) => typeof one === "string") || !Array.isArray(packed)) return null;
  if (typeof startedMs !== "number" || typeof tookMs !== "number") return null;
  const moments: { atMs: number; step: string; row: string }[] = [];
  for (let at = 0; at + 2 < packed.length; at += 3) {
    moments.push({
      atMs: startedMs + Number(packed[at]),
      step: String(packed[at + 1]),
      row: String(packed[at + 2]),
    });
  }
  return {
    user,
    client,
    source,
    place,
    factor: typeof factor === "string" ? factor : null,
    startedMs,
    endedMs: startedMs + tookMs,
    outcome,
    refusedFor: typeof refusedFor === "string" ? refusedFor : null,
    moments,
    passwordRight: right === 1,
    ...(typeof target === "string" ? { target } : {}),
    ...(typeof phone === "string" ? { phone } : {}),
    ...(denial === undefined ? {} : { denial }),
  };
}
