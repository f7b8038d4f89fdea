// Authentication of an administrator: a name with a password and, if there is one, a code; or a passkey. Used to sign in and to
// verify a factor again (step-up).

import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { sourceKey } from "../../../platform/addresses.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import { ProvenDigests } from "../../../platform/limit_table.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { AccountRateLimit, SignInRateLimit } from "./sign_in_rate_limit.ts";
import type { AdminStore } from "./admin_store.ts";
import type { Admin } from "./admin_records.ts";
import { type AdminFactors, isRecoveryCode } from "./factors.ts";
import type { Passkeys } from "./passkeys.ts";
import type { ErrorCode } from "../error_codes.ts";
import { Refusal } from "../errors.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { auditEntry, type AuditSlot, createAuditSlot, UNKNOWN_ACTOR } from "../../../platform/audit.ts";

/** How an administrator signed in: `password_code` with the code of an app, `link` by a one-time link. */
export type SignInMethod =
  | "password"
  | "password_code"
  | "password_recovery"
  | "recovery"
  | "passkey"
  | "provider"
  | "link";

export interface VerifiedSignIn {
  readonly admin: Admin;
  readonly by: SignInMethod;
  /** Whether it counts as a recent factor. The password alone does not, for an account with a passkey. */
  readonly isRecentFactor: boolean;
}

/** A name and a password. An account with an authenticator app needs a `code` too. */
interface PasswordSignIn {
  readonly name: string;
  readonly password: string;
  readonly code?: string;
  readonly source: string;
  /** The session that verifies a factor again. It has its own rate limit, so that other people cannot block it. */
  readonly session?: string;
}

export interface SignIn {
  /**
   * Finds the administrator of a name, a password and a code.
   *
   * @throws Refusal `wrong_sign_in`, `code_needed`, `wrong_code`, `codes_locked`, `locked_out`, `too_many_attempts`, `busy`.
   */
  withPassword(typed: PasswordSignIn): Promise<VerifiedSignIn>;
  /**
   * Finds the administrator of a recovery code, for an account without a password.
   *
   * @throws Refusal `wrong_sign_in`, `locked_out`, `too_many_attempts`.
   */
  withRecoveryCode(typed: { name: string; code: string; source: string }): Promise<VerifiedSignIn>;
  /** Finds the administrator of a passkey. @throws Refusal `passkey_refused`, `passkeys_need_name`, `too_many_attempts`. */
  withPasskey(
    shown: {
      response: AuthenticationResponseJSON;
      origin: string;
      source: string;
      session?: string;
    },
  ): Promise<VerifiedSignIn>;
}

interface SignInDeps {
  readonly admins: AdminStore;
  readonly factors: AdminFactors;
  readonly passkeys: Passkeys;
  readonly attempts: SignInRateLimit;
  readonly accountAttempts: AccountRateLimit;
  readonly refused: RejectedSignIns;
  readonly vault: Pick<Vault, "digest">;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a password alone is not enough for an account with a passkey. */
  readonly isSecondFactorRequired: () => boolean;
}

/** Errors that reveal nothing about a password, so the request does not count as a guess. */
const NO_GUESS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "busy",
  "code_needed",
  "codes_locked",
  "passkey_or_code_needed",
  "locked_out",
  "passkeys_need_name",
  "too_many_attempts",
]);

/** Errors that are not failed sign-ins: the next step of a sign-in, or a busy server. */
const NO_REFUSAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "busy",
  "code_needed",
  "passkey_or_code_needed",
  "passkeys_need_name",
]);

export function createSignIn(deps: SignInDeps): SignIn {
  const { admins, factors, passkeys, attempts, accountAttempts, refused, log } = deps;
  const proven = new ProvenDigests(deps);
  const proofOf = (name: string, password: string): string =>
    deps.vault.digest("console password", `${canonicalName(name)}\0${password.normalize("NFC")}`);

  /** Counts an attempt of the source, and forgives it unless it was a wrong guess. */
  const counted = async (
    { name, source, session, isProven = false }: {
      name: string | null;
      source: string;
      session: string | undefined;
      /** The password was correct within the last day, so no limit applies. */
      isProven?: boolean;
    },
    judge: () => Promise<VerifiedSignIn>,
  ): Promise<VerifiedSignIn> => {
    const key = session === undefined
      ? { source, name: name ?? "passkey" }
      : { source: null, name: `session ${session}` };
    const attempt = isProven ? null : await attempts.take(key);
    try {
      const shown = await judge();
      await attempt?.forgive();
      return shown;
    } catch (fault) {
      if (!(fault instanceof Refusal) || NO_GUESS.has(fault.code)) await attempt?.forgive();
      else log.warn("console sign-in refused", { source, reason: fault.code });
      if (fault instanceof Refusal && !NO_REFUSAL.has(fault.code)) {
        await refused.note({ name, source, because: fault.code });
      }
      throw fault;
    }
  };

  return {
    withPassword({ name, password, code, source, session }) {
      const proof = proofOf(name, password);
      const isProven = proven.has(proof);
      return counted({ name, source, session, isProven }, async () => {
        if (session === undefined && !isProven) await accountAttempts.refuseLimited({ name, source });
        const admin = await admins.check(name, password);
        if (admin === null) {
          proven.forget(proof);
          await accountAttempts.failed({ name, source });
          throw new Refusal("wrong_sign_in");
        }
        proven.add(proof);
        const { record } = await factors.read(admin.id);
        const mayUsePassword = record.passkeys.length === 0 || !deps.isSecondFactorRequired();
        if (record.totp === undefined && mayUsePassword) {
          await accountAttempts.succeeded({ name, source });
          return { admin, by: "password", isRecentFactor: record.passkeys.length === 0 };
        }
        if (code === undefined || code.trim() === "") {
          throw new Refusal(record.totp === undefined ? "passkey_or_code_needed" : "code_needed");
        }
        return await verifyCode(deps, { admin, code, name, source, session });
      });
    },
    withRecoveryCode: (typed) =>
      counted({ ...typed, session: undefined }, () => judgeRecoveryCode(deps, typed)),
    withPasskey: ({ response, origin, source, session }) =>
      counted({ name: null, source, session }, async () => {
        const owner = await passkeys.use({ origin, response });
        const admin = await admins.find(owner.name);
        // Another account of the same name belongs to another person.
        if (admin === null || admin.id !== owner.accountId) throw new Refusal("passkey_refused");
        await accountAttempts.succeeded({ name: admin.name, source });
        return { admin, by: "passkey", isRecentFactor: true };
      }),
  };
}

/** Verifies the code after a right password. */
async function verifyCode(
  { factors, accountAttempts, log }: SignInDeps,
  { admin, code, name, source, session }: Pick<PasswordSignIn, "name" | "source"> & {
    readonly admin: Admin;
    readonly code: string;
    readonly session: string | undefined;
  },
): Promise<VerifiedSignIn> {
  const known = session !== undefined
    ? `session ${session}`
    : await accountAttempts.isKnown({ name, source })
    ? `source ${sourceKey(source)}`
    : null;
  const kind = await factors.useCode(admin.id, code, { source, known });
  await accountAttempts.succeeded({ name, source });
  if (kind === "recovery") log.warn("a recovery code was used", { admin: admin.name, source });
  return { admin, by: kind === "recovery" ? "password_recovery" : "password_code", isRecentFactor: true };
}

/** For an account without a password. Every other account answers as one that does not exist. */
async function judgeRecoveryCode(
  { admins, factors, accountAttempts, log }: SignInDeps,
  { name, code, source }: { name: string; code: string; source: string },
): Promise<VerifiedSignIn> {
  await accountAttempts.refuseLimited({ name, source });
  const admin = await admins.find(name);
  const isOwn = admin?.origin === "console" && !await admins.hasPassword(name);
  const hasCodes = admin !== null && isOwn && (await factors.read(admin.id)).record.recovery.length > 0;
  try {
    // A code of an app is no factor of its own.
    if (!hasCodes || !isRecoveryCode(code)) throw new Refusal("wrong_code");
    await factors.useCode(admin.id, code, { source, known: null });
    await accountAttempts.succeeded({ name, source });
    log.warn("a recovery code was used", { admin: admin.name, source });
    return { admin, by: "recovery", isRecentFactor: true };
  } catch (fault) {
    if (!(fault instanceof Refusal) || fault.code !== "wrong_code") throw fault;
    await accountAttempts.failed({ name, source });
    throw new Refusal("wrong_sign_in");
  }
}

interface RejectedSignIn {
  /** The typed name; `null` if there is none. */
  readonly name: string | null;
  readonly source: string;
  readonly because: string;
}

export interface RejectedSignIns {
  /** Records a rejected sign-in. The promise never rejects: a failure is logged. */
  note(refused: RejectedSignIn): Promise<void>;
}

interface RejectedSignInDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly admins: Pick<AdminStore, "find">;
}

/** The object of a rejected sign-in with an unknown name. */
export const UNKNOWN_NAME = "sign-in:unknown-name";
/** The record of one minute names at most this many addresses. */
const MAX_SOURCES = 5;

/** The audit record of one name, which is updated for one minute. */
interface CountedRejection {
  readonly untilMs: number;
  readonly object: string;
  readonly slot: AuditSlot;
  /** The address of the first rejected sign-in. */
  readonly source: string;
  readonly sources: Set<string>;
  readonly reasons: Set<string>;
  count: number;
  /** Later counts are written after earlier ones. */
  written: Promise<void>;
}

/**
 * Records rejected sign-ins: one audit record for each name and minute, so that guessing does not fill the log. A typed name is
 * stored only if an administrator has it, because it may be a password.
 */
export function createRejectedSignIns(deps: RejectedSignInDeps): RejectedSignIns {
  const { store, clock, log } = deps;
  /** By object: one for each administrator, and one for unknown names. */
  const folds = new Map<string, CountedRejection>();

  const foldOf = (object: string, source: string): CountedRejection => {
    const nowMs = clock.nowMs();
    for (const [key, { untilMs }] of folds) if (untilMs <= nowMs) folds.delete(key);
    const open = folds.get(object);
    if (open !== undefined) return open;
    const fold: CountedRejection = {
      untilMs: nowMs + MINUTE_MS,
      object,
      slot: createAuditSlot(),
      source,
      sources: new Set(),
      reasons: new Set(),
      count: 0,
      written: Promise.resolve(),
    };
    folds.set(object, fold);
    return fold;
  };

  return {
    async note({ name, source, because }) {
      try {
        const admin = name === null ? null : await deps.admins.find(name);
        const fold = foldOf(admin === null ? UNKNOWN_NAME : `administrator:${admin.name}`, source);
        fold.count += 1;
        fold.reasons.add(because);
        if (fold.sources.size < MAX_SOURCES) fold.sources.add(source);
        const mutations = [recordOf(fold)];
        const write = () => store.commit({ mutations }).then(() => undefined);
        fold.written = fold.written.then(write, write);
        await fold.written;
      } catch (fault) {
        log.error("a refused sign-in is not in the audit", { fault: String(fault) });
      }
    },
  };
}

function recordOf({ object, slot, source, count, sources, reasons }: CountedRejection): Mutation {
  return auditEntry({
    actor: UNKNOWN_ACTOR,
    source,
    action: "administrator.refused",
    object,
    because: [...reasons],
    ...(count > 1 ? { count } : {}),
    ...(sources.size > 1 ? { sources: [...sources] } : {}),
  }, slot);
}
