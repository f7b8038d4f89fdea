// What the gateway and the console know about the invitation of each user: when it was sent, the reminders, and the deadline after which a
// login without a second factor is refused. All marks are in memory, so that a login does not read the store.

import type { Store } from "../../platform/store.ts";
import {
  type MirroredRow,
  prepareChanges,
  Table,
  type TableChange,
  type TableKind,
} from "../../platform/table.ts";
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
