// The writes of one commit, with tasks that update memory after the commit, and tasks that undo changes in memory if it fails.

import type { JournalLine } from "./journal.ts";
import type { Check, Mutation } from "./store.ts";

/** Mutations that another part adds to a commit, with its update in memory. Exactly one of the two functions runs. It does not throw or wait. */
export interface PreparedChange {
  readonly mutations: readonly Mutation[];
  /** Called with the versionstamp of the commit when it is durable. */
  done(versionstamp: string): void;
  /** Called if the commit failed. Restores the state before the change was prepared. */
  undo(): void;
}

/** A change whose update in memory does not need the version of the commit. */
export type UnversionedChange = PreparedChange & { done(): void };

/** A resource that gets another name. */
export interface Rename {
  readonly kind: "user" | "group";
  /** The canonical names. */
  readonly from: string;
  readonly to: string;
  /** The new name as given. */
  readonly name: string;
  /** A user who is deactivated in the same commit. */
  readonly isLeaving: boolean;
}

/** What another part adds to the commit of a rename. */
export interface PreparedRename extends PreparedChange {
  /** If one fails, nothing is written, and the rename is prepared again. */
  readonly checks?: readonly Check[];
}

/** Prepares the move of the data that a part stores by the name of a user or group. */
export type PrepareRename = (rename: Rename) => Promise<PreparedRename>;

/** All changes as one. `undo` runs in reverse order. */
export function joinRenames(parts: readonly PreparedRename[]): PreparedRename {
  return {
    mutations: parts.flatMap(({ mutations }) => mutations),
    checks: parts.flatMap(({ checks = [] }) => checks),
    done: (versionstamp) => parts.forEach((part) => part.done(versionstamp)),
    undo: () => parts.toReversed().forEach((part) => part.undo()),
  };
}

/** Prepares all parts in order. The last ones are those after which nothing may wait. */
export function prepareRenames(
  parts: readonly { readonly prepareRename: PrepareRename }[],
): PrepareRename {
  return async (rename) => {
    const prepared: PreparedRename[] = [];
    try {
      for (const { prepareRename } of parts) prepared.push(await prepareRename(rename));
      return joinRenames(prepared);
    } catch (fault) {
      joinRenames(prepared).undo();
      throw fault;
    }
  };
}

export const NO_CHANGE: UnversionedChange = { mutations: [], done: () => undefined, undo: () => undefined };

type Task = () => void;

const NOTHING: readonly never[] = [];

/**
 * Collects the mutations, checks and tasks of one commit. Its owner makes the commit, then calls `committed()` or `rollBack()`. The lists are
 * created when they are first used, because most logins write only their record.
 */
export class WriteBatch {
  #mutations: Mutation[] | null = null;
  #checks: Check[] | null = null;
  #journal: JournalLine[] | null = null;
  #whenCommitted: Task[] | null = null;
  #whenFailed: Task[] | null = null;

  get mutations(): Mutation[] {
    return this.#mutations ??= [];
  }

  /** Conditions that must still be true at the commit. */
  get checks(): Check[] {
    return this.#checks ??= [];
  }

  /** Lines of the journal. */
  get journal(): JournalLine[] {
    return this.#journal ??= [];
  }

  get isEmpty(): boolean {
    const lists = (this.#mutations ?? NOTHING).length + (this.#checks ?? NOTHING).length;
    return lists + (this.#journal ?? NOTHING).length === 0;
  }

  /** Runs `task` after the commit. Tasks run in the order in which they were added. */
  whenCommitted(task: Task): void {
    this.#whenCommitted ??= [];
    this.#whenCommitted.push(task);
  }

  /** Runs `task` if the commit fails. Tasks run in reverse order, so that each one finds the state that it left. */
  whenFailed(task: Task): void {
    this.#whenFailed ??= [];
    this.#whenFailed.push(task);
  }

  /** The commit is durable. Clears the batch, so that the next commit does not check against the writes of this one. */
  committed(): void {
    const tasks = this.#whenCommitted ?? NOTHING;
    this.#clear();
    for (const task of tasks) task();
  }

  /** Nothing was written: undoes the changes in memory. */
  rollBack(): void {
    const tasks = this.#whenFailed ?? NOTHING;
    this.#clear();
    for (let at = tasks.length - 1; at >= 0; at--) (tasks[at] as Task)();
  }

  /** Replaces the lists instead of emptying them: the store may still read them. */
  #clear(): void {
    this.#mutations = null;
    this.#checks = null;
    this.#journal = null;
    this.#whenCommitted = null;
    this.#whenFailed = null;
  }
}
