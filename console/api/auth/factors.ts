// Second factors of administrators: an authenticator app (RFC 6238), recovery codes, and stored passkeys. Each code is valid once. Wrong codes of
// the app lock its codes, for longer each time, and at last until another owner or a command unlocks them. Recovery codes are counted apart.

import { plainTyped } from "../../../platform/typed_text.ts";
import { readCode } from "../../../radius/protocol/login_input.ts";
import { acceptAppCode, type AppUse, type StoredApp, usedApp } from "../../../radius/tokens/token_codes.ts";
import { encodeBase32 } from "../../../radius/factors/totp.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import { LimitTable, readTime } from "../../../platform/limit_table.ts";
import { Refusal } from "../errors.ts";
import type { SignInRateLimit } from "./sign_in_rate_limit.ts";

/** The public half of a passkey, with its label. */
export interface PasskeyRecord {
  /** The credential's id, base64url. */
  readonly id: string;
  readonly publicKey: Uint8Array<ArrayBuffer>;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly label: string;
  readonly createdMs: number;
  readonly usedMs: number | null;
}

/** The factors of one account as they are stored, under the account's id. */
export interface FactorRecord {
  readonly totp?: { readonly seed: Uint8Array<ArrayBuffer>; readonly sinceMs: number };
  /** Has no effect until the administrator enters one of its codes. */
  readonly pendingTotp?: { readonly seed: Uint8Array<ArrayBuffer>; readonly deadlineMs: number };
  /** The time step of the last valid code. */
  readonly lastStep: number;
  /** That of the app's clock, in time steps. Absent before the first code. */
  readonly drift?: number;
  /** Digests of the unused recovery codes. */
  readonly recovery: readonly string[];
  readonly passkeys: readonly PasskeyRecord[];
  /** Wrong codes of the app since the last right one that found no lock. From {@link HARD_WRONG_CODES} on, only an unlock helps. */
  readonly wrongCodes: number;
  readonly lockedUntilMs: number;
}

interface CodeSender {
  readonly source: string;
  /** Identifies a source from which the account signed in before, or a live session. It has one try that a lock does not refuse. `null`: none. */
  readonly known: string | null;
}

/** A record, with the check that it is unchanged. */
export interface FactorEntry {
  readonly record: FactorRecord;
  readonly check: Check;
}

type CodeKind = "totp" | "recovery";

interface AdminFactorsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  /** Wrong recovery codes, by source and account. */
  readonly recoveryAttempts: SignInRateLimit;
}

const EMPTY: FactorRecord = { lastStep: 0, recovery: [], passkeys: [], wrongCodes: 0, lockedUntilMs: 0 };
const UNLOCKED = { wrongCodes: 0, lockedUntilMs: 0 };
const SEED_OCTETS = 20;
const PENDING_MS = 15 * 60 * 1000;
const RECOVERY_CODES = 10;
/** 50 bits, written as two groups of five. */
const RECOVERY_CHARACTERS = 10;
const RECOVERY_OCTETS = 7;
export const MAX_WRONG_CODES = 5;
/** Each lock is twice as long as the one before, up to {@link MAX_CODE_LOCK_MS}. */
export const CODE_LOCK_MS = 15 * 60 * 1000;
const MAX_CODE_LOCK_MS = 24 * 3600 * 1000;
/** An attacker who knows the password has so many guesses, whatever the time. */
export const HARD_WRONG_CODES = 50;
/** A known source has one try in this time while codes are locked. A right code is no try. */
const KNOWN_TRY_MS = 3600 * 1000;
const MAX_KNOWN_TRIES = 10_000;
/** Lost races of one code. */
const MAX_TRIES = 10;
const MAX_CODE_CHARACTERS = 32;

export function factorsKey(accountId: string): Deno.KvKey {
  return ["console_factors", accountId];
}

export class AdminFactors {
  readonly #deps: AdminFactorsDeps;
  /** Wrong tries of known sources while codes were locked. */
  readonly #knownTries: LimitTable<number>;

  constructor(deps: AdminFactorsDeps) {
    this.#deps = deps;
    this.#knownTries = new LimitTable<number>(deps, {
      name: "known_code",
      maxRows: MAX_KNOWN_TRIES,
      expiresMs: (atMs) => atMs + KNOWN_TRY_MS,
      read: readTime,
    });
  }

  async read(accountId: string): Promise<FactorEntry> {
    const { key, value, versionstamp } = await this.#deps.store.get<FactorRecord>(factorsKey(accountId));
    return { record: value ?? EMPTY, check: { key, versionstamp } };
  }

  /** The record of a new account with one passkey. */
  first(passkey: PasskeyRecord): FactorRecord {
    return { ...EMPTY, passkeys: [passkey] };
  }

  /** The mutation that writes a record. */
  write(accountId: string, record: FactorRecord): Mutation {
    return { type: "set", key: factorsKey(accountId), value: record };
  }

  /** The record after an unlock. */
  unlocked(record: FactorRecord): FactorRecord {
    return { ...record, ...UNLOCKED };
  }

  /** Uses a code. @throws Refusal `wrong_code`, `too_many_attempts`, `codes_locked`, or `locked_out` with Retry-After. */
  async useCode(accountId: string, code: string, sender: CodeSender): Promise<CodeKind> {
    if (code.length > MAX_CODE_CHARACTERS) throw new Refusal("wrong_code");
    const isRecovery = isRecoveryCode(code);
    if (isRecovery) await this.#useRecoveryCode(accountId, code, sender);
    else await this.#useAppCode(accountId, code, sender);
    return isRecovery ? "recovery" : "totp";
  }

  /** Wrong recovery codes have 50 bits and a limit of their own, so that the right one also passes while codes of the app are locked. */
  async #useRecoveryCode(accountId: string, code: string, { source }: CodeSender): Promise<void> {
    const { store, recoveryAttempts } = this.#deps;
    const attempt = await recoveryAttempts.take({ source, name: accountId });
    const digest = this.#codeDigest(accountId, code);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { record, check } = await this.read(accountId);
      const recovery = record.recovery.filter((one) => !equalDigests(one, digest));
      if (recovery.length === record.recovery.length) throw new Refusal("wrong_code");
      const mutations = [this.write(accountId, { ...record, recovery })];
      if ((await store.commit({ checks: [check], mutations })).ok) return await attempt.forgive();
    }
    throw new Refusal("changed_meanwhile");
  }

  async #useAppCode(accountId: string, code: string, { known }: CodeSender): Promise<void> {
    const { store, clock } = this.#deps;
    const knownKey = known === null ? null : `${accountId}\n${known}`;
    let hasKnownTry = false;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { record, check } = await this.read(accountId);
      const isLocked = isCodeLocked(record, clock.nowMs());
      if (isLocked) {
        hasKnownTry ||= knownKey !== null && await this.#knownTries.change([knownKey], takeKnownTry(clock));
        if (!hasKnownTry) refuseLocked(record, clock.nowMs());
      }
      const use = record.totp === undefined
        ? null
        : this.#useOf(record.totp.seed, { accountId, code, app: record });
      // A right code at a lock ends no lock of others: a stranger would begin again each time the owner signs in.
      const next = use === null
        ? afterWrongCode(record, clock.nowMs())
        : usedApp({ ...record, ...(isLocked ? {} : UNLOCKED) }, use);
      const done = await store.commit({ checks: [check], mutations: [this.write(accountId, next)] });
      if (!done.ok) continue;
      if (use !== null) {
        if (hasKnownTry && knownKey !== null) await this.#knownTries.change([knownKey], () => [null]);
        return;
      }
      refuseLocked(next, clock.nowMs());
      throw new Refusal("wrong_code");
    }
    throw new Refusal("changed_meanwhile");
  }

  /** Stores a new seed until its first code. Returns it in base32, to be shown once. */
  async beginTotp(accountId: string): Promise<string> {
    const { store, vault, clock, random } = this.#deps;
    const { record, check } = await this.read(accountId);
    const seed = random.bytes(SEED_OCTETS);
    const pendingTotp = {
      seed: vault.seal(factorsKey(accountId), seed),
      deadlineMs: clock.nowMs() + PENDING_MS,
    };
    const mutations = [this.write(accountId, { ...record, pendingTotp })];
    const done = await store.commit({ checks: [check], mutations });
    if (!done.ok) throw new Refusal("changed_meanwhile");
    return encodeBase32(seed);
  }

  /** The record with the pending seed in effect. @throws Refusal `no_totp`, `wrong_code`. */
  async confirmedTotp(accountId: string, code: string): Promise<FactorEntry> {
    const nowMs = this.#deps.clock.nowMs();
    const { record, check } = await this.read(accountId);
    const { pendingTotp, ...rest } = record;
    if (pendingTotp === undefined || pendingTotp.deadlineMs <= nowMs) throw new Refusal("no_totp");
    const use = this.#useOf(pendingTotp.seed, { accountId, code, app: { lastStep: 0 } });
    if (use === null) throw new Refusal("wrong_code");
    const totp = { seed: pendingTotp.seed, sinceMs: nowMs };
    return { record: usedApp({ ...rest, totp, ...UNLOCKED }, use), check };
  }

  /** Ten codes, and their digests for the record. */
  makeRecoveryCodes(accountId: string): { codes: string[]; digests: string[] } {
    const codes = Array.from({ length: RECOVERY_CODES }, () => {
      const octets = this.#deps.random.bytes(RECOVERY_OCTETS);
      const text = encodeBase32(octets).toLowerCase().slice(0, RECOVERY_CHARACTERS);
      return `${text.slice(0, 5)}-${text.slice(5)}`;
    });
    return { codes, digests: codes.map((code) => this.#codeDigest(accountId, code)) };
  }

  #codeDigest(accountId: string, code: string): string {
    return this.#deps.vault.digest("console recovery code", `${accountId}\0${plainRecoveryCode(code)}`);
  }

  /** The use of a code, with the drift that it shows; `null` for a wrong one. */
  #useOf(
    seed: Uint8Array<ArrayBuffer>,
    { accountId, code, app }: { accountId: string; code: string; app: StoredApp },
  ): AppUse | null {
    const { vault, clock } = this.#deps;
    const plain = vault.open(factorsKey(accountId), seed);
    if (plain === null) return null;
    return acceptAppCode(app, { seed: plain, code: readCode(code), nowMs: clock.nowMs() });
  }
}

/** The characters of a recovery code, whatever its spelling. A code of an app has no ten of them. */
function plainRecoveryCode(code: string): string {
  return plainTyped(code).toLowerCase().replace(/[^a-z2-7]/g, "");
}

function takeKnownTry(clock: Pick<Clock, "nowMs">) {
  return ([last]: readonly (number | undefined)[]) => last === undefined ? [clock.nowMs()] : null;
}

function afterWrongCode(record: FactorRecord, nowMs: number): FactorRecord {
  const wrongCodes = record.wrongCodes + 1;
  if (wrongCodes % MAX_WRONG_CODES !== 0) return { ...record, wrongCodes };
  const lockMs = Math.min(CODE_LOCK_MS * 2 ** (wrongCodes / MAX_WRONG_CODES - 1), MAX_CODE_LOCK_MS);
  return { ...record, wrongCodes, lockedUntilMs: Math.max(record.lockedUntilMs, nowMs + lockMs) };
}

/** Whether codes of the app are refused now. */
export function isCodeLocked({ wrongCodes, lockedUntilMs }: FactorRecord, nowMs: number): boolean {
  return wrongCodes >= HARD_WRONG_CODES || lockedUntilMs > nowMs;
}

/** Whether the account has a factor besides its password. Recovery codes replace one; they are none. */
export function hasSecondFactor({ totp, passkeys }: Pick<FactorRecord, "totp" | "passkeys">): boolean {
  return totp !== undefined || passkeys.length > 0;
}

/** Whether the text has the form of a recovery code. */
export function isRecoveryCode(code: string): boolean {
  return plainRecoveryCode(code).length === RECOVERY_CHARACTERS;
}

function refuseLocked({ wrongCodes, lockedUntilMs }: FactorRecord, nowMs: number): void {
  if (wrongCodes >= HARD_WRONG_CODES) throw new Refusal("codes_locked");
  if (lockedUntilMs <= nowMs) return;
  throw new Refusal("locked_out", { "retry-after": String(Math.ceil((lockedUntilMs - nowMs) / 1000)) });
}

/** A new account id, so that factors of another account never apply. */
export function newAccountId(random: Random): string {
  return toBase64Url(random.bytes(12));
}
