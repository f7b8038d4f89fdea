// Authentication of an administrator: a name with a password and, if there is one, a code; or a passkey. Used to sign in and to
// verify a factor again (step-up).

import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { createProvenDigests } from "../../../platform/failure_limit.ts";
import type { Log } from "../../../platform/log.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Vault } from "../../../platform/vault.ts";
import type { AccountAttempts } from "./account_rate_limit.ts";
import type { Admin, Admins } from "./admin_store.ts";
import type { Attempts } from "./sign_in_rate_limit.ts";
import type { Factors } from "./factors.ts";
import type { Passkeys } from "./passkeys.ts";
import { Refusal, type RefusalCode } from "../errors.ts";
import type { RefusedSignIns } from "./rejected_sign_ins.ts";

/** How an administrator signed in: `password_code` with the code of an app, `link` by a one-time link. */
export type SignInMeans =
  | "password"
  | "password_code"
  | "password_recovery"
  | "passkey"
  | "provider"
  | "link";

/** Who showed what. */
export interface Shown {
  readonly admin: Admin;
  readonly by: SignInMeans;
  /** Whether that steps up. The password alone does not for an account with a passkey. */
  readonly isFresh: boolean;
}

/** What is typed. Without a `code` an account that has one is asked for it. */
export interface Typed {
  readonly name: string;
  readonly password: string;
  readonly code?: string;
  readonly source: string;
  /** The live session that shows a factor again. It has a limit of its own, so that strangers cannot block it. */
  readonly session?: string;
}

export interface SignIn {
  /**
   * Who typed that.
   *
   * @throws Refusal `wrong_sign_in`, `code_needed`, `wrong_code`, `locked_out`, `too_many_attempts`, `busy`.
   */
  withPassword(typed: Typed): Promise<Shown>;
  /** Whose passkey answered. @throws Refusal `passkey_refused`, `passkeys_need_name`, `too_many_attempts`. */
  withPasskey(
    shown: {
      response: AuthenticationResponseJSON;
      origin: string;
      source: string;
      session?: string;
    },
  ): Promise<Shown>;
}

export interface SignInDeps {
  readonly admins: Admins;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly attempts: Attempts;
  readonly accountAttempts: AccountAttempts;
  readonly refused: RefusedSignIns;
  readonly vault: Pick<Vault, "digest">;
  readonly clock: Clock;
  readonly log: Log;
}

/** What tells nothing about a password, so it is no guess. */
const NO_GUESS: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  "busy",
  "code_needed",
  "locked_out",
  "passkeys_need_name",
  "too_many_attempts",
]);

/** Answers that are no failed sign-in: the next step of a sign-in, or a busy server. */
const NO_REFUSAL: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  "busy",
  "code_needed",
  "passkeys_need_name",
]);

export function createSignIn(deps: SignInDeps): SignIn {
  const { admins, factors, passkeys, attempts, accountAttempts, refused, log } = deps;
  const proven = createProvenDigests(deps);
  const proofOf = (name: string, password: string): string =>
    deps.vault.digest("console password", `${canonicalName(name)}\0${password.normalize("NFC")}`);

  /** Takes a place among the source's attempts, and gives it back unless it was a wrong guess. */
  const counted = async (
    { name, source, session, isProven = false }: {
      name: string | null;
      source: string;
      session: string | undefined;
      /** Correct within the last day: no guess, so no limit applies. */
      isProven?: boolean;
    },
    judge: () => Promise<Shown>,
  ): Promise<Shown> => {
    const key = session === undefined
      ? { source, name: name ?? "passkey" }
      : { source: null, name: `session ${session}` };
    const attempt = isProven ? { forgive: () => undefined } : attempts.take(key);
    try {
      const shown = await judge();
      attempt.forgive();
      return shown;
    } catch (fault) {
      if (!(fault instanceof Refusal) || NO_GUESS.has(fault.code)) attempt.forgive();
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
        if (session === undefined && !isProven) accountAttempts.refuseAttacker({ name, source });
        const admin = await admins.check(name, password);
        if (admin === null) {
          proven.forget(proof);
          accountAttempts.failed({ name, source });
          throw new Refusal("wrong_sign_in");
        }
        proven.add(proof);
        const { record } = await factors.read(admin.id);
        if (record.totp === undefined) {
          accountAttempts.succeeded({ name, source });
          return { admin, by: "password", isFresh: record.passkeys.length === 0 };
        }
        if (code === undefined || code.trim() === "") throw new Refusal("code_needed");
        const kind = await factors.useCode(admin.id, code);
        accountAttempts.succeeded({ name, source });
        if (kind === "recovery") log.warn("a recovery code was used", { admin: admin.name, source });
        return { admin, by: kind === "recovery" ? "password_recovery" : "password_code", isFresh: true };
      });
    },
    withPasskey: ({ response, origin, source, session }) =>
      counted({ name: null, source, session }, async () => {
        const owner = await passkeys.use({ origin, response });
        const admin = await admins.find(owner.name);
        // Another account of the same name belongs to another person.
        if (admin === null || admin.id !== owner.accountId) throw new Refusal("passkey_refused");
        return { admin, by: "passkey", isFresh: true };
      }),
  };
}
