// The first factor by the settings of a client: another RADIUS server, the password of the directory, or a bind at an LDAP backend. Limits the
// cost of password checks: one per user at a time, and a bounded queue that one client cannot fill alone.

import { type Clock, withTimeout } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import type {
  FirstFactorReply,
  FirstFactorVerdict,
  FirstFactorVerifier,
  PasswordAttempt,
  Passwords,
} from "../ports.ts";
import { isAccountRefusal } from "../../platform/account_refusals.ts";
import type { FirstFactorHealth } from "./first_factor_servers.ts";

/** How long a right password of the directory is remembered, because a repeated login would need another hash. */
const REMEMBERED_MS = 60_000;
const MAX_REMEMBERED = 10_000;
/**
 * Checks at once, and checks that may wait, in total and per client. A check of the directory takes one core and about 30 MiB for 100 ms. The
 * identifiers of a socket limit the checks at another RADIUS server.
 */
const QUEUES = {
  directory: { atOnce: 2, waiting: 64, waitingPerClient: 48 },
  ldap: { atOnce: 32, waiting: 512, waitingPerClient: 384 },
} as const;
/** The assumed duration of a directory check before one was measured, and its maximum. */
const USUAL_CHECK_MS = 100;
const MAX_USUAL_CHECK_MS = 500;

interface CheckInProgress {
  readonly user: string;
  readonly verdict: Promise<FirstFactorVerdict>;
  /** Whether the user's record changed since the check began. Then the verdict is not remembered. */
  changed: boolean;
}

interface PolicyFirstFactorDeps {
  /** The check at another RADIUS server. */
  readonly radius: FirstFactorVerifier;
  /** Checked after the wait: for a user who was locked meanwhile, no password is checked. */
  readonly isLocked: (user: string) => boolean;
  /** Absent: no password is right. */
  readonly passwords: Passwords | undefined;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly health: FirstFactorHealth;
}

export class ClientFirstFactor implements FirstFactorVerifier {
  readonly #deps: PolicyFirstFactorDeps;
  /** By user. */
  readonly #remembered = new Map<string, { readonly digest: string; readonly untilMs: number }>();
  /** By digest. A repeated login waits for the check in progress. */
  readonly #inProgress = new Map<string, CheckInProgress>();
  readonly #users: UserChecks;
  readonly #queues: Record<keyof typeof QUEUES, CheckQueue>;
  #usualCheckMs = USUAL_CHECK_MS;

  constructor(deps: PolicyFirstFactorDeps) {
    const { clock } = deps;
    this.#deps = deps;
    this.#users = new UserChecks({ clock });
    this.#queues = {
      directory: new CheckQueue({ ...QUEUES.directory, clock }),
      ldap: new CheckQueue({ ...QUEUES.ldap, clock }),
    };
  }

  verify(attempt: PasswordAttempt): Promise<FirstFactorVerdict | FirstFactorReply> {
    switch (attempt.settings.firstFactor) {
      case "radius":
        return this.#atServer(attempt);
      case "directory":
        return this.#atDirectory(attempt);
      case "ldap":
        return this.#atBackend(attempt);
      case "none":
        return Promise.reject(new Error("Cannot check a password: the client has no first factor"));
    }
  }

  /** Forgets that a user's password was right. @param user canonical */
  forget(user: string): void {
    this.#remembered.delete(user);
    for (const check of this.#inProgress.values()) if (check.user === user) check.changed = true;
  }

  /** Forgets all passwords. Call it when other users sign in. */
  forgetAll(): void {
    this.#remembered.clear();
    for (const check of this.#inProgress.values()) check.changed = true;
  }

  #atServer(attempt: PasswordAttempt): Promise<FirstFactorVerdict | FirstFactorReply> {
    const copy = { ...attempt, password: attempt.password.slice() };
    const check = () => this.#deps.radius.verify(copy);
    return this.#users.run(attempt.user, () => this.#unlessLocked(attempt.user, check));
  }

  #atBackend({ client, settings, user, userName, password }: PasswordAttempt): Promise<FirstFactorVerdict> {
    const { passwords } = this.#deps;
    if (passwords === undefined) return Promise.resolve("unavailable");
    // RFC 4513 §5.1.2: a bind without a password is anonymous, and succeeds.
    if (password.length === 0) return Promise.resolve("unchecked");
    const octets = password.slice();
    const { firstFactorBackend } = settings;
    const check = () => passwords.ldap(firstFactorBackend, userName, octets);
    return this.#guard(
      { first_factor: "ldap", backend: firstFactorBackend },
      () => this.#users.run(user, () => this.#unlessLocked(user, () => this.#queues.ldap.run(client, check))),
    );
  }

  #unlessLocked<T>(user: string, check: () => Promise<T>): Promise<T | "unchecked"> {
    return this.#deps.isLocked(user) ? Promise.resolve("unchecked" as const) : check();
  }

  #atDirectory({ password, ...attempt }: PasswordAttempt): Promise<FirstFactorVerdict> {
    const { passwords, vault } = this.#deps;
    if (passwords === undefined) return Promise.resolve("unavailable");
    const { user } = attempt;
    if (password.length === 0) return Promise.resolve("unchecked");
    const digest = vault.digest(`directory password of ${JSON.stringify(user)}`, password);
    if (this.#isRemembered(user, digest)) return Promise.resolve("right");
    const same = this.#inProgress.get(digest);
    if (same !== undefined) return same.verdict;
    const copy = { ...attempt, password: password.slice() };
    const checking: CheckInProgress = {
      user,
      changed: false,
      verdict: this.#guard(
        { first_factor: "directory" },
        () => this.#users.run(user, () => this.#checkAtDirectory(passwords, copy)),
      )
        .then((verdict) => {
          this.#inProgress.delete(digest);
          if (verdict === "right" && !checking.changed) this.#remember(user, digest);
          return verdict;
        }),
    };
    this.#inProgress.set(digest, checking);
    return checking.verdict;
  }

  /** A name without a password takes no place in the queue, so that invented names do not delay the checks of users. */
  async #checkAtDirectory(
    passwords: Passwords,
    { client, user, password }: PasswordAttempt,
  ): Promise<FirstFactorVerdict> {
    const { clock, isLocked } = this.#deps;
    const timed = await withTimeout(passwords.hasPassword(user), { clock, timeoutMs: MAX_CHECK_WAIT_MS });
    if (!timed.inTime) throw new Error(NO_ANSWER);
    if (isLocked(user)) return "unchecked";
    if (!timed.value) return await this.#pretendToCheck();
    return await this.#queues.directory.run(client, async () => {
      const startedMs = clock.nowMs();
      const verdict = await passwords.directory(user, password);
      this.#usualCheckMs = Math.min(clock.nowMs() - startedMs, MAX_USUAL_CHECK_MS);
      return verdict;
    });
  }

  /** Takes the time of a check, so that many passwords at once for one name do not show whether the name exists. */
  #pretendToCheck(): Promise<FirstFactorVerdict> {
    return new Promise((resolve) =>
      void this.#deps.clock.after(this.#usualCheckMs, () => resolve("unchecked"))
    );
  }

  /** Notes whether the server of a check works. */
  async #guard(
    server: { readonly first_factor: string; readonly backend?: string },
    check: () => Promise<FirstFactorVerdict>,
  ): Promise<FirstFactorVerdict> {
    const { health } = this.#deps;
    const key = `${server.first_factor} ${server.backend ?? ""}`;
    try {
      const verdict = await check();
      if (verdict === "unavailable") health.failed(key, server, NO_ANSWER);
      else if (verdict === "right" || verdict === "wrong" || isAccountRefusal(verdict)) health.works(key);
      return verdict;
    } catch (fault) {
      health.failed(key, server, String(fault));
      return "unavailable";
    }
  }

  #isRemembered(user: string, digest: string): boolean {
    const known = this.#remembered.get(user);
    return known !== undefined && known.digest === digest && known.untilMs > this.#deps.clock.nowMs();
  }

  #remember(user: string, digest: string): void {
    this.#remembered.delete(user);
    if (this.#remembered.size >= MAX_REMEMBERED) {
      const [oldest] = this.#remembered.keys();
      if (oldest !== undefined) this.#remembered.delete(oldest);
    }
    this.#remembered.set(user, { digest, untilMs: this.#deps.clock.nowMs() + REMEMBERED_MS });
  }
}

type PasswordCheck = () => Promise<FirstFactorVerdict>;

/** Checks of one user that may wait. So many failures would lock the user anyway. */
const MAX_WAITING_PER_USER = 16;
/** Clients do not wait longer. */
const MAX_CHECK_WAIT_MS = 10_000;
const NO_ANSWER = `no answer within ${MAX_CHECK_WAIT_MS} ms`;

/** Runs the checks of one user one after another. */
export class UserChecks {
  readonly #clock: Clock;
  /** By user, the checks that wait for the one in progress. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  /** `busy` if too many checks of this user wait, or if this one could not begin in time. */
  run<T>(user: string, check: () => Promise<T>): Promise<T | "busy"> {
    const others = this.#waiting.get(user);
    if (others !== undefined && others.length >= MAX_WAITING_PER_USER) return Promise.resolve("busy");
    return new Promise((resolve, reject) => {
      const start = (): void => void check().then(resolve, reject).finally(() => this.#next(user));
      if (others === undefined) {
        this.#waiting.set(user, []);
        return start();
      }
      const turn = (): void => {
        cancel();
        start();
      };
      const cancel = this.#clock.after(MAX_CHECK_WAIT_MS, () => {
        others.splice(others.indexOf(turn), 1);
        resolve("busy");
      });
      others.push(turn);
    });
  }

  #next(user: string): void {
    const start = this.#waiting.get(user)?.shift();
    if (start === undefined) this.#waiting.delete(user);
    else start();
  }
}

interface CheckQueueOptions {
  readonly atOnce: number;
  readonly waiting: number;
  /** Part of `waiting`, so that one client leaves places for the others. */
  readonly waitingPerClient: number;
  readonly clock: Clock;
}

/** Runs a limited number of checks at once. */
export class CheckQueue {
  readonly #options: CheckQueueOptions;
  readonly #queue = new Set<{ readonly client: string; start(): void }>();
  #running = 0;

  constructor(options: CheckQueueOptions) {
    this.#options = options;
  }

  /** `busy` if too many wait, or if the check could not begin in time; `unavailable` if it began and takes too long. */
  run(client: string, check: PasswordCheck): Promise<FirstFactorVerdict> {
    if (this.#isFull(client)) return Promise.resolve("busy");
    return new Promise((resolve, reject) => {
      const turn = {
        client,
        start: () => {
          this.#running++;
          check().then(resolve, reject).finally(() => {
            this.#running--;
            cancel();
            this.#next();
          });
        },
      };
      // A check that began keeps its place until it ends, because it still uses resources.
      const cancel = this.#options.clock.after(
        MAX_CHECK_WAIT_MS,
        () => resolve(this.#queue.delete(turn) ? "busy" : "unavailable"),
      );
      this.#queue.add(turn);
      this.#next();
    });
  }

  #next(): void {
    const [first] = this.#queue;
    if (first === undefined || this.#running >= this.#options.atOnce) return;
    this.#queue.delete(first);
    first.start();
  }

  #isFull(client: string): boolean {
    const { waiting, waitingPerClient } = this.#options;
    if (this.#queue.size < waitingPerClient) return false;
    if (this.#queue.size >= waiting) return true;
    let ofClient = 0;
    for (const turn of this.#queue) if (turn.client === client) ofClient++;
    return ofClient >= waitingPerClient;
  }
}
