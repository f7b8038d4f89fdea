// The typed client of the console's API: refusals become one kind of failure, with a code to branch on.

import type { hc } from "hono/client";
import type { ConsoleApi } from "../api/console_api.ts";
import type { Receipt } from "../../scim/ports.ts";
import type { LastChange, RefusalBody } from "../api/errors.ts";
import { calls } from "./api_calls.ts";
import { fullTimeText } from "./format.ts";
import { failureMessage, t } from "./i18n/translate.ts";

/** Why a call did not work. `code` is the API's, or `offline` or `nonsense`. */
export class ApiFailure extends Error {
  readonly code: string;
  /** Milliseconds to wait, as the server asked; 0 when it did not. */
  readonly retryAfterMs: number;
  /** What each backend did, when some were asked. */
  readonly receipt: Receipt | null;
  /** The change that came before this one, when the object has another version by now. */
  readonly lastChange: LastChange | null;

  constructor(code: string, { message, retryAfterMs = 0, receipt = null, lastChange = null }: {
    message?: string;
    retryAfterMs?: number;
    receipt?: Receipt | null;
    lastChange?: LastChange | null;
  } = {}) {
    super(message ?? code);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.receipt = receipt;
    this.lastChange = lastChange;
  }
}

/** The calls, without the network's and the refusals' ways of failing. */
export function createApiClient(): ApiClient {
  return calls("/console/api") as ApiClient;
}
export type ApiClient = ReturnType<typeof hc<ConsoleApi>>;

/** What a typed answer holds. */
interface TypedAnswer<T> {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Headers;
  json(): Promise<T>;
}

/**
 * The value of a call.
 *
 * @throws ApiFailure and nothing else.
 */
export async function take<T>(call: Promise<TypedAnswer<T>>): Promise<T> {
  const response = await call.catch(() => {
    throw new ApiFailure("offline");
  });
  if (!response.ok) throw await failureOf(response);
  try {
    return await response.json();
  } catch (_notJson) {
    throw new ApiFailure("nonsense");
  }
}

async function failureOf(response: TypedAnswer<unknown>): Promise<ApiFailure> {
  const retryAfterMs = Number(response.headers.get("retry-after") ?? 0) * 1000;
  try {
    const { error } = await response.json() as RefusalBody;
    return new ApiFailure(error.code, {
      message: error.message,
      retryAfterMs,
      receipt: error.receipt ?? null,
      lastChange: error.lastChange ?? null,
    });
  } catch (_notOurs) {
    return new ApiFailure(response.status >= 500 ? "offline" : "nonsense", { retryAfterMs });
  }
}

/** The sentence for what was caught, in the language that is on where there is one for its code. */
export function failureText(fault: unknown): string {
  if (!(fault instanceof ApiFailure)) return failureMessage("nonsense") ?? String(fault);
  if (fault.lastChange !== null) return `${lastChangeText(fault.lastChange)} ${t("frame.load_again")}`;
  const sentence = failureMessage(fault.code) ?? fault.message;
  if (fault.code !== "too_many_attempts" && fault.code !== "locked_out") return sentence;
  const seconds = Math.ceil(fault.retryAfterMs / 1000);
  const when = seconds < 100
    ? t("frame.try_again_in", { count: seconds })
    : t("frame.try_again_in_minutes", { count: Math.ceil(seconds / 60) });
  return `${sentence} ${when}`;
}

/** "grace changed this on 15 Jan 2027, 08:00:00." */
export function lastChangeText({ actor, atMs, isOwn }: LastChange): string {
  const time = fullTimeText(atMs);
  return isOwn ? t("frame.changed_by_you", { time }) : t("frame.changed_by", { name: actor, time });
}
