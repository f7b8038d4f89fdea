// Pairing phrases: shown on a phone, typed at a login, valid once for ten minutes. Three words and five digits are 40.6
// bits, more than the 40 that a binding code needs for ten minutes.

import { type Random, randomDigits, toBase64Url } from "../../../platform/runtime.ts";
import { sourceKey } from "../../../platform/source_key.ts";
import type { TableChange } from "../table.ts";
import type { SecondFactorContext } from "./context.ts";
import type { DevicePairings } from "./pairings.ts";
import { PHRASE_WORDS } from "./phrase_words.ts";
import { createRateLimit, type RateLimit } from "./rate_limit.ts";
import { CAPS, LIFETIMES, type PairingRecord, type PhoneRecord } from "./records.ts";
import { byPhone, UNPAIRED } from "./tables.ts";

/** A phrase as the phone shows it. */
export interface ShownPhrase {
  readonly text: string;
  readonly deadlineMs: number;
}

/** The result of a typed phrase. */
export type TypedPhrase =
  | { ok: true; pairing: PairingRecord }
  | { ok: false; reason: "unknown" }
  | { ok: false; reason: "too_many"; waitMs: number };

const PHRASE_LENGTH = { words: 3, digits: 5 } as const;
const MAX_TYPED_CHARACTERS = 128;
const MINUTE_MS = 60_000;
const PHRASES_PER_MINUTE = 5;
const WRONG_PER_USER = 20;
/** For all user names together, so that trying many names does not avoid the limit per name. */
const WRONG_OVERALL = 200;
const TOKEN_OCTETS = 32;

/** A new phrase, e.g. `maple river stone 40718`. */
export function createPhrase(random: Random): string {
  const words = Array.from(random.bytes(PHRASE_LENGTH.words), (octet) => PHRASE_WORDS[octet] ?? "");
  return [...words, randomDigits(random, PHRASE_LENGTH.digits)].join(" ");
}

/** A phrase for comparison: letter case and separators do not count. */
export function normalizePhrase(typed: string): string {
  const parts = typed.slice(0, MAX_TYPED_CHARACTERS).toLowerCase().match(/[a-z]+|[0-9]+/g);
  return (parts ?? []).join(" ");
}

/** The digest of a token, which is the key of the phone. */
export function phoneOfToken({ vault }: SecondFactorContext, token: string): string {
  return vault.digest("embedded phone token", token);
}

/** A new token (256 bits, base64url) and its digest. */
export function createToken(context: SecondFactorContext): { token: string; phone: string } {
  const token = toBase64Url(context.random.bytes(TOKEN_OCTETS));
  return { token, phone: phoneOfToken(context, token) };
}

export class PairingPhrases {
  readonly #context: SecondFactorContext;
  readonly #pairings: DevicePairings;
  readonly #perSource: RateLimit;
  /** A known phone has its own limit, so that other clients behind its address cannot block it. */
  readonly #perPhone: RateLimit;
  readonly #wrongPerUser: RateLimit;
  readonly #wrongOverall: RateLimit;

  constructor(context: SecondFactorContext, pairings: DevicePairings) {
    this.#context = context;
    this.#pairings = pairings;
    const perMinute = (count: number) =>
      createRateLimit(() => context.clock.nowMs(), { count, windowMs: MINUTE_MS });
    const phrasesPerMinute = context.settings.phrasesPerMinute ?? PHRASES_PER_MINUTE;
    this.#perSource = perMinute(phrasesPerMinute);
    this.#perPhone = perMinute(phrasesPerMinute);
    this.#wrongPerUser = perMinute(WRONG_PER_USER);
    this.#wrongOverall = perMinute(WRONG_OVERALL);
  }

  /** A new phone with its first phrase; `null` if the source exceeds its limit, or if there are too many phones. */
  async startPhone(source: string): Promise<{ token: string; phrase: ShownPhrase } | null> {
    const { phones } = this.#context.tables;
    if (!this.#perSource.take(sourceKey(source))) return null;
    if (phones.size() >= CAPS.phones || phones.count(UNPAIRED) >= CAPS.unpairedPhones) return null;
    const { token, phone } = createToken(this.#context);
    const { shown, change } = this.#create(phone);
    const record: PhoneRecord = { createdMs: this.#nowMs(), deadlineMs: this.#unpairedDeadlineMs() };
    await this.#context.tables.commit([phones.add(phone, record), change]);
    return { token, phrase: shown };
  }

  /** Replaces the phrase of a known phone; `null` if the phone exceeds its limit. */
  async renew(phone: string): Promise<ShownPhrase | null> {
    const { tables, phoneEvents } = this.#context;
    const record = tables.phones.get(phone);
    if (record === undefined || !this.#perPhone.take(phone) || this.#pairings.isFull(phone)) return null;
    const { shown, change } = this.#create(phone);
    const removed = tables.phrases.list(byPhone(phone)).map(({ digest }) =>
      tables.phrases.change(digest, null)
    );
    const extended = record.deadlineMs === null
      ? []
      : [tables.phones.change(phone, { ...record, deadlineMs: this.#unpairedDeadlineMs() })];
    if (!await tables.commit([change, ...removed, ...extended])) return null;
    phoneEvents.emit(phone);
    return shown;
  }

  /** The phrase that a phone shows now. */
  shown(phone: string): ShownPhrase | null {
    const { tables, vault } = this.#context;
    const record = tables.phrases.list(byPhone(phone)).at(-1);
    if (record === undefined || record.deadlineMs <= this.#nowMs()) return null;
    const text = vault.open(phraseKey(record.digest), record.sealedText);
    return text && { text: new TextDecoder().decode(text), deadlineMs: record.deadlineMs };
  }

  /** Turns a phrase that was typed at a login into a pairing that waits for the phone's approval. */
  async redeem(typed: string, userName: string): Promise<TypedPhrase> {
    const user = userName.normalize("NFC").toLowerCase();
    const waitMs = Math.max(waitOf(this.#wrongPerUser, user), waitOf(this.#wrongOverall, ""));
    if (waitMs > 0) return { ok: false, reason: "too_many", waitMs };
    const pairing = await this.#pair(typed, userName);
    if (pairing !== null) return { ok: true, pairing };
    this.#wrongPerUser.take(user);
    this.#wrongOverall.take("");
    return { ok: false, reason: "unknown" };
  }

  async #pair(typed: string, userName: string): Promise<PairingRecord | null> {
    const { tables, findUserRecord, phoneEvents } = this.#context;
    const phrase = tables.phrases.get(this.#digestOf(typed));
    if (phrase === undefined || phrase.deadlineMs <= this.#nowMs()) return null;
    const { digest, phone } = phrase;
    if (tables.phones.get(phone) === undefined || this.#pairings.isFull(phone)) return null;
    const user = await findUserRecord(userName);
    const pairing = this.#pairings.draft({ phone, userName, recordId: user.id, enabled: false });
    const changes = [tables.pairings.add(pairing.id, pairing), tables.phrases.change(digest, null)];
    if (!await tables.commit(changes, { checks: [user.check] })) return null;
    phoneEvents.emit(phone);
    return pairing;
  }

  #create(phone: string): { shown: ShownPhrase; change: TableChange } {
    const { random, vault, tables } = this.#context;
    const text = createPhrase(random);
    const digest = this.#digestOf(text);
    const deadlineMs = this.#nowMs() + LIFETIMES.phraseMs;
    const sealedText = vault.seal(phraseKey(digest), new TextEncoder().encode(text));
    return {
      shown: { text, deadlineMs },
      change: tables.phrases.add(digest, { digest, phone, sealedText, deadlineMs }),
    };
  }

  #digestOf(text: string): string {
    return this.#context.vault.digest("embedded phrase", normalizePhrase(text));
  }

  #nowMs(): number {
    return this.#context.clock.nowMs();
  }

  #unpairedDeadlineMs(): number {
    return this.#nowMs() + LIFETIMES.phraseMs + LIFETIMES.unpairedPhoneMs;
  }
}

function phraseKey(digest: string): Deno.KvKey {
  return ["embedded", "phrase", digest];
}

/** How long a key that has used its window must wait; 0 if it need not wait. */
function waitOf(limit: RateLimit, key: string): number {
  return limit.isUsedUp(key) ? limit.waitMs(key) : 0;
}
