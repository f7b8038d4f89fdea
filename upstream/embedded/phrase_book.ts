// Pairing phrases of the embedded second-factor service: shown on a phone, typed at a login, good once for ten minutes.

import { toBase64Url } from "../../runtime.ts";
import { sourceKey } from "../../source_key.ts";
import type { House } from "./house.ts";
import type { Pairings } from "./pairings.ts";
import { createPhrase, normalizePhrase } from "./phrases.ts";
import { createRateLimit, type RateLimit } from "./rate_limit.ts";
import { CAPS, LIFETIMES, type PairingRow, type PhoneRow } from "./rows.ts";
import { byPhone, UNPAIRED } from "./shelves.ts";

/** A phrase as the phone shows it. */
export interface ShownPhrase {
  readonly text: string;
  readonly deadlineMs: number;
}

/** What a typed phrase led to. */
export type TypedPhrase =
  | { ok: true; pairing: PairingRow }
  | { ok: false; reason: "unknown" }
  | { ok: false; reason: "too_many"; waitMs: number };

export interface PhraseBook {
  /** A new phone with its first phrase; `null` when the source asked too often or there are too many phones. */
  startPhone(source: string): Promise<{ token: string; phrase: ShownPhrase } | null>;
  /** A further phrase for a known phone; the one before is void. `null` when the phone asked too often. */
  renew(phone: string): Promise<ShownPhrase | null>;
  /** The phrase that a phone shows now. */
  shown(phone: string): ShownPhrase | null;
  /** A phrase typed at a login: becomes a pairing that waits for the phone's approval. */
  redeem(typed: string, userName: string): Promise<TypedPhrase>;
}

const MINUTE_MS = 60_000;
const PHRASES_PER_MINUTE = 5;
const WRONG_PER_USER = 20;
/** Over all user names, so that trying many names is no way around the limit for each. */
const WRONG_OVERALL = 200;
const TOKEN_OCTETS = 32;

/** How long a key that has used up its window must wait; 0 when it need not. */
function waitOf(limit: RateLimit, key: string): number {
  return limit.isUsedUp(key) ? limit.waitMs(key) : 0;
}

/** The digest under which a phone is kept. */
export function phoneOfToken({ vault }: House, token: string): string {
  return vault.digest("embedded phone token", token);
}

/** A new token (256 bits, base64url) and its digest. */
export function createToken(house: House): { token: string; phone: string } {
  const token = toBase64Url(house.random.bytes(TOKEN_OCTETS));
  return { token, phone: phoneOfToken(house, token) };
}

export function createPhraseBook(house: House, pairings: Pairings): PhraseBook {
  const { shelves, clock, vault, settings } = house;
  const { phones, phrases } = shelves;
  const nowMs = () => clock.nowMs();
  const perSource = createRateLimit(nowMs, {
    count: settings.phrasesPerMinute ?? PHRASES_PER_MINUTE,
    windowMs: MINUTE_MS,
  });
  // A phone that is already known has a limit of its own, so that others behind its address cannot block it.
  const perPhone = createRateLimit(nowMs, {
    count: settings.phrasesPerMinute ?? PHRASES_PER_MINUTE,
    windowMs: MINUTE_MS,
  });
  const wrongPerUser = createRateLimit(nowMs, { count: WRONG_PER_USER, windowMs: MINUTE_MS });
  const wrongOverall = createRateLimit(nowMs, { count: WRONG_OVERALL, windowMs: MINUTE_MS });
  const digestOf = (text: string): string => vault.digest("embedded phrase", normalizePhrase(text));
  const recordKey = (digest: string): Deno.KvKey => ["embedded", "phrase", digest];

  const write = (phone: string) => {
    const text = createPhrase(house.random);
    const digest = digestOf(text);
    const deadlineMs = nowMs() + LIFETIMES.phraseMs;
    const sealedText = vault.seal(recordKey(digest), new TextEncoder().encode(text));
    return {
      shown: { text, deadlineMs },
      change: phrases.add(digest, { digest, phone, sealedText, deadlineMs }),
    };
  };

  const unpairedDeadlineMs = () => nowMs() + LIFETIMES.phraseMs + LIFETIMES.unpairedPhoneMs;

  return {
    async startPhone(source) {
      if (!perSource.take(sourceKey(source))) return null;
      if (phones.size() >= CAPS.phones || phones.count(UNPAIRED) >= CAPS.unpairedPhones) return null;
      const { token, phone } = createToken(house);
      const { shown, change } = write(phone);
      const row: PhoneRow = { createdMs: nowMs(), deadlineMs: unpairedDeadlineMs() };
      await shelves.commit([phones.add(phone, row), change]);
      return { token, phrase: shown };
    },
    async renew(phone) {
      const row = phones.get(phone);
      if (row === undefined || !perPhone.take(phone) || pairings.isFull(phone)) return null;
      const { shown, change } = write(phone);
      const old = phrases.under(byPhone(phone)).map(({ digest }) => phrases.change(digest, null));
      const later = row.deadlineMs === null
        ? []
        : [phones.change(phone, { ...row, deadlineMs: unpairedDeadlineMs() })];
      if (!await shelves.commit([change, ...old, ...later])) return null;
      house.phoneListeners.notify(phone);
      return shown;
    },
    shown(phone) {
      const row = phrases.under(byPhone(phone)).at(-1);
      if (row === undefined || row.deadlineMs <= nowMs()) return null;
      const text = vault.open(recordKey(row.digest), row.sealedText);
      return text && { text: new TextDecoder().decode(text), deadlineMs: row.deadlineMs };
    },
    async redeem(typed, userName) {
      const user = userName.normalize("NFC").toLowerCase();
      const waitMs = Math.max(waitOf(wrongPerUser, user), waitOf(wrongOverall, ""));
      if (waitMs > 0) return { ok: false, reason: "too_many", waitMs };
      const row = phrases.get(digestOf(typed));
      const isGood = row !== undefined && row.deadlineMs > nowMs() && phones.get(row.phone) !== undefined &&
        !pairings.isFull(row.phone);
      if (isGood) {
        const record = await house.findUserRecord(userName);
        const pairing = pairings.draft({
          phone: row.phone,
          userName,
          recordId: record.id,
          enabled: false,
        });
        const changes = [shelves.pairings.add(pairing.id, pairing), phrases.change(row.digest, null)];
        if (await shelves.commit(changes, { checks: [record.check] })) {
          house.phoneListeners.notify(row.phone);
          return { ok: true, pairing };
        }
      }
      wrongPerUser.take(user);
      wrongOverall.take("");
      return { ok: false, reason: "unknown" };
    },
  };
}
