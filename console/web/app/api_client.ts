// The typed client of the console's API. Every refusal is an `ApiFailure` with a code.

import { hc } from "hono/client";
import type { ConsoleApi } from "../../api/console_api.ts";
import type { Receipt } from "../../../scim/ports.ts";
import type { LastChange, RefusalBody } from "../../api/errors.ts";
import { fullTimeText } from "./format.ts";
import { errorMessage, language, t } from "../i18n/translate.ts";

/** A failed call. `code` is the API's, `offline`, or `nonsense` for a response that cannot be read. */
export class ApiFailure extends Error {
  readonly code: string;
  /** How long the server asks to wait, in ms; 0 if it does not ask. */
  readonly retryAfterMs: number;
  /** The result of each backend; `null` if no backend was called. */
  readonly receipt: Receipt | null;
  /** The change that makes this one a conflict. */
  readonly lastChange: LastChange | null;
  /** The settings that others changed meanwhile. */
  readonly conflicts: NonNullable<RefusalBody["error"]["conflicts"]> | null;
  /** Why settings cannot be saved. */
  readonly faults: NonNullable<RefusalBody["error"]["faults"]> | null;
  /** The field that is not accepted. */
  readonly field: string | null;

  constructor(
    code: string,
    { message, retryAfterMs = 0, receipt = null, lastChange = null, ...more }:
      & Partial<Pick<ApiFailure, "message" | "retryAfterMs" | "receipt" | "lastChange">>
      & Partial<Pick<ApiFailure, "conflicts" | "faults" | "field">> = {},
  ) {
    super(message ?? code);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.receipt = receipt;
    this.lastChange = lastChange;
    this.conflicts = more.conflicts ?? null;
    this.faults = more.faults ?? null;
    this.field = more.field ?? null;
  }
}

/** A write can wait for several backends. */
const READ_DEADLINE_MS = 30_000;
const WRITE_DEADLINE_MS = 300_000;

/** A `fetch` with a deadline: a poll waits until the request before it ends. */
export function createBrowserFetch(
  deps: { readonly fetch: typeof fetch; readonly timeout: (ms: number) => AbortSignal },
): typeof fetch {
  return (input, init) => {
    const deadlineMs = init?.method === "GET" ? READ_DEADLINE_MS : WRITE_DEADLINE_MS;
    return deps.fetch(input, { ...init, signal: init?.signal ?? deps.timeout(deadlineMs) });
  };
}

/** {@link createBrowserFetch} of the browser. */
export const browserFetch = createBrowserFetch({
  fetch: (...request) => fetch(...request),
  timeout: (ms) => AbortSignal.timeout(ms),
});

/** hono's typed client. {@link take} turns what can fail into an ApiFailure. */
export function createApiClient(): ApiClient {
  return hc<ConsoleApi>("/console/api", { fetch: browserFetch });
}
export type ApiClient = ReturnType<typeof hc<ConsoleApi>>;

/** Escapes path parameters, because hono's client does not. */
export function escapeParams<T extends Readonly<Record<string, string>>>(params: T): T {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, encodeURIComponent(value)]),
  ) as T;
}

interface TypedResponse<T> {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Headers;
  json(): Promise<T>;
}

/**
 * Returns the value of a response.
 *
 * @throws ApiFailure and nothing else.
 */
export async function take<T>(call: Promise<TypedResponse<T>>): Promise<T> {
  const response = await call.catch(() => {
    throw new ApiFailure("offline");
  });
  if (!response.ok) throw await parseFailure(response);
  try {
    return await response.json();
  } catch (fault) {
    // Other errors mean that the connection broke, or the deadline passed, within the body.
    throw new ApiFailure(fault instanceof SyntaxError ? "nonsense" : "offline");
  }
}

async function parseFailure(response: TypedResponse<unknown>): Promise<ApiFailure> {
  const retryAfterMs = Number(response.headers.get("retry-after") ?? 0) * 1000;
  try {
    const { error } = await response.json() as RefusalBody;
    return new ApiFailure(error.code, {
      message: error.message,
      retryAfterMs,
      receipt: error.receipt ?? null,
      lastChange: error.lastChange ?? null,
      conflicts: error.conflicts ?? null,
      faults: error.faults ?? null,
      field: error.field ?? null,
    });
  } catch (_notOurs) {
    return new ApiFailure(response.status >= 500 ? "offline" : "nonsense", { retryAfterMs });
  }
}

/** The message of an error. The server's English message can name a value. Other languages have one message for each code. */
export function errorText(fault: unknown): string {
  const { code, message } = fault instanceof ApiFailure ? fault : new ApiFailure("nonsense");
  const isEnglish = message !== code && language.value === "en";
  return isEnglish ? message : errorMessage(code) ?? message;
}

/** The message of an error, with the conflicting change or the time of the next attempt. */
export function failureText(fault: unknown): string {
  const sentence = errorText(fault);
  if (!(fault instanceof ApiFailure)) return sentence;
  if (fault.lastChange !== null) return `${lastChangeText(fault.lastChange)} ${t("common.load_again")}`;
  if (fault.code !== "too_many_attempts" && fault.code !== "locked_out") return sentence;
  const seconds = Math.ceil(fault.retryAfterMs / 1000);
  const when = seconds < 100
    ? t("common.try_again_in", { count: seconds })
    : t("common.try_again_in_minutes", { count: Math.ceil(seconds / 60) });
  return `${sentence} ${when}`;
}

/** "grace changed this on 15 Jan 2027, 08:00:00." */
export function lastChangeText({ actor, atMs, isOwn }: LastChange): string {
  const time = fullTimeText(atMs);
  return isOwn ? t("common.changed_by_you", { time }) : t("common.changed_by", { name: actor, time });
}

/**
 * Downloads a file.
 *
 * @param address a path on this site, with its query.
 * @throws ApiFailure
 */
export async function download(address: string, fileName: string): Promise<void> {
  const response = await fetch(address).catch(() => {
    throw new ApiFailure("offline");
  });
  if (!response.ok) {
    const body: { error?: { code?: string; message?: string } } = await response.json().catch(() => ({}));
    throw new ApiFailure(body.error?.code ?? "nonsense", { message: body.error?.message ?? "" });
  }
  const content = await response.blob().catch(() => {
    throw new ApiFailure("offline");
  });
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(url);
}
