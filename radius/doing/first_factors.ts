// The first factor by a client's policy: another RADIUS server, the directory's own password, or a bind at an LDAP backend. What a password
// costs is bounded here; whoever cannot be checked is let through by nobody.

import type { Log } from "../../log.ts";
import type { Clock } from "../../runtime.ts";
import type { Vault } from "../../vault.ts";
import type { FirstFactor, FirstFactorVerdict, PasswordAttempt, Passwords } from "./ports.ts";

export interface FirstFactors extends FirstFactor {
  /** Forgets that a user's password was right. @param user canonical. */
  forget(user: string): void;
}

/** How long a right password of the directory needs no second check: a login that is sent again would pay for another hash. */
const REMEMBERED_MS = 60_000;
const MOST_REMEMBERED = 10_000;
/** Checks under way at once; each of the directory's takes a core and some 30 MiB for a tenth of a second. */
const MOST_AT_ONCE = { directory: 2, ldap: 32 } as const;
const MOST_WAITING = { directory: 64, ldap: 512 } as const;
/** No client waits longer. */
const PATIENCE_MS = 10_000;

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
  { radius, passwords, vault, clock, log }: {
    radius: FirstFactor;
    /** Absent: nobody's password is right. */
    passwords: Passwords | undefined;
    vault: Vault;
    clock: Clock;
    log: Log;
  },
): FirstFactors {
  const remembered = new Map<string, Remembered>();
  /** By digest: the same login sent again waits for the one check. */
  const underWay = new Map<string, UnderWay>();
  const lanes = { directory: createLane("directory"), ldap: createLane("ldap") };

  function createLane(kind: keyof typeof MOST_AT_ONCE): Lane {
    return createBoundedLane({ atOnce: MOST_AT_ONCE[kind], waiting: MOST_WAITING[kind], clock });
  }

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

  function atDirectory({ user, password }: PasswordAttempt): Promise<FirstFactorVerdict> {
    if (passwords === undefined) return Promise.resolve("unavailable");
    const digest = vault.digest(`directory password of ${JSON.stringify(user)}`, password);
    if (isRemembered(user, digest)) return Promise.resolve("right");
    const same = underWay.get(digest);
    if (same !== undefined) return same.verdict;
    const octets = password.slice();
    const checking: UnderWay = {
      user,
      changed: false,
      verdict: lanes.directory.run(() => judge("directory", () => passwords.directory(user, octets)))
        .then((verdict) => {
          underWay.delete(digest);
          if (verdict === "right" && !checking.changed) remember(user, digest);
          return verdict;
        }),
    };
    underWay.set(digest, checking);
    return checking.verdict;
  }

  function atBackend({ policy, userName, password }: PasswordAttempt): Promise<FirstFactorVerdict> {
    if (passwords === undefined) return Promise.resolve("unavailable");
    // RFC 4513 §5.1.2: a bind without a password is nobody's, and succeeds.
    if (password.length === 0) return Promise.resolve("wrong");
    const octets = password.slice();
    const { firstFactorBackend } = policy;
    return lanes.ldap.run(() => judge("ldap", () => passwords.ldap(firstFactorBackend, userName, octets)));
  }

  return {
    verify(attempt) {
      switch (attempt.policy.firstFactor) {
        case "radius":
          return radius.verify(attempt);
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

interface Lane {
  /** Runs `check` when there is room; `unavailable` when too many wait, or when it takes too long. */
  run(check: () => Promise<FirstFactorVerdict>): Promise<FirstFactorVerdict>;
}

interface Turn {
  start(): void;
}

function createBoundedLane(
  { atOnce, waiting, clock }: { atOnce: number; waiting: number; clock: Clock },
): Lane {
  const queue = new Set<Turn>();
  let running = 0;

  function next(): void {
    const [turn] = queue;
    if (turn === undefined || running >= atOnce) return;
    queue.delete(turn);
    turn.start();
  }

  return {
    run(check) {
      if (queue.size >= waiting) return Promise.resolve("unavailable");
      return new Promise((resolve) => {
        const turn: Turn = {
          start() {
            running++;
            void check().then((verdict) => {
              running--;
              cancel();
              resolve(verdict);
              next();
            });
          },
        };
        // One that has begun keeps its place until it is over; only nobody waits for it any more.
        const cancel = clock.after(PATIENCE_MS, () => {
          queue.delete(turn);
          resolve("unavailable");
        });
        queue.add(turn);
        next();
      });
    },
  };
}
