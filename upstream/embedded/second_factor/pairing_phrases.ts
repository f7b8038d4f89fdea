// Pairing phrases: shown on a phone, typed at a login, valid once for ten minutes. Three words and five digits are 40.6
// bits, more than the 40 that a binding code needs for ten minutes. A rate limit bounds guesses.

import { MINUTE_MS } from "../../../platform/durations.ts";
import { type Random, randomDigits, toBase64Url } from "../../../platform/runtime.ts";
import { sourceKey } from "../../../platform/addresses.ts";
import type { TableChange } from "../../../platform/table.ts";
import type { SecondFactorContext } from "./context.ts";
import type { DevicePairings } from "./pairings.ts";
import { createRateLimit, type RateLimit } from "../../../platform/rate_limit.ts";
import { byPhone, CAPS, LIFETIMES, type PairingRecord, type PhoneRecord, UNPAIRED } from "./records.ts";

/** A phrase as the phone shows it. */
interface ShownPhrase {
  readonly text: string;
  readonly deadlineMs: number;
}

/** The result of a typed phrase. */
type TypedPhrase =
  | { ok: true; pairing: PairingRecord }
  | { ok: false; reason: "unknown" }
  | { ok: false; reason: "too_many"; waitMs: number };

const PHRASE_LENGTH = { words: 3, digits: 5 } as const;
const MAX_TYPED_CHARACTERS = 128;
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

const MAX_TOKEN_CHARACTERS = 128;

/** The digest of a valid token; `null` for any other text. */
export function findPhone(context: SecondFactorContext, token: string): string | null {
  if (token.length > MAX_TOKEN_CHARACTERS) return null;
  const phone = phoneOfToken(context, token);
  const record = context.tables.phones.get(phone)?.value;
  const isValid = record !== undefined && (record.deadlineMs ?? Infinity) > context.clock.nowMs();
  return isValid ? phone : null;
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
    const perMinute = (name: string, count: number) =>
      createRateLimit(context, { name, count, windowMs: MINUTE_MS });
    const phrasesPerMinute = context.settings.phrasesPerMinute ?? PHRASES_PER_MINUTE;
    this.#perSource = perMinute("phrase_source", phrasesPerMinute);
    this.#perPhone = perMinute("phrase_phone", phrasesPerMinute);
    this.#wrongPerUser = perMinute("wrong_phrase_user", WRONG_PER_USER);
    this.#wrongOverall = perMinute("wrong_phrase", WRONG_OVERALL);
  }

  /** A new phone with its first phrase; `null` if the source exceeds its limit, or if there are too many phones. */
  async startPhone(source: string): Promise<{ token: string; phrase: ShownPhrase } | null> {
    const { phones } = this.#context.tables;
    if (!await this.#perSource.take(sourceKey(source))) return null;
    if (phones.size >= CAPS.phones || phones.count(UNPAIRED) >= CAPS.unpairedPhones) return null;
    const { token, phone } = createToken(this.#context);
    const { shown, change } = this.#create(phone);
    const record: PhoneRecord = { createdMs: this.#nowMs(), deadlineMs: this.#unpairedDeadlineMs() };
    await this.#context.tables.commit([phones.put(phone, record), change]);
    return { token, phrase: shown };
  }

  /** Replaces the phrase of a known phone; `null` if the phone exceeds its limit. */
  async renew(phone: string): Promise<ShownPhrase | null> {
    const { tables, phoneEvents } = this.#context;
    const read = tables.phones.get(phone);
    if (read === undefined || !await this.#perPhone.take(phone) || this.#pairings.isFull(phone)) {
      return null;
    }
    const { shown, change } = this.#create(phone);
    const removed = tables.phrases.list(byPhone(phone)).map((row) => tables.phrases.remove(row));
    const extended = read.value.deadlineMs === null
      ? []
      : [tables.phones.replace(read, { ...read.value, deadlineMs: this.#unpairedDeadlineMs() })];
    const checks = [tables.phones.unchanged(read)];
    if (!await tables.commit([change, ...removed, ...extended], { checks })) return null;
    phoneEvents.emit(phone);
    return shown;
  }

  /** The phrase that a phone shows now. */
  shown(phone: string): ShownPhrase | null {
    const { tables, vault } = this.#context;
    const record = tables.phrases.list(byPhone(phone)).at(-1)?.value;
    if (record === undefined || record.deadlineMs <= this.#nowMs()) return null;
    const text = vault.open(phraseKey(record.digest), record.sealedText);
    return text && { text: new TextDecoder().decode(text), deadlineMs: record.deadlineMs };
  }

  /** Turns a phrase that was typed at a login into a pairing that waits for the phone's approval. */
  async redeem(typed: string, userName: string): Promise<TypedPhrase> {
    const user = userName.normalize("NFC").toLowerCase();
    const waitMs = Math.max(await this.#wrongPerUser.waitMs(user), await this.#wrongOverall.waitMs(""));
    if (waitMs > 0) return { ok: false, reason: "too_many", waitMs };
    const pairing = await this.#pair(typed, userName);
    if (pairing !== null) return { ok: true, pairing };
    await this.#wrongPerUser.take(user);
    await this.#wrongOverall.take("");
    return { ok: false, reason: "unknown" };
  }

  async #pair(typed: string, userName: string): Promise<PairingRecord | null> {
    const { tables, findUserRecord, phoneEvents } = this.#context;
    const phrase = tables.phrases.get(this.#digestOf(typed));
    if (phrase === undefined || phrase.value.deadlineMs <= this.#nowMs()) return null;
    const { phone } = phrase.value;
    const owner = tables.phones.get(phone);
    if (owner === undefined || this.#pairings.isFull(phone)) return null;
    const user = await findUserRecord(userName);
    const pairing = this.#pairings.draft({ phone, userName, recordId: user.id, enabled: false });
    const changes = [tables.pairings.put(pairing.id, pairing), tables.phrases.remove(phrase)];
    if (!await tables.commit(changes, { checks: [user.check, tables.phones.unchanged(owner)] })) return null;
    phoneEvents.emit(phone);
    for (const notify of this.#context.phoneNews) notify({ kind: "pairing", pairing });
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
      change: tables.phrases.put(digest, { digest, phone, sealedText, deadlineMs }),
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

/** Eight bits a word. */
export const PHRASE_WORDS: readonly string[] = `
  acorn actor adobe album alley amber angle ankle apple apron arena arrow atlas attic autumn bacon
  badge baker bamboo banjo barn basil basket beacon beard berry birch bison blanket bottle boulder
  branch brick bridge broom bucket buffalo button cabin cactus camel camera candle canoe canvas canyon
  carbon carpet carrot castle cedar cello chalk cherry chess chimney circle citrus clay cliff clover
  coast cobalt coconut comet compass copper coral cotton cradle crater crayon cricket crystal cumin
  curtain cushion cypress daisy dancer desert diamond dinner dolphin donkey dragon drum eagle easel
  echo elbow elder ember engine estate fabric falcon farmer feather fennel fern ferry fiddle field
  finch flame flannel flute forest fossil fountain fox galaxy garden garlic garnet gecko ginger
  giraffe glacier globe glove goblet goose granite grape gravel guitar hammer harbor harp hazel hedge
  helmet heron hickory hockey honey horizon hornet iceberg igloo indigo island ivory jacket jasmine
  jelly jewel jigsaw jungle juniper kayak kernel kettle kitten koala ladder lagoon lantern laurel lava
  lemon lentil leopard lilac lizard lobster locket lotus magnet mammoth mango maple marble meadow
  melon meteor mirror mitten monkey mosaic moss muffin mustard napkin nectar needle nickel nutmeg
  oasis ocean olive onion orange orchard otter oyster paddle palm panda papaya paper parrot pebble
  pelican pencil pepper piano pigeon pillow pine planet plaza plum pocket poppy potato prairie puzzle
  quartz quilt rabbit radish raven ribbon river robin rocket saddle saffron salmon sandal sapphire
  sculptor shadow silver spinach spruce squirrel stable sunset tango teapot temple thimble thunder
  tiger timber tomato topaz trumpet tulip turtle umbrella valley
`.trim().split(/\s+/);
