// Pairings of the embedded second-factor service: created by an invitation, or by a phrase typed at a login and
// confirmed on the phone; ended from either side. The token of a phone ends with its last pairing.

import { auditEntry } from "../../../platform/audit.ts";
import { type Random, randomDigits, timeOrderedUuid, toBase64Url } from "../../../platform/runtime.ts";
import type { Mutation } from "../../../platform/store.ts";
import { isUsableFor } from "../../../platform/user_record.ts";
import type { MirroredRow, TableChange } from "../../../platform/table.ts";
import { announceDenial, type SecondFactorContext } from "./context.ts";
import {
  createSealedSeed,
  createSeed,
  currentPasscode,
  type DevicePasscode,
  matchPasscode,
  PASSCODE_PARAMETERS,
  type PasscodeSeed,
} from "./device_passcode.ts";
import type { InvitingPhone, PhoneOrigin, PhoneResult } from "./interfaces.ts";
import {
  byPhone,
  CAPS,
  deniedPairing,
  LIFETIMES,
  pairingAt,
  type PairingRecord,
  type PhoneRecord,
  refusePhone,
  UNPAIRED,
} from "./records.ts";
import { createRateLimit, type RateLimit } from "../../../platform/limit_table.ts";
import type { ApprovalRequests } from "./requests.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import { sourceKey } from "../../../platform/addresses.ts";

/** A new pairing. `phone` is the digest of the phone's token. */
interface NewPairing {
  readonly phone: string;
  readonly userName: string;
  readonly recordId: string;
  readonly enabled: boolean;
  readonly name?: string | null;
  readonly addedBy?: InvitingPhone | undefined;
}

interface PairingDecision {
  readonly approve: boolean;
  readonly name: string | null;
  readonly origin: PhoneOrigin;
}

const ATTEMPTS = 5;
/** A phone needs one. Each further one replaces it, for a browser that lost its data. */
const SEEDS_PER_HOUR = { count: 5, windowMs: 3600_000 } as const;

export class DevicePairings {
  readonly #context: SecondFactorContext;
  readonly #requests: ApprovalRequests;
  readonly #seedLimit: RateLimit;

  constructor(context: SecondFactorContext, requests: ApprovalRequests) {
    this.#context = context;
    this.#requests = requests;
    this.#seedLimit = createRateLimit(context, { name: "passcode_seed", ...SEEDS_PER_HOUR });
  }

  get #table() {
    return this.#context.tables.pairings;
  }

  /** The pairing in its current state. */
  find(id: string): PairingRecord | undefined {
    return this.#read(id)?.value;
  }

  /** The same, with its version. */
  #read(id: string): MirroredRow<PairingRecord> | undefined {
    const row = this.#table.get(id);
    return row && { ...row, value: pairingAt(row.value, this.#context.clock.nowMs()) };
  }

  /** The pairings of a phone that are enabled or wait for its approval, oldest first. */
  ofPhone(phone: string): PairingRecord[] {
    const nowMs = this.#context.clock.nowMs();
    return this.#table.list(byPhone(phone)).map(({ value }) => pairingAt(value, nowMs)).filter(isLive);
  }

  isFull(phone: string): boolean {
    return this.ofPhone(phone).length >= CAPS.pairingsPerPhone;
  }

  /** A new pairing that is not committed. */
  draft({ phone, userName, recordId, enabled, name = null, addedBy }: NewPairing): PairingRecord {
    const { clock, random } = this.#context;
    const nowMs = clock.nowMs();
    const id = timeOrderedUuid(nowMs, random);
    return {
      id,
      userName,
      recordId,
      phone,
      ...(name === null ? {} : { name }),
      ...(addedBy === undefined ? {} : { addedBy }),
      state: enabled ? "enabled" : "asks_approval",
      sealedSeed: enabled ? createSealedSeed(this.#context, id) : null,
      lastStep: -1,
      createdMs: nowMs,
      modifiedMs: nowMs,
    };
  }

  /** Approves or denies a pairing after its phrase was typed at a login. */
  async decide(phone: string, pairingId: string, decision: PairingDecision): Promise<PhoneResult<null>> {
    const { tables, phoneEvents, findUserRecord, clock } = this.#context;
    const { approve, name } = decision;
    const read = this.#read(pairingId);
    if (read === undefined || read.value.phone !== phone) return refusePhone("unknown_request");
    const pairing = read.value;
    if (pairing.state !== "asks_approval") return refusePhone("already_decided");
    const record = await findUserRecord(pairing.userName);
    if (approve && !isUsableFor(pairing.recordId, record)) return refusePhone("account_changed");
    const decided: PairingRecord = {
      ...pairing,
      ...(name === null ? {} : { name }),
      state: approve ? "enabled" : "denied",
      sealedSeed: approve ? createSealedSeed(this.#context, pairing.id) : null,
      modifiedMs: clock.nowMs(),
    };
    const committed = await tables.commit(
      [this.#table.replace(read, decided), ...approve ? this.#keepPhone(phone) : []],
      { checks: approve ? [record.check] : [], also: [auditDecision(decided, decision)] },
    );
    if (!committed) return refusePhone("already_decided");
    phoneEvents.emit(phone);
    announceDenial(this.#context, deniedPairing(decided));
    return { ok: true, value: null };
  }

  passcode(phone: string, pairingId: string): PhoneResult<DevicePasscode> {
    const pairing = this.find(pairingId);
    const passcode = pairing?.phone === phone ? currentPasscode(this.#context, pairing) : null;
    return passcode === null ? refusePhone("unknown_request") : { ok: true, value: passcode };
  }

  /**
   * A new seed for the passcodes that the phone computes itself. It replaces the seed before, so that no seed leaves the server
   * twice.
   */
  async issueSeed(
    phone: string,
    pairingId: string,
    origin: PhoneOrigin,
  ): Promise<PhoneResult<PasscodeSeed>> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const read = this.#read(pairingId);
      if (read?.value.phone !== phone || read.value.state !== "enabled") {
        return refusePhone("unknown_request");
      }
      if (attempt === 0 && !await this.#seedLimit.take(pairingId)) return refusePhone("too_many_tries");
      const { seed, sealed } = createSeed(this.#context, pairingId);
      const seedMs = this.#context.clock.nowMs();
      const change = this.#table.replace(read, { ...read.value, sealedSeed: sealed, seedMs });
      if (await this.#context.tables.commit([change], { also: [auditSeed(read.value, origin)] })) {
        this.#context.phoneEvents.emit(phone);
        return { ok: true, value: { seed, seedMs, ...PASSCODE_PARAMETERS } };
      }
    }
    return refusePhone("already_decided");
  }

  /** Uses the passcode that the phone shows; `false` for a wrong or used one. */
  async usePasscode(pairingId: string, code: string): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const read = this.#read(pairingId);
      const step = read === undefined ? null : matchPasscode(this.#context, read.value, code);
      if (read === undefined || step === null) return false;
      const used = this.#table.replace(read, { ...read.value, lastStep: step });
      if (await this.#context.tables.commit([used])) return true;
    }
    return false;
  }

  /** Ends a pairing, its pending requests, and with the last pairing the phone's token. Returns the ended pairing. */
  async end(pairingId: string): Promise<PairingRecord | null> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const pairing = this.find(pairingId);
      if (pairing === undefined || !isLive(pairing)) return null;
      if (await this.#endOnce(pairing)) return pairing;
    }
    throw new Error("Cannot end a pairing: it changed repeatedly");
  }

  async #endOnce(pairing: PairingRecord): Promise<boolean> {
    const { changes, also, announce } = this.endingChanges([pairing.id]);
    if (!await this.#context.tables.commit(changes, { also })) return false;
    announce();
    return true;
  }

  /** Changes that end pairings as {@link end} does. Call `announce` after their commit. */
  endingChanges(ids: readonly string[]): {
    readonly changes: readonly TableChange[];
    readonly also: readonly Mutation[];
    readonly announce: () => void;
  } {
    const { phoneEvents, clock, tables: { subscriptions } } = this.#context;
    const modifiedMs = clock.nowMs();
    const rows = ids.flatMap((id) => this.#read(id) ?? []).filter(({ value }) => isLive(value));
    const live = rows.map(({ value }) => value);
    const ended = rows.map((row) =>
      this.#table.replace(row, { ...row.value, state: "ended", sealedSeed: null, modifiedMs })
    );
    // Read before the commit: the subscription of a phone can end in it, and its last message follows.
    const pending = live.map(({ id, phone }) => ({
      ...this.#requests.endingChanges(id),
      subscription: subscriptions.get(phone)?.value,
    }));
    const lastOf = [...new Set(live.map(({ phone }) => phone))].filter((phone) =>
      this.ofPhone(phone).every((one) => live.some(({ id }) => id === one.id))
    );
    return {
      changes: [
        ...ended,
        ...pending.flatMap(({ changes }) => changes),
        ...lastOf.flatMap((phone) => this.#phoneRemoval(phone)),
      ],
      also: pending.flatMap(({ also }) => also),
      announce: () => {
        pending.forEach(({ announce, subscription }) => announce({ subscription }));
        for (const { phone } of live) phoneEvents.emit(phone);
      },
    };
  }

  /** The token, the last use and the push subscription of a phone end together. Only the token is checked: the others are not written without it. */
  #phoneRemoval(phone: string): TableChange[] {
    const { phones, devices, subscriptions } = this.#context.tables;
    const row = phones.get(phone);
    const token = row === undefined ? [] : [phones.remove(row)];
    return [...token, devices.erase(phone), subscriptions.erase(phone)];
  }

  /** With an enabled pairing, the phone's token no longer has a deadline. */
  #keepPhone(phone: string): TableChange[] {
    const { phones } = this.#context.tables;
    const row = phones.get(phone);
    return row === undefined || row.value.deadlineMs === null
      ? []
      : [phones.replace(row, { ...row.value, deadlineMs: null })];
  }
}

function auditDecision({ id, userName, name }: PairingRecord, { approve, origin }: PairingDecision) {
  return auditEntry({
    action: approve ? "pairing.approve" : "pairing.deny",
    actor: `user:${userName}`,
    source: origin.source,
    browser: origin.browser,
    object: `user:${userName}`,
    factor: "device",
    pairing: id,
    phone: name,
    how: "phrase",
  });
}

function auditSeed({ id, userName }: PairingRecord, origin: PhoneOrigin) {
  return auditEntry({
    action: "pairing.passcode_seed",
    actor: `user:${userName}`,
    source: origin.source,
    browser: origin.browser,
    object: `user:${userName}`,
    factor: "device",
    pairing: id,
  });
}

function isLive({ state }: PairingRecord): boolean {
  return state === "enabled" || state === "asks_approval";
}

// Pairing phrases: shown on a phone, typed at a login, valid once for ten minutes. Three words and five digits are 40.6
// bits, more than the 40 that a binding code needs for ten minutes. A rate limit bounds guesses.

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
