// Sends signed webhooks: one POST with a deadline, through a guarded caller for each receiver. The headers follow the Standard Webhooks
// specification 1.0 (webhook-id, webhook-timestamp, webhook-signature). The caller stores what must be sent again, and when.

import { createHmac } from "node:crypto";
import type { CallFault, CallProblem } from "../call_fault.ts";
import { type Fetch, fetchWithDeadline, readRetryAfter } from "../fetch_with_deadline.ts";
import { type BreakerLimits, createGuardedCaller, type GuardedCaller } from "../guarded_caller.ts";
import type { Clock, Random } from "../runtime.ts";
import type { WebhookFormat } from "./destination_choices.ts";
import { type EcsRecord, nestFields } from "./ecs_fields.ts";
import { ChannelFault, type LogChannel, type SendOptions } from "./log_channel.ts";
import { shortenRecord } from "./syslog.ts";

/** Who receives webhooks. */
export interface WebhookReceiver {
  /** Messages to one receiver are sent one after the other, and share a circuit breaker: `log-export:siem`. */
  readonly id: string;
  readonly url: string;
  /** Whether `url` may begin with `http:`. */
  readonly allowsHttp: boolean;
  /** The key of the signature: {@link createWebhookSecret}. */
  readonly secret: string;
  /** The value of the Authorization header; "": none. */
  readonly authorization?: string;
  /** Default: {@link WEBHOOK_TIMEOUT_MS}. */
  readonly timeoutMs?: number;
}

export interface WebhookMessage {
  /** The same for each try of one message, so that the receiver recognizes a repetition. */
  readonly id: string;
  readonly body: string;
  /** Default: `application/json`. */
  readonly contentType?: string;
}

export type WebhookOutcome = { readonly ok: true } | { readonly ok: false; readonly problem: CallFault };

/** Over the request, the head and the body of the answer. */
const WEBHOOK_TIMEOUT_MS = 10_000;
/** The answer is not used. */
const MAX_ANSWER_OCTETS = 64 * 1024;
const MAX_URL_CHARACTERS = 2000;
const SECRET_OCTETS = 32;
const SECRET_PREFIX = "whsec_";
const MAX_WAITING = 100;
/** Receivers without a call are forgotten beyond this number. */
const MAX_RECEIVERS = 100;
/** The caller waits between tries. The breaker protects a receiver that several parts call. */
const BREAKER: BreakerLimits = {
  failures: 5,
  windowMs: 60_000,
  firstPauseMs: 5000,
  longestPauseMs: 60_000,
  jitter: 0.5,
};

/** A new key for signatures: `whsec_` and 32 random octets in base64. */
export function createWebhookSecret(random: Random): string {
  return SECRET_PREFIX + random.bytes(SECRET_OCTETS).toBase64();
}

function keyOf(secret: string): Uint8Array | null {
  if (!secret.startsWith(SECRET_PREFIX) || secret.length > 200) return null;
  try {
    return Uint8Array.fromBase64(secret.slice(SECRET_PREFIX.length));
  } catch (_notBase64) {
    return null;
  }
}

/**
 * The signature headers of a message.
 *
 * @param nowMs when it is sent (milliseconds since the epoch)
 * @throws RangeError if `secret` is no key
 */
export function signWebhook(
  { id, body }: Pick<WebhookMessage, "id" | "body">,
  { secret, nowMs }: { secret: string; nowMs: number },
): Record<string, string> {
  const key = keyOf(secret);
  if (key === null) throw new RangeError("Cannot sign a webhook: the secret does not begin with whsec_");
  const timestamp = String(Math.floor(nowMs / 1000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

/** Why a URL cannot receive webhooks; `null`: it can. User and password belong into the Authorization header. */
export function webhookUrlProblem(
  url: string,
  { allowsHttp }: { allowsHttp: boolean },
): "bad_url" | "http_not_allowed" | null {
  const parsed = url.length > MAX_URL_CHARACTERS ? null : URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return "bad_url";
  if (parsed.username !== "" || parsed.password !== "" || parsed.hash !== "") return "bad_url";
  return parsed.protocol === "http:" && !allowsHttp ? "http_not_allowed" : null;
}

export class WebhookSender {
  readonly #deps: { readonly fetch: Fetch; readonly clock: Clock; readonly random: Random };
  readonly #callers = new Map<string, GuardedCaller<CallFault>>();

  /** @param deps.fetch that of `openHttpClient()`, never the global one, which may send a POST twice. */
  constructor(deps: { fetch: Fetch; clock: Clock; random: Random }) {
    this.#deps = deps;
  }

  /**
   * Sends a message once. Never rejects, and ends by the deadline. After a timeout or a lost connection, the receiver may have processed it.
   *
   * @param options.fetch another client, such as one with a private certificate authority
   */
  async send(
    receiver: WebhookReceiver,
    message: WebhookMessage,
    options: { readonly fetch?: Fetch; readonly signal?: AbortSignal } = {},
  ): Promise<WebhookOutcome> {
    const code = webhookUrlProblem(receiver.url, receiver);
    if (code !== null) {
      const detail = code === "bad_url" ? "the address is not an https: address" : "http: is not allowed";
      return refused({ code, detail, isPermanent: true });
    }
    const { clock } = this.#deps;
    const { timeoutMs = WEBHOOK_TIMEOUT_MS } = receiver;
    const deadlineMs = clock.nowMs() + timeoutMs;
    const outcome = await this.#callerOf(receiver.id).call(
      async () => {
        const sent = await this.#post(receiver, message, { ...options, deadlineMs });
        return sent.ok ? { ok: true, value: null } : { ok: false, fault: sent.problem };
      },
      { waitUntilMs: deadlineMs },
    );
    return outcome.ok ? { ok: true } : { ok: false, problem: outcome.fault };
  }

  /** Starts no more calls; resolves when the calls in progress have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#callers.values()].map((caller) => caller.close()));
  }

  async #post(
    { url, secret, authorization = "" }: WebhookReceiver,
    message: WebhookMessage,
    { deadlineMs, fetch = this.#deps.fetch, signal }: {
      readonly deadlineMs: number;
      readonly fetch?: Fetch;
      readonly signal?: AbortSignal;
    },
  ): Promise<WebhookOutcome> {
    const { clock } = this.#deps;
    const headers = {
      "content-type": message.contentType ?? "application/json",
      "user-agent": "Countersign",
      ...authorization === "" ? {} : { authorization },
      ...signWebhook(message, { secret, nowMs: clock.nowMs() }),
    };
    const made = await fetchWithDeadline({ method: "POST", url, headers, body: message.body }, {
      ...{ fetch, clock, deadlineMs, maxOctets: MAX_ANSWER_OCTETS },
      ...signal === undefined ? {} : { signal },
    });
    if (!made.ok) {
      const { detail } = made.loss;
      return refused({ code: detail === "no answer in time" ? "timeout" : "unreachable", detail });
    }
    return outcomeOf(made.status, readRetryAfter(made.headers.get("retry-after"), clock.nowMs()) ?? 0);
  }

  #callerOf(id: string): GuardedCaller<CallFault> {
    const known = this.#callers.get(id);
    if (known !== undefined) return known;
    for (const [other, caller] of this.#callers) {
      if (this.#callers.size < MAX_RECEIVERS) break;
      const { running, waiting } = caller.load();
      if (running + waiting === 0) this.#callers.delete(other);
    }
    const caller = createGuardedCaller<CallFault>({
      ...this.#deps,
      limit: { concurrent: 1, waiting: MAX_WAITING },
      breaker: BREAKER,
      toFault: (refusal) =>
        refusal.reason === "circuit_open"
          ? problemOf({
            code: "paused",
            detail: "the receiver failed lately and is left alone for a while",
            retryAfterMs: refusal.retryAfterMs,
          })
          : problemOf({ code: "failed", detail: REFUSALS[refusal.reason] }),
      isDown: ({ code }) => code === "unreachable" || code === "timeout" || code === "failed",
    });
    this.#callers.set(id, caller);
    return caller;
  }
}

const REFUSALS = {
  queue_full: "too many messages wait for this receiver",
  wait_timeout: "the message before this one took too long",
  closed: "the gateway stops",
  call_timeout: "no answer in time",
  call_threw: "the message could not be sent",
} as const;

/** Statuses (RFC 9110 §15) that ask for a later try, besides 5xx. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 425, 429]);

function outcomeOf(status: number, retryAfterMs: number): WebhookOutcome {
  const detail = `HTTP ${status}`;
  if (status >= 200 && status < 300) return { ok: true };
  if (status >= 300 && status < 400) {
    return refused({ code: "redirected", detail: `redirected (${detail})`, isPermanent: true });
  }
  if (status === 413) return refused({ code: "too_large", detail, isPermanent: true });
  if (RETRIED_STATUSES.has(status)) return refused({ code: "busy", detail, retryAfterMs });
  return refused({
    code: status >= 500 ? "failed" : "refused",
    detail,
    retryAfterMs,
    isPermanent: status < 500,
  });
}

type GivenProblem = Pick<CallFault, "code" | "detail"> & Partial<CallFault>;

/** Details are texts of this file or statuses, never of the receiver. */
function problemOf(given: GivenProblem): CallFault {
  return { retryAfterMs: 0, isPermanent: false, ...given };
}

function refused(given: GivenProblem): WebhookOutcome {
  return { ok: false, problem: problemOf(given) };
}

// Records as webhooks: batches of JSON, signed, one request after the other. A 2xx answer confirms a batch.

interface WebhookChannelDeps {
  readonly sender: WebhookSender;
  /** The client with the authorities of the destination; absent: those of the platform. */
  readonly client?: { readonly fetch: Fetch; readonly close: () => void } | undefined;
}

const MAX_BODY_OCTETS = 512 * 1024;
const MAX_RECORDS = 500;
/** Problems (details of the sender) that can be caused by the content of one record: RFC 9110 §15.5.1, §15.5.21. */
const CONTENT_REFUSALS: ReadonlySet<string> = new Set(["HTTP 400", "HTTP 422"]);
/** Records that are sent alone and refused, before any was accepted. */
const MAX_REFUSED_FIRST = 50;
/** Of the sender, in the words of a destination. */
const PROBLEMS: Readonly<Partial<Record<CallProblem, CallProblem>>> = {
  bad_url: "bad_settings",
  http_not_allowed: "bad_settings",
  failed: "refused",
};

export class WebhookChannel implements LogChannel {
  readonly confirmAfterMs = 0;
  readonly #deps: WebhookChannelDeps;
  readonly #receiver: WebhookReceiver;
  readonly #format: WebhookFormat;

  constructor(
    deps: WebhookChannelDeps,
    { receiver, format }: { receiver: WebhookReceiver; format: WebhookFormat },
  ) {
    this.#deps = deps;
    this.#receiver = receiver;
    this.#format = format;
  }

  async send(
    records: readonly EcsRecord[],
    options: SendOptions,
  ): Promise<readonly string[]> {
    const pass: SendPass = { ...options, accepted: 0, leftOut: [], refusal: null };
    for (const batch of batchesOf(records)) await this.#sendBatch(batch, pass);
    // A receiver that accepts nothing has another problem than the content of a record.
    if (pass.accepted === 0 && pass.refusal !== null) throw pass.refusal;
    return pass.leftOut;
  }

  confirm(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#deps.client?.close();
  }

  /** A batch that is too large for the receiver is sent in halves, and one record without its dispensable fields. */
  async #sendBatch(batch: readonly Prepared[], pass: SendPass): Promise<void> {
    if (pass.isStopped()) throw new ChannelFault("busy", "the gateway stops");
    const { sender, client } = this.#deps;
    const fetch = client === undefined ? {} : { fetch: client.fetch };
    const outcome = await sender.send(this.#receiver, this.#messageOf(batch), fetch);
    if (outcome.ok) return void (pass.accepted += batch.length);
    const { code, detail, retryAfterMs } = outcome.problem;
    const fault = new ChannelFault(PROBLEMS[code] ?? code, detail, { retryAfterMs });
    const isTooLarge = code === "too_large";
    const isRefused = isTooLarge || CONTENT_REFUSALS.has(detail);
    const [one] = batch;
    if (batch.length === 1 && one !== undefined) {
      if (isTooLarge && !one.isShort) return await this.#sendBatch([shortened(one)], pass);
      if (isRefused) return leaveOut(one, { pass, fault });
    }
    if (!isTooLarge && !(isRefused && pass.leavesOutRefused)) throw fault;
    const middle = batch.length >> 1;
    await this.#sendBatch(batch.slice(0, middle), pass);
    await this.#sendBatch(batch.slice(middle), pass);
  }

  /** The id is made of the records, so that a repetition of a batch has the same one. */
  #messageOf(batch: readonly Prepared[]): { id: string; body: string; contentType: string } {
    const id = `${batch[0]?.id}-${batch.at(-1)?.id}-${batch.length}`;
    const lines = batch.map(({ line }) => line);
    return this.#format === "ndjson"
      ? { id, body: `${lines.join("\n")}\n`, contentType: "application/x-ndjson" }
      : { id, body: `{"records":[${lines.join(",")}]}`, contentType: "application/json" };
  }
}

/** What happened to the records of one call. */
interface SendPass extends SendOptions {
  accepted: number;
  readonly leftOut: string[];
  /** The first refusal of a single record. */
  refusal: ChannelFault | null;
}

interface Prepared {
  readonly id: string;
  readonly line: string;
  readonly fields: EcsRecord;
  readonly isShort: boolean;
}

function prepared(fields: EcsRecord, isShort: boolean): Prepared {
  return { id: String(fields["event.id"]), line: JSON.stringify(nestFields(fields)), fields, isShort };
}

const shortened = ({ fields }: Prepared): Prepared => prepared(shortenRecord(fields), true);

/** @throws ChannelFault if no record may be left out, or the receiver accepts none */
function leaveOut({ id }: Prepared, { pass, fault }: { pass: SendPass; fault: ChannelFault }): void {
  pass.refusal ??= fault;
  pass.leftOut.push(id);
  const isWithoutSuccess = pass.accepted === 0 && pass.leftOut.length >= MAX_REFUSED_FIRST;
  if (!pass.leavesOutRefused || isWithoutSuccess) throw fault;
}

function* batchesOf(records: readonly EcsRecord[]): Generator<Prepared[]> {
  let batch: Prepared[] = [];
  let octets = 0;
  for (const fields of records) {
    const one = prepared(fields, false);
    // A character has at most three octets in UTF-8 for each of its units in UTF-16.
    const length = one.line.length * 3;
    if (batch.length > 0 && (batch.length >= MAX_RECORDS || octets + length > MAX_BODY_OCTETS)) {
      yield batch;
      [batch, octets] = [[], 0];
    }
    batch.push(one);
    octets += length;
  }
  if (batch.length > 0) yield batch;
}
