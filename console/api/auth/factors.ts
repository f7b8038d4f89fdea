// Second factors of administrators: an authenticator app (RFC 6238), recovery codes, and stored passkeys. Each code is valid once.
// Five wrong codes lock codes for 15 minutes.

import { encodeBase32, matchTotp } from "../../../radius/factors/totp.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import { Refusal } from "../errors.ts";

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
  /** Digests of the unused recovery codes. */
  readonly recovery: readonly string[];
  readonly passkeys: readonly PasskeyRecord[];
  readonly wrongCodes: number;
  readonly lockedUntilMs: number;
}

/** A record, with the check that it is unchanged. */
export interface FactorEntry {
  readonly record: FactorRecord;
  readonly check: Check;
}

export type CodeKind = "totp" | "recovery";

export interface AdminFactorsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
}

const EMPTY: FactorRecord = { lastStep: 0, recovery: [], passkeys: [], wrongCodes: 0, lockedUntilMs: 0 };
const UNLOCKED = { wrongCodes: 0, lockedUntilMs: 0 };
const SEED_OCTETS = 20;
const DIGITS = 6;
/** RFC 6238 §5.2: one step of clock difference each way. */
const TOLERANCE_STEPS = 1;
const PENDING_MS = 15 * 60 * 1000;
const RECOVERY_CODES = 10;
/** 50 bits, written as two groups of five. */
const RECOVERY_CHARACTERS = 10;
const RECOVERY_OCTETS = 7;
export const MAX_WRONG_CODES = 5;
export const CODE_LOCK_MS = 15 * 60 * 1000;
const MAX_CODE_CHARACTERS = 32;

export function factorsKey(accountId: string): Deno.KvKey {
  return ["console_factors", accountId];
}

export class AdminFactors {
  readonly #deps: AdminFactorsDeps;

  constructor(deps: AdminFactorsDeps) {
    this.#deps = deps;
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

  /** Uses a code. @throws Refusal `wrong_code`, or `locked_out` with Retry-After. */
  async useCode(accountId: string, code: string): Promise<CodeKind> {
    const { store, clock } = this.#deps;
    if (code.length > MAX_CODE_CHARACTERS) throw new Refusal("wrong_code");
    const { record, check } = await this.read(accountId);
    refuseLocked(record, clock.nowMs());
    const { kind, next } = this.#tryCode(accountId, { record, code });
    const done = await store.commit({ checks: [check], mutations: [this.write(accountId, next)] });
    // A concurrent request used the same code first.
    if (!done.ok) throw new Refusal("wrong_code");
    if (kind !== null) return kind;
    refuseLocked(next, clock.nowMs());
    throw new Refusal("wrong_code");
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
    const step = this.#stepOf(pendingTotp.seed, { accountId, code, lastStep: 0 });
    if (step === null) throw new Refusal("wrong_code");
    const totp = { seed: pendingTotp.seed, sinceMs: nowMs };
    return { record: { ...rest, totp, lastStep: step, ...UNLOCKED }, check };
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
    const plain = code.toLowerCase().replace(/[^a-z2-7]/g, "");
    return this.#deps.vault.digest("console recovery code", `${accountId}\0${plain}`);
  }

  /** The time step of a code, or `null` for a wrong one. */
  #stepOf(
    seed: Uint8Array<ArrayBuffer>,
    { accountId, code, lastStep }: { accountId: string; code: string; lastStep: number },
  ): number | null {
    const { vault, clock } = this.#deps;
    const plain = vault.open(factorsKey(accountId), seed);
    if (plain === null) return null;
    const tolerance = { digits: DIGITS, toleranceSteps: TOLERANCE_STEPS };
    return matchTotp({
      seed: plain,
      code: code.replace(/\s/g, ""),
      nowMs: clock.nowMs(),
      lastStep,
      ...tolerance,
    });
  }

  /** The record after the code, and the kind of the code; `null` for a wrong one. */
  #tryCode(
    accountId: string,
    { record, code }: { record: FactorRecord; code: string },
  ): { kind: CodeKind | null; next: FactorRecord } {
    const step = record.totp === undefined
      ? null
      : this.#stepOf(record.totp.seed, { accountId, code, lastStep: record.lastStep });
    if (step !== null) return { kind: "totp", next: { ...record, ...UNLOCKED, lastStep: step } };
    const digest = this.#codeDigest(accountId, code);
    const recovery = record.recovery.filter((one) => !equalDigests(one, digest));
    if (recovery.length < record.recovery.length) {
      return { kind: "recovery", next: { ...record, ...UNLOCKED, recovery } };
    }
    const wrongCodes = record.wrongCodes + 1;
    if (wrongCodes < MAX_WRONG_CODES) {
      return { kind: null, next: { ...record, wrongCodes, lockedUntilMs: 0 } };
    }
    const lockedUntilMs = this.#deps.clock.nowMs() + CODE_LOCK_MS;
    return { kind: null, next: { ...record, wrongCodes: 0, lockedUntilMs } };
  }
}

function refuseLocked({ lockedUntilMs }: FactorRecord, nowMs: number): void {
  if (lockedUntilMs <= nowMs) return;
  throw new Refusal("locked_out", { "retry-after": String(Math.ceil((lockedUntilMs - nowMs) / 1000)) });
}

/** A new account id, so that factors of another account never apply. */
export function newAccountId(random: Random): string {
  return toBase64Url(random.bytes(12));
}
