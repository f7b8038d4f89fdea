// The push subscriptions of phones: one for each phone, sealed in the store. It ends with the token of the phone. If the push
// service ends it, its record remains, so that pages can show why the phone receives nothing.

import { toBase64Url } from "../../../platform/runtime.ts";
import type { SecondFactorContext } from "../second_factor/context.ts";
import { type PushSubscriptionRecord, SUBSCRIBED, SUBSCRIPTION_ENDED } from "../second_factor/records.ts";
import type { PushProblemCode } from "./push_exchange.ts";
import type { PushResult } from "./push_sender.ts";
import { matchesHost } from "../../../platform/addresses.ts";
import { type BrowserPushKeys, isPushKey } from "./push_encryption.ts";

/** Whether a phone receives pushes. `failed`: the last message did not arrive, and a later one will not either. */
export type PhonePushState = "on" | "off" | "failed";

const ATTEMPTS = 3;
/** These end a subscription: it never works again. */
const ENDING: ReadonlySet<PushProblemCode> = new Set<PushProblemCode>(["gone"]);
/** These say something about this phone, not about the push service at the moment. */
const LASTING: ReadonlySet<PushProblemCode> = new Set<PushProblemCode>([
  "gone",
  "bad_message",
  "credentials_refused",
  "too_large",
  "host_not_allowed",
  "private_address",
]);

export class PushSubscriptions {
  readonly #context: SecondFactorContext;

  constructor(context: SecondFactorContext) {
    this.#context = context;
  }

  get #table() {
    return this.#context.tables.subscriptions;
  }

  /** How many phones are subscribed, and how many subscriptions the push services ended. */
  counts(): { subscribed: number; ended: number } {
    return { subscribed: this.#table.count(SUBSCRIBED), ended: this.#table.count(SUBSCRIPTION_ENDED) };
  }

  find(phone: string): PushSubscriptionRecord | undefined {
    return this.#table.get(phone)?.value;
  }

  /** Whether messages for the phone have an address. */
  isSubscribed(phone: string): boolean {
    return (this.find(phone)?.sealed ?? null) !== null;
  }

  state(phone: string): PhonePushState {
    const record = this.find(phone);
    if (record === undefined) return "off";
    return record.sealed === null || record.problem !== null ? "failed" : "on";
  }

  /** Where to send messages of a subscription, which may have ended meanwhile; `null`: nowhere. */
  target({ phone, sealed, host }: PushSubscriptionRecord): PushTarget | null {
    const plain = sealed === null ? null : this.#context.vault.open(recordKey(phone), sealed);
    if (plain === null) return null;
    const { endpoint, p256dh, auth } = JSON.parse(new TextDecoder().decode(plain));
    return { endpoint, host, p256dh: fromText(p256dh), auth: fromText(auth) };
  }

  /** Replaces the subscription of a phone. `false` if the phone has no pairing. */
  async save(phone: string, { endpoint, host, p256dh, auth }: PushTarget): Promise<boolean> {
    const { vault, clock } = this.#context;
    const plain = { endpoint, p256dh: toBase64Url(p256dh), auth: toBase64Url(auth) };
    const sealed = vault.seal(recordKey(phone), new TextEncoder().encode(JSON.stringify(plain)));
    const record = { phone, sealed, host, createdMs: clock.nowMs(), problem: null };
    return await this.#write(phone, () => record);
  }

  async remove(phone: string): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = this.#table.get(phone);
      if (row === undefined || await this.#context.tables.commit([this.#table.remove(row)])) return;
    }
    throw new Error("Cannot remove a push subscription: it changed repeatedly");
  }

  /**
   * Records the result of a message, if it changes the state.
   *
   * @param options.createdMs identifies the subscription that the message was sent to.
   */
  async note(
    phone: string,
    { result, createdMs }: { result: PushResult; createdMs: number },
  ): Promise<void> {
    if (!result.ok && (result.fault === "replaced" || !LASTING.has(result.fault.code))) return;
    const problem = result.ok ? null : result.fault.code;
    const ended = problem !== null && ENDING.has(problem);
    const before = this.find(phone);
    if (before === undefined || before.createdMs !== createdMs) return;
    if ((before.problem?.code ?? null) === problem && !ended) return;
    const atMs = this.#context.clock.nowMs();
    const noted = problem === null ? null : { code: problem, atMs };
    await this.#write(
      phone,
      (record) =>
        record?.createdMs === createdMs
          ? { ...record, problem: noted, sealed: ended ? null : record.sealed }
          : null,
    );
  }

  /** Commits a record together with its phone, so that none outlives the phone. */
  async #write(
    phone: string,
    next: (record: PushSubscriptionRecord | undefined) => PushSubscriptionRecord | null,
  ): Promise<boolean> {
    const { tables, phoneEvents } = this.#context;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const owner = tables.phones.get(phone);
      const row = this.#table.get(phone);
      const record = next(row?.value);
      if (owner === undefined || owner.value.deadlineMs !== null || record === null) return false;
      const change = row === undefined ? this.#table.add(phone, record) : this.#table.replace(row, record);
      if (!await tables.commit([change], { checks: [tables.phones.unchanged(owner)] })) continue;
      phoneEvents.emit(phone);
      return true;
    }
    return false;
  }
}

function recordKey(phone: string): Deno.KvKey {
  return ["embedded", "push_subscription", phone];
}

function fromText(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(text, { alphabet: "base64url" });
}

/** A checked subscription. */
export interface PushTarget extends BrowserPushKeys {
  readonly endpoint: string;
  /** The host of the endpoint, with its port unless it is 443. */
  readonly host: string;
}

type PushTargetResult =
  | { readonly ok: true; readonly value: PushTarget }
  | { readonly ok: false; readonly reason: "bad_push_subscription" | "push_host_not_allowed" };

/** What a browser sends: the members of `PushSubscription.toJSON()` that count. */
export interface GivenSubscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

const MAX_ENDPOINT_CHARACTERS = 2048;
const POINT_OCTETS = 65;
/** RFC 8291 §3.2. */
const AUTH_OCTETS = 16;
const BAD = { ok: false, reason: "bad_push_subscription" } as const;

/** The URL of an endpoint; `null` unless it is https without a user, and one spelling of its address. */
function endpointUrl(text: string): URL | null {
  if (text.length > MAX_ENDPOINT_CHARACTERS || !/^https:\/\/[\x21-\x7e]+$/.test(text)) return null;
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "" || text.includes("#")) return null;
  return url;
}

/** Whether a message may be sent to the endpoint. */
export function isAllowedEndpoint(endpoint: string, hosts: readonly string[]): boolean {
  const url = endpointUrl(endpoint);
  return url !== null && matchesHost(url.host, hosts);
}

/** @param hosts the patterns of `push.hosts`. */
export async function parsePushTarget(
  { endpoint, keys }: GivenSubscription,
  hosts: readonly string[],
): Promise<PushTargetResult> {
  const url = endpointUrl(endpoint);
  const p256dh = octetsOf(keys.p256dh, POINT_OCTETS);
  const auth = octetsOf(keys.auth, AUTH_OCTETS);
  if (url === null || p256dh === null || auth === null) return BAD;
  if (!matchesHost(url.host, hosts)) return { ok: false, reason: "push_host_not_allowed" };
  if (!await isPushKey(p256dh)) return BAD;
  return { ok: true, value: { endpoint: url.href, host: url.host, p256dh, auth } };
}

/** Base64url, with or without padding, of this length. */
function octetsOf(text: string, octets: number): Uint8Array<ArrayBuffer> | null {
  if (text.length > 2 * octets || !/^[A-Za-z0-9_-]+={0,2}$/.test(text)) return null;
  try {
    const value = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    return value.length === octets ? value : null;
  } catch (_notBase64) {
    return null;
  }
}
