// What the gateway and the console know about the enrolment of each user: the invitation, with its reminders and the deadline after which a login
// without a second factor is refused; and whether the user ever had a factor. All marks are in memory, so that a login does not read the store.

import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import {
  type MirroredRow,
  prepareChanges,
  Table,
  type TableChange,
  type TableKind,
} from "../../platform/table.ts";
import {
  NO_CHANGE,
  type PreparedChange,
  type PreparedRename,
  type UnversionedChange,
} from "../../platform/write_batch.ts";
import type { DirectoryUser, LoginDirectory } from "../ports.ts";

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

/** The id is the canonical name of the user. */
const MARKS: Omit<TableKind<EnrolmentMark>, "prefix"> = {
  read(value) {
    const mark = value as EnrolmentMark;
    if (typeof mark.invitedMs !== "number" || !isTimeOrNull(mark.deadlineMs)) {
      throw new TypeError("it has no time of the invitation, so this user counts as not invited");
    }
    return mark;
  },
};

interface EnrolmentMarksDeps {
  readonly store: Store;
  readonly target: string;
}

export class EnrolmentMarks {
  readonly #table: Table<EnrolmentMark>;

  constructor({ store, target }: EnrolmentMarksDeps) {
    this.#table = new Table({ store }, { ...MARKS, prefix: ["enrolment", target] });
  }

  load(): Promise<void> {
    return this.#table.load();
  }

  /** @param user canonical */
  of(user: string): EnrolmentMark | null {
    return this.#table.get(user)?.value ?? null;
  }

  /** The mark with its version, for a change of it. */
  read(user: string): MirroredRow<EnrolmentMark> | undefined {
    return this.#table.get(user);
  }

  /** All marks, by canonical name. */
  *all(): Iterable<readonly [user: string, mark: EnrolmentMark]> {
    for (const { id, value } of this.#table.all()) yield [id, value];
  }

  /** Whether the user had to set up a second factor before `nowMs`. */
  isOverdue(user: string, nowMs: number): boolean {
    const deadlineMs = this.#table.size === 0 ? null : this.#table.get(user)?.value.deadlineMs ?? null;
    return deadlineMs !== null && deadlineMs <= nowMs;
  }

  /** Prepares a mark in place of the one that was read. It is refused if that one changed since. */
  prepare(
    user: string,
    { read, mark }: { read: MirroredRow<EnrolmentMark> | undefined; mark: EnrolmentMark },
  ): TableChange {
    return read === undefined ? this.#table.add(user, mark) : this.#table.replace(read, mark);
  }

  /** Prepares the removal of a user. A campaign may invite the user in this moment, so the mark is deleted even if this node does not know it. */
  prepareRemoval(user: string): PreparedChange {
    return prepareChanges([this.#table.erase(user)]);
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
    return prepareChanges(this.#table.move(from, to, (mark) => isLeaving ? null : mark));
  }
}

function isTimeOrNull(value: unknown): value is number | null {
  return value === null || typeof value === "number";
}

// Which users ever had a factor. A mark is written in the commit that adds a factor, and stays when the last factor is removed: an attacker
// with a password must not add a factor in place of one that was lost.

interface FactorMarksDeps {
  readonly store: Store;
  readonly target: string;
  /** The id of the directory record of a user (canonical name); `null` if there is none, or it is not in memory. */
  readonly recordIdOf: (user: string) => string | null;
}

/** The id of a user's directory record, for {@link FactorMarksDeps}. */
export function recordIdIn(directory: Pick<LoginDirectory, "lookUp">, user: string): string | null {
  try {
    return directory.lookUp(user).id ?? null;
  } catch {
    // The directory does not have the user in memory. The name is marked instead.
    return null;
  }
}

/** What a mark is about: a record of the directory, which keeps its id when it is renamed or restored, or a name without a record. */
type MarkKind = "record" | "name";

export class FactorMarks {
  readonly #deps: FactorMarksDeps;
  readonly #marked = { record: new Set<string>(), name: new Set<string>() };

  constructor(deps: FactorMarksDeps) {
    this.#deps = deps;
    deps.store.follow(this.#prefix(), (entry) => this.#apply(entry));
  }

  async load(): Promise<void> {
    await this.#deps.store.load(this.#prefix(), (entry) => this.#apply(entry));
  }

  /** Whether the user ever had a factor. @param user canonical @param record absent: the one in memory */
  has(user: string, record?: Pick<DirectoryUser, "id">): boolean {
    const id = record === undefined ? this.#deps.recordIdOf(user) : record.id ?? null;
    return (id !== null && this.#marked.record.has(id)) || this.#marked.name.has(user);
  }

  /** Prepares the mark of a user who gets a factor. @param user canonical */
  prepare(user: string): UnversionedChange {
    const id = this.#deps.recordIdOf(user);
    const [kind, of]: [MarkKind, string] = id === null ? ["name", user] : ["record", id];
    const marked = this.#marked[kind];
    if (marked.has(of)) return NO_CHANGE;
    return {
      mutations: [{ type: "set", key: this.#keyOf(kind, of), value: true }],
      done: () => void marked.add(of),
      undo: () => undefined,
    };
  }

  /** Prepares the move of the mark of a name to another name. The mark of a record needs none. */
  prepareRename(from: string, to: string): PreparedRename {
    const { name } = this.#marked;
    if (!name.has(from)) return NO_CHANGE;
    const mutations: Mutation[] = [
      { type: "delete", key: this.#keyOf("name", from) },
      { type: "set", key: this.#keyOf("name", to), value: true },
    ];
    const done = () => void name.add(to).delete(from);
    return { mutations, done, undo: () => undefined };
  }

  #prefix(): Deno.KvKey {
    return ["had_factor", this.#deps.target];
  }

  #keyOf(kind: MarkKind, of: string): Deno.KvKey {
    return [...this.#prefix(), kind, of];
  }

  #apply({ key: [, , kind, of], value }: StoreEntry<unknown>): void {
    if (typeof of !== "string" || (kind !== "record" && kind !== "name")) return;
    if (value === null) this.#marked[kind].delete(of);
    else this.#marked[kind].add(of);
  }
}
