// The first factor by a client's policy: another RADIUS server, the directory's own password, or a bind at an LDAP backend. What a password
// costs is bounded here: one check per user at a time, and a limited queue, of which one client cannot take everything.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import { createCheckQueue, createUserChecks, inTime } from "../server/check_queue.ts";
import type { FirstFactor, FirstFactorVerdict, PasswordAttempt, Passwords } from "../ports.ts";

export interface FirstFactors extends FirstFactor {
  /** Forgets that a user's password was right. @param user canonical. */
  forget(user: string): void;
}

/** How long a right password of the directory needs no second check: a login that is sent again would pay for another hash. */
const REMEMBERED_MS = 60_000;
const MOST_REMEMBERED = 10_000;
/**
 * Checks under way at once, and those that may wait, in all and from one client. Each of the directory's takes a core and some 30 MiB for a tenth
 * of a second. Checks at another RADIUS server are limited by the identifiers of a socket.
 */
const QUEUES = {
  directory: { atOnce: 2, waiting: 64, waitingPerClient: 48 },
  ldap: { atOnce: 32, waiting: 512, waitingPerClient: 384 },
} as const;
/** What a check of the directory's takes until one was measured, and at most. */
const USUAL_CHECK_MS = 100;
const MAX_USUAL_CHECK_MS = 500;

interface Remembered {
  readonly digest: string;
  readonly untilMs: number;
}

interface UnderWay {
  readonly user: string;
  readonly verdict: Promise<FirstFactorVerdict>;
  /** The user's record changed since it began: its verdict is not remembered. */
  changed: boolean;
}

export function createFirstFactors(
  { radius, passwords, isLocked, vault, clock, log }: {
    radius: FirstFactor;
    /** Of a user who was locked while the check waited, no password is checked. */
    isLocked: (user: string) => boolean;
    /** Absent: no password is right. */
    passwords: Passwords | undefined;
    vault: Vault;
    clock: Clock;
    log: Log;
  },
): FirstFactors {
  const remembered = new Map<string, Remembered>();
  /** By digest: the same login sent again waits for the one check. */
  const underWay = new Map<string, UnderWay>();
  const users = createUserChecks({ clock });
  const queues = {
    directory: createCheckQueue({ ...QUEUES.directory, clock }),
    ldap: createCheckQueue({ ...QUEUES.ldap, clock }),
  };
  let usualCheckMs = USUAL_CHECK_MS;

  async function judge(what: string, check: () => Promise<FirstFactorVerdict>): Promise<FirstFactorVerdict> {
    try {
      return await check();
    } catch (fault) {
      log.error("a password could not be checked", { first_factor: what, fault: String(fault) });
      return "unavailable";
    }
  }

  function isRemembered(user: string, digest: string): boolean {
    const known = remembered.get(user);
    return known !== undefined && known.digest === digest && known.untilMs > clock.nowMs();
  }

  function remember(user: string, digest: string): void {
    remembered.delete(user);
    if (remembered.size >= MOST_REMEMBERED) {
      const [oldest] = remembered.keys();
      if (oldest !== undefined) remembered.delete(oldest);
    }
    remembered.set(user, { digest, untilMs: clock.nowMs() + REMEMBERED_MS });
  }

  /** A name without a password takes no place in the queue, so that invented names do not keep users from being checked. */
  async function checkAtDirectory(
    passwords: Passwords,
    { client, user, password }: PasswordAttempt,
  ): Promise<FirstFactorVerdict> {
    const exists = await inTime(passwords.hasPassword(user), { clock });
    if (isLocked(user)) return "unchecked";
    if (!exists) return await pretendToCheck();
    return await queues.directory.run(client, async () => {
      const startedMs = clock.nowMs();
      const verdict = await judge("directory", () => passwords.directory(user, password));
      usualCheckMs = Math.min(clock.nowMs() - startedMs, MAX_USUAL_CHECK_MS);
      return verdict;
    });
  }

  /** Takes the time of a check, so that many passwords at once for one name do not show whether the name exists. */
  function pretendToCheck(): Promise<FirstFactorVerdict> {
    return new Promise((resolve) => void clock.after(usualCheckMs, () => resolve("unchecked")));
  }

  function atDirectory({ password, ...attempt }: PasswordAttempt): Promise<FirstFactorVerdict> {
    if (passwords === undefined) return Promise.resolve("unavailable");
    const { user } = attempt;
    if (password.length === 0) return Promise.resolve("unchecked");
    const digest = vault.digest(`directory password of ${JSON.stringify(user)}`, password);
    if (isRemembered(user, digest)) return Promise.resolve("right");
    const same = underWay.get(digest);
    if (same !== undefined) return same.verdict;
    const octets = password.slice();
    const checking: UnderWay = {
      user,
      changed: false,
      verdict: judge(
        "directory",
        () => users.run(user, () => checkAtDirectory(passwords, { ...attempt, password: octets })),
      )
        .then((verdict) => {
          underWay.delete(digest);
          if (verdict === "right" && !checking.changed) remember(user, digest);
          return verdict;
        }),
    };
    underWay.set(digest, checking);
    return checking.verdict;
  }

  function atBackend(
    { client, policy, user, userName, password }: PasswordAttempt,
  ): Promise<FirstFactorVerdict> {
    if (passwords === undefined) return Promise.resolve("unavailable");
    // RFC 4513 §5.1.2: a bind without a password is anonymous, and succeeds.
    if (password.length === 0) return Promise.resolve("unchecked");
    const octets = password.slice();
    const { firstFactorBackend } = policy;
    const check = () => judge("ldap", () => passwords.ldap(firstFactorBackend, userName, octets));
    return users.run(user, () => unlessLocked(user, () => queues.ldap.run(client, check)));
  }

  function atServer(attempt: PasswordAttempt): Promise<FirstFactorVerdict> {
    const copy = { ...attempt, password: attempt.password.slice() };
    return users.run(attempt.user, () => unlessLocked(attempt.user, () => radius.verify(copy)));
  }

  function unlessLocked(user: string, check: () => Promise<FirstFactorVerdict>): Promise<FirstFactorVerdict> {
    return isLocked(user) ? Promise.resolve("unchecked") : check();
  }

  return {
    verify(attempt) {
      switch (attempt.policy.firstFactor) {
        case "radius":
          return atServer(attempt);
        case "directory":
          return atDirectory(attempt);
        case "ldap":
          return atBackend(attempt);
        case "none":
          return Promise.reject(new Error("Cannot check a password: the client has no first factor"));
      }
    },
    forget(user) {
      remembered.delete(user);
      for (const checking of underWay.values()) if (checking.user === user) checking.changed = true;
    },
  };
}
