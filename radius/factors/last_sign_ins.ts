// The last accepted sign-in of each user, and the last use of each factor. Accepted logins are collected and written every half minute, so
// that a login costs no further write. After a start, the history supplies those that a process did not write before it ended.

import { DAY_MS } from "../../platform/durations.ts";
import type { Log } from "../../platform/log.ts";
import { type Clock, withTimeout } from "../../platform/runtime.ts";
import type { AcceptedLogin, GatewayMonitor } from "../ports.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { findRenamed, type RenamedEntry } from "../../platform/user_record.ts";
import { NO_CHANGE, type PrepareRename } from "../../platform/write_batch.ts";
import {
  decodeLoginRecord,
  HISTORY_RETENTION_MS,
  historyKey,
  historyKeyAt,
} from "../conversation/login_record.ts";

/** The value under ["last_sign_in", target, user]. Times are milliseconds since the epoch. */
export interface LastSignIn {
  readonly atMs: number;
  /** The last use by factor: `device`, `sms`, `voice`, `totp`, `recovery`. */
  readonly factors: Readonly<Record<string, number>>;
}

interface LastSignInsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** The directory whose users log in now. */
  readonly target: () => string;
  /** The longest time between the start and the end of a login. */
  readonly longestLoginMs: number;
}

/**
 * The last use of each factor by a user whose last sign-in is not written yet, as a list: nearly all users have one, and it
 * takes a third of the memory of a {@link LastSignIn}.
 */
interface WaitingUse {
  /** `null`: none was needed. */
  readonly factor: string | null;
  readonly atMs: number;
  readonly other: WaitingUse | null;
}

/** How long the last sign-in of a user is stored. */
const LAST_SIGN_IN_MS = 400 * 24 * 3600_000;

const FLUSH_MS = 30_000;
/** A login is noted at most this long after its end. */
const UNNOTED_MS = 120_000;
/** Marks of nodes that do not write any more. */
const MARK_MS = 7 * 24 * 3600_000;
/** Users that wait for the next write. If the store fails for longer, the history supplies the others after a start. */
const MAX_WAITING = 50_000;
const USERS_PER_COMMIT = 100;
/** After so many records of the history, what was noted is written. */
const HISTORY_PAGE = 2000;
const LAST_KEY = "\u{10ffff}";
/** Keys and start times of logins that began at the same moment may differ in their order by less than this. */
const ORDER_SLACK_MS = 60_000;
/** The value under ["last_sign_in_mark", node]: the node wrote all logins that ended before. */
const MARKS: Deno.KvKey = ["last_sign_in_mark"];
const RETRY_MS = 60_000;
/** After a start, readers wait this long for the history of the time before. Then they get what is known. */
const RECOVERY_WAIT_MS = 3000;

export class LastSignIns {
  readonly #deps: LastSignInsDeps;
  /** By {@link userKey}. */
  readonly #waiting = new Map<string, WaitingUse>();
  #flushing: Promise<void> = Promise.resolve();
  #ready: Promise<unknown> = Promise.resolve();
  #isStopped = false;
  /** The history of the time before the start is complete. */
  #isComplete = false;
  #stopTimer = () => {};

  constructor(deps: LastSignInsDeps) {
    this.#deps = deps;
    // Another node renamed a user.
    deps.store.follow(["renamed"], ({ key: [, target, kind, from], value }) => {
      const { to } = (value ?? {}) as Partial<RenamedEntry>;
      if (kind === "user" && to !== undefined) this.#moveWaiting(String(target), { from: String(from), to });
    });
  }

  /** Prepares the move of the last sign-in of a user of the directory whose users log in. */
  readonly prepareRename: PrepareRename = async ({ kind, from, to }) => {
    if (kind === "group") return NO_CHANGE;
    const { store, clock } = this.#deps;
    const target = this.#deps.target();
    // A write in progress could store it under the earlier name again.
    await this.#flushing.catch(() => undefined);
    const { key, value } = await store.get<unknown>(storeKey({ target, user: from }));
    const last = readLastSignIn(value);
    const moved = storeKey({ target, user: to });
    const expireInMs = Math.max(1, (last?.atMs ?? 0) + LAST_SIGN_IN_MS - clock.nowMs());
    return {
      mutations: [
        { type: "delete", key },
        last === undefined
          ? { type: "delete", key: moved }
          : { type: "set", key: moved, value: last, expireInMs },
      ],
      done: () => this.#moveWaiting(target, { from, to }),
      undo: () => undefined,
    };
  };

  #moveWaiting(target: string, { from, to }: { from: string; to: string }): void {
    const waiting = this.#waiting.get(userKey(target, from));
    this.#waiting.delete(userKey(target, to));
    if (waiting === undefined) return;
    this.#waiting.delete(userKey(target, from));
    this.#waiting.set(userKey(target, to), waiting);
  }

  /** Reads what is missing from the history, and writes every half minute. */
  start(): void {
    const { clock } = this.#deps;
    this.#ready = withTimeout(this.#recoverLogged(), { clock, timeoutMs: RECOVERY_WAIT_MS });
    this.#schedule();
  }

  /** Writes what waits. A failure is ignored: the next start reads the history. */
  stop(): void {
    this.#isStopped = true;
    this.#stopTimer();
    this.flush().catch(() => undefined);
  }

  /** Records an accepted login. On the hot path: it only changes memory. */
  readonly note = (
    { user, factor, updatedMs, target = this.#deps.target() }:
      & Pick<AcceptedLogin, "user" | "updatedMs">
      & { readonly factor: string | null; readonly target?: string },
  ): void => {
    const key = userKey(target, user);
    const known = this.#waiting.get(key);
    if (known === undefined && this.#waiting.size >= MAX_WAITING) {
      // The mark stays, so that the next start reads the missing ones from the history.
      this.#isComplete = false;
      return;
    }
    this.#waiting.set(key, withUse(known, factor, updatedMs));
  };

  /** The last sign-ins of users with these canonical names. Other nodes may know one that is up to half a minute newer. */
  async of(users: readonly string[]): Promise<Map<string, LastSignIn>> {
    await this.#ready;
    const found = new Map<string, LastSignIn>();
    const { store } = this.#deps;
    const target = this.#deps.target();
    const entries = await Promise.all(users.map((user) => store.get<unknown>(storeKey({ target, user }))));
    for (const [at, user] of users.entries()) {
      const stored = readLastSignIn(entries[at]?.value);
      const waiting = this.#waiting.get(userKey(target, user));
      const last = waiting === undefined ? stored : merged(stored, waiting);
      if (last !== undefined) found.set(user, last);
    }
    return found;
  }

  /** The time that many days ago. */
  daysAgoMs(days: number): number {
    return this.#deps.clock.nowMs() - days * DAY_MS;
  }

  /** Writes what waits. Rejects if the store fails; the next call writes it too. */
  flush(): Promise<void> {
    return this.#flushing = this.#flushing.catch(() => undefined).then(() => this.#flush());
  }

  async #flush(): Promise<void> {
    const { store, clock } = this.#deps;
    if (this.#waiting.size === 0) return;
    const upToMs = clock.nowMs() - UNNOTED_MS;
    const users = [...this.#waiting];
    for (let at = 0; at < users.length; at += USERS_PER_COMMIT) {
      await this.#write(users.slice(at, at + USERS_PER_COMMIT));
    }
    if (this.#isComplete) await store.commit({ mutations: [this.#mark(upToMs)] });
  }

  async #write(users: readonly (readonly [string, WaitingUse])[]): Promise<void> {
    const { store, clock } = this.#deps;
    const keys = users.map(([key]) => ["last_sign_in", ...key.split("\0")]);
    const entries = await Promise.all(keys.map((key) => store.get<unknown>(key)));
    // Two nodes that write the same user in the same moment can lose one of two uses, which the next one repairs.
    const nowMs = clock.nowMs();
    const mutations = users.map(([, use], at): Mutation => {
      const value = merged(readLastSignIn(entries[at]?.value), use);
      const expireInMs = Math.max(1, value.atMs + LAST_SIGN_IN_MS - nowMs);
      return { type: "set", key: keys[at] as Deno.KvKey, value, expireInMs };
    });
    await store.commit({ mutations });
    // A sign-in that was noted meanwhile stays.
    for (const [key, use] of users) if (this.#waiting.get(key) === use) this.#waiting.delete(key);
  }

  /** Notes the logins of the history that no node has written. */
  async #recover(): Promise<void> {
    const { store, clock, longestLoginMs } = this.#deps;
    const untilMs = clock.nowMs();
    const marks = new Map<string, number>();
    for await (const { key, value } of store.list<unknown>(MARKS)) {
      if (typeof value === "number") marks.set(String(key[1]), value);
    }
    const sinceMs = Math.max(untilMs - HISTORY_RETENTION_MS, Math.min(...marks.values(), untilMs));
    const fromMs = marks.size === 0 ? untilMs - HISTORY_RETENTION_MS : sinceMs;
    const start = historyKeyAt(fromMs - longestLoginMs - ORDER_SLACK_MS);
    let [read, noted] = [0, 0];
    for await (
      const { value } of store.range<unknown>({ start: historyKey(start), end: historyKey(LAST_KEY) })
    ) {
      if (++read % HISTORY_PAGE === 0) await this.flush();
      if (this.#isStopped) return;
      const login = decodeLoginRecord(value);
      if (login?.outcome !== "accepted") continue;
      const { factor, endedMs, target = this.#deps.target() } = login;
      const canonical = canonicalName(login.user);
      // The user may have been renamed since.
      const now = await findRenamed(store, { target, kind: "user", canonical }, { sinceMs: endedMs });
      this.note({ user: now ?? canonical, factor, updatedMs: endedMs, target });
      noted++;
    }
    await this.flush();
    if (this.#isStopped) return;
    this.#isComplete = true;
    const ended = [...marks].filter(([node, upToMs]) =>
      node !== store.node && upToMs < untilMs - 2 * UNNOTED_MS
    )
      .map(([node]): Mutation => ({ type: "delete", key: [...MARKS, node] }));
    // A process without logins, such as a command, writes nothing.
    if (noted === 0 && marks.size === 0) return;
    await store.commit({ mutations: [...ended, this.#mark(untilMs - UNNOTED_MS)] });
  }

  #recoverLogged(): Promise<void> {
    return this.#recover().catch((fault: unknown) => {
      if (this.#isStopped) return;
      this.#deps.log.error("the last sign-ins could not be read from the history", { fault: String(fault) });
      this.#deps.clock.after(RETRY_MS, () => void (this.#isStopped || this.#recoverLogged()));
    });
  }

  #schedule(): void {
    this.#stopTimer = this.#deps.clock.after(FLUSH_MS, () => {
      this.flush().catch((fault: unknown) => {
        this.#deps.log.error("the last sign-ins could not be written", { fault: String(fault) });
      });
      this.#schedule();
    });
  }

  #mark(upToMs: number): Mutation {
    return { type: "set", key: [...MARKS, this.#deps.store.node], value: upToMs, expireInMs: MARK_MS };
  }
}

/** A user of one directory, as one text. Names contain no NUL. */
function userKey(target: string, user: string): string {
  return `${target}\0${user}`;
}

function storeKey({ target, user }: { readonly target: string; readonly user: string }): Deno.KvKey {
  return ["last_sign_in", target, user];
}

/** Records the logins that this node accepts. */
export function startLastSignIns(
  { monitor, ...deps }: LastSignInsDeps & { readonly monitor: Pick<GatewayMonitor, "onAccepted"> },
): LastSignIns {
  const signIns = new LastSignIns(deps);
  monitor.onAccepted((login) => signIns.note(login));
  signIns.start();
  return signIns;
}

/** The uses that wait, and one more. */
function withUse(uses: WaitingUse | undefined, factor: string | null, usedMs: number): WaitingUse {
  let [atMs, other]: [number, WaitingUse | null] = [usedMs, null];
  for (let use = uses ?? null; use !== null; use = use.other) {
    if (use.factor === factor) atMs = Math.max(atMs, use.atMs);
    else other = { ...use, other };
  }
  return { factor, atMs, other };
}

/** What is stored, with the uses that wait. */
function merged(known: LastSignIn | undefined, uses: WaitingUse): LastSignIn {
  let atMs = known?.atMs ?? 0;
  const factors: Record<string, number> = { ...known?.factors };
  for (let use: WaitingUse | null = uses; use !== null; use = use.other) {
    atMs = Math.max(atMs, use.atMs);
    if (use.factor) factors[use.factor] = Math.max(factors[use.factor] ?? 0, use.atMs);
  }
  return { atMs, factors };
}

function readLastSignIn(value: unknown): LastSignIn | undefined {
  const { atMs, factors } = (value ?? {}) as Partial<LastSignIn>;
  return typeof atMs === "number" && typeof factors === "object" ? { atMs, factors } : undefined;
}
