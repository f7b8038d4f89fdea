// Second factors of administrators: an authenticator app (RFC 6238), recovery codes, and passkeys as they are kept. A code
// counts once; five wrong ones lock codes for a quarter of an hour.

import { encodeBase32 } from "../../../platform/base32.ts";
import { matchTotp } from "../../../radius/factors/totp.ts";
import { type Clock, type Random, toBase64Url } from "../../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../../platform/store.ts";
import { equalDigests, type Vault } from "../../../platform/vault.ts";
import { Refusal } from "../errors.ts";

/** A passkey's public half, and what a person knows it by. */
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

/** What is kept of one account's factors, under its id. */
export interface FactorRecord {
  readonly totp?: { readonly seed: Uint8Array<ArrayBuffer>; readonly sinceMs: number };
  /** Being set up: counts for nothing until a code of it was typed. */
  readonly pendingTotp?: { readonly seed: Uint8Array<ArrayBuffer>; readonly deadlineMs: number };
  /** The time step of the code that counted last. */
  readonly lastStep: number;
  /** Digests of the recovery codes that were not used yet. */
  readonly recovery: readonly string[];
  readonly passkeys: readonly PasskeyRecord[];
  readonly wrongCodes: number;
  readonly lockedUntilMs: number;
}

/** A record as it was read, to be changed against. */
export interface FactorEntry {
  readonly record: FactorRecord;
  readonly check: Check;
}

/** How a code was right. */
export type CodeKind = "totp" | "recovery";

export interface Factors {
  read(accountId: string): Promise<FactorEntry>;
  /** The record of an account that begins with one passkey. */
  first(passkey: PasskeyRecord): FactorRecord;
  /** The change that writes a record. */
  write(accountId: string, record: FactorRecord): Mutation;
  /**
   * Counts a code once. Resolves to how it was right.
   *
   * @throws Refusal `wrong_code`, or `locked_out` with Retry-After.
   */
  useCode(accountId: string, code: string): Promise<CodeKind>;
  /** A new seed that waits for its first code; base32, to be shown once. */
  beginTotp(accountId: string): Promise<string>;
  /** Whether `code` is of the seed that waits; the record with it in force, or a refusal. */
  confirmedTotp(accountId: string, code: string): Promise<FactorEntry>;
  /** Ten codes, and their digests to keep. */
  makeRecoveryCodes(accountId: string): { codes: string[]; digests: string[] };
}

export interface FactorsDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
}

const EMPTY: FactorRecord = { lastStep: 0, recovery: [], passkeys: [], wrongCodes: 0, lockedUntilMs: 0 };
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

export function createFactors({ store, vault, clock, random }: FactorsDeps): Factors {
  const read = async (accountId: string): Promise<FactorEntry> => {
    const { key, value, versionstamp } = await store.get<FactorRecord>(factorsKey(accountId));
    return { record: value ?? EMPTY, check: { key, versionstamp } };
  };
  const write = (accountId: string, record: FactorRecord): Mutation => ({
    type: "set",
    key: factorsKey(accountId),
    value: record,
  });
  const codeDigest = (accountId: string, code: string) =>
    vault.digest("console recovery code", `${accountId}\0${code.toLowerCase().replace(/[^a-z2-7]/g, "")}`);
  const stepOf = (
    seed: Uint8Array<ArrayBuffer>,
    { accountId, code, lastStep }: { accountId: string; code: string; lastStep: number },
  ): number | null => {
    const plain = vault.open(factorsKey(accountId), seed);
    if (plain === null) return null;
    const typed = code.replace(/\s/g, "");
    const tolerance = { digits: DIGITS, toleranceSteps: TOLERANCE_STEPS };
    return matchTotp({ seed: plain, code: typed, nowMs: clock.nowMs(), lastStep, ...tolerance });
  };

  /** What the record is after the code, and how the code was right; `null` for a wrong one. */
  const judge = (accountId: string, { record, code }: { record: FactorRecord; code: string }) => {
    const fresh = { wrongCodes: 0, lockedUntilMs: 0 };
    const step = record.totp === undefined
      ? null
      : stepOf(record.totp.seed, { accountId, code, lastStep: record.lastStep });
    if (step !== null) return { kind: "totp" as const, next: { ...record, ...fresh, lastStep: step } };
    const digest = codeDigest(accountId, code);
    const recovery = record.recovery.filter((kept) => !equalDigests(kept, digest));
    if (recovery.length < record.recovery.length) {
      return { kind: "recovery" as const, next: { ...record, ...fresh, recovery } };
    }
    const wrongCodes = record.wrongCodes + 1;
    const locked = wrongCodes >= MAX_WRONG_CODES;
    const next = {
      ...record,
      wrongCodes: locked ? 0 : wrongCodes,
      lockedUntilMs: locked ? clock.nowMs() + CODE_LOCK_MS : 0,
    };
    return { kind: null, next };
  };

  return {
    read,
    write,
    first: (passkey) => ({ ...EMPTY, passkeys: [passkey] }),
    async useCode(accountId, code) {
      if (code.length > MAX_CODE_CHARACTERS) throw new Refusal("wrong_code");
      const { record, check } = await read(accountId);
      refuseLocked(record, clock.nowMs());
      const { kind, next } = judge(accountId, { record, code });
      const done = await store.commit({ checks: [check], mutations: [write(accountId, next)] });
      // The same code twice at once: the other one was first.
      if (!done.ok) throw new Refusal("wrong_code");
      if (kind === null) {
        refuseLocked(next, clock.nowMs());
        throw new Refusal("wrong_code");
      }
      return kind;
    },
    async beginTotp(accountId) {
      const { record, check } = await read(accountId);
      const seed = random.bytes(SEED_OCTETS);
      const pendingTotp = {
        seed: vault.seal(factorsKey(accountId), seed),
        deadlineMs: clock.nowMs() + PENDING_MS,
      };
      const done = await store.commit({
        checks: [check],
        mutations: [write(accountId, { ...record, pendingTotp })],
      });
      if (!done.ok) throw new Refusal("changed_meanwhile");
      return encodeBase32(seed);
    },
    async confirmedTotp(accountId, code) {
      const { record, check } = await read(accountId);
      const { pendingTotp, ...rest } = record;
      if (pendingTotp === undefined || pendingTotp.deadlineMs <= clock.nowMs()) throw new Refusal("no_totp");
      const step = stepOf(pendingTotp.seed, { accountId, code, lastStep: 0 });
      if (step === null) throw new Refusal("wrong_code");
      const totp = { seed: pendingTotp.seed, sinceMs: clock.nowMs() };
      return { record: { ...rest, totp, lastStep: step, wrongCodes: 0, lockedUntilMs: 0 }, check };
    },
    makeRecoveryCodes(accountId) {
      const codes = Array.from({ length: RECOVERY_CODES }, () => {
        const text = encodeBase32(random.bytes(RECOVERY_OCTETS)).toLowerCase().slice(0, RECOVERY_CHARACTERS);
        return `${text.slice(0, 5)}-${text.slice(5)}`;
      });
      return { codes, digests: codes.map((code) => codeDigest(accountId, code)) };
    },
  };
}

function refuseLocked({ lockedUntilMs }: FactorRecord, nowMs: number): void {
  if (lockedUntilMs <= nowMs) return;
  throw new Refusal("locked_out", { "retry-after": String(Math.ceil((lockedUntilMs - nowMs) / 1000)) });
}

/** A new account id, so that nothing of another account counts for it. */
export function newAccountId(random: Random): string {
  return toBase64Url(random.bytes(12));
}
