// What the gateway and the console know about the invitation of each user: when it was sent, the reminders, and the deadline after which a
// login without a second factor is refused. All marks are in memory, so that a login does not read the store.

import type { Check, Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { PreparedChange, PreparedRename } from "../../platform/write_batch.ts";

/** The value under ["enrolment", target, user]. Times are milliseconds since the epoch. */
export interface EnrolmentMark {
  /** The directory record that was invited. */
  readonly recordId: string;
  readonly campaign: string;
  /** The first invitation of the campaign. */
  readonly invitedMs: number;
  /** When the newest link stops working. */
  readonly linkUntilMs: number;
  /** The id of the newest invitation at the second-factor service. */
  readonly invitation: string;
  /** How many reminders were sent, and the last one. */
  readonly reminders: number;
  readonly remindedMs: number | null;
  /** From then on, a login without a second factor is refused; `null`: never. */
  readonly deadlineMs: number | null;
}

/** A change of a mark. Call `done` with the versionstamp of its commit. */
export interface MarkChange {
  readonly check: Check;
  readonly mutation: Mutation;
  done(versionstamp: string): void;
}

interface StoredMark {
  readonly mark: EnrolmentMark;
  readonly versionstamp: string;
}

export interface EnrolmentMarksDeps {
  readonly store: Store;
  /** The directory of the users. */
  readonly target: string;
}

export class EnrolmentMarks {
  readonly #deps: EnrolmentMarksDeps;
  readonly #marks = new Map<string, StoredMark>();

  constructor(deps: EnrolmentMarksDeps) {
    this.#deps = deps;
    deps.store.follow(this.#prefix(), (entry) => this.#apply(entry));
  }

  async load(): Promise<void> {
    await this.#deps.store.load(this.#prefix(), (entry) => this.#apply(entry));
  }

  /** @param user canonical */
  of(user: string): EnrolmentMark | null {
    return this.#marks.get(user)?.mark ?? null;
  }

  /** All marks, by canonical name. */
  *all(): Iterable<readonly [user: string, mark: EnrolmentMark]> {
    for (const [user, { mark }] of this.#marks) yield [user, mark];
  }

  /** Whether the user had to set up a second factor before `nowMs`. */
  isOverdue(user: string, nowMs: number): boolean {
    const deadlineMs = this.#marks.size === 0 ? null : this.#marks.get(user)?.mark.deadlineMs ?? null;
    return deadlineMs !== null && deadlineMs <= nowMs;
  }

  /** Prepares a change of the mark; `null` removes it. It is refused if another node changed the mark. */
  prepare(user: string, mark: EnrolmentMark | null): MarkChange {
    const key = this.#keyOf(user);
    return {
      check: { key, versionstamp: this.#marks.get(user)?.versionstamp ?? null },
      mutation: mark === null ? { type: "delete", key } : { type: "set", key, value: mark },
      done: (versionstamp) => {
        if (mark === null) this.#marks.delete(user);
        else this.#set(user, mark, versionstamp);
      },
    };
  }

  /** Reads a mark again, after a change of it was refused. */
  async reread(user: string): Promise<void> {
    this.#apply(await this.#deps.store.get<unknown>(this.#keyOf(user)));
  }

  /** Prepares the removal of a user. */
  prepareRemoval(user: string): PreparedChange {
    // A campaign may invite the user in this moment, so the mark is deleted even if this node does not know it.
    return {
      mutations: [{ type: "delete", key: this.#keyOf(user) }],
      done: () => void this.#marks.delete(user),
      undo: () => undefined,
    };
  }

  /**
   * Prepares the move of the mark to another name. A mark of the new name belongs to an earlier user, and is removed.
   *
   * @param rename.isLeaving the user is deactivated in the same commit: the mark ends
   */
  prepareRename(
    from: string,
    to: string,
    { isLeaving = false }: { isLeaving?: boolean } = {},
  ): PreparedRename {
    const known = this.#marks.get(from);
    const before = isLeaving ? undefined : known;
    const keys = { from: this.#keyOf(from), to: this.#keyOf(to) };
    const hasOther = this.#marks.has(to);
    const mutations: Mutation[] = [];
    if (before !== undefined) {
      mutations.push({ type: "delete", key: keys.from }, { type: "set", key: keys.to, value: before.mark });
    } else if (hasOther) mutations.push({ type: "delete", key: keys.to });
    return {
      mutations,
      checks: [{ key: keys.from, versionstamp: known?.versionstamp ?? null }],
      done: (versionstamp) => {
        this.#marks.delete(from);
        this.#marks.delete(to);
        if (before !== undefined) this.#set(to, before.mark, versionstamp);
      },
      undo: () => undefined,
    };
  }

  #prefix(): Deno.KvKey {
    return ["enrolment", this.#deps.target];
  }

  #keyOf(user: string): Deno.KvKey {
    return [...this.#prefix(), user];
  }

  #set(user: string, mark: EnrolmentMark, versionstamp: string): void {
    const known = this.#marks.get(user);
    // Two commits may report in any order.
    if (known === undefined || known.versionstamp <= versionstamp) {
      this.#marks.set(user, { mark, versionstamp });
    }
  }

  #apply({ key: [, , user], value, versionstamp }: StoreEntry<unknown>): void {
    if (typeof user !== "string") return;
    if (value === null || versionstamp === null) return void this.#marks.delete(user);
    const mark = value as EnrolmentMark;
    if (typeof mark.invitedMs !== "number" || !isTimeOrNull(mark.deadlineMs)) {
      throw new TypeError("it has no time of the invitation, so this user counts as not invited");
    }
    this.#set(user, mark, versionstamp);
  }
}

function isTimeOrNull(value: unknown): value is number | null {
  return value === null || typeof value === "number";
}
