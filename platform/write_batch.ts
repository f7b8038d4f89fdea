// The writes of one commit, with tasks that update memory after the commit, and tasks that undo changes in memory if it fails.

import type { Check, Mutation } from "./store.ts";

/** Mutations that another part adds to a commit, with its update in memory. Exactly one of the two functions runs. It does not throw or wait. */
export interface PreparedChange {
  readonly mutations: readonly Mutation[];
  /** Called when the commit is durable. */
  done(): void;
  /** Called if the commit failed. Restores the state before the change was prepared. */
  undo(): void;
}

export const NO_CHANGE: PreparedChange = { mutations: [], done: () => undefined, undo: () => undefined };

type Task = () => void;

const NOTHING: readonly never[] = [];

/**
 * Collects the mutations, checks and tasks of one commit. Its owner makes the commit, then calls `committed()` or `rollBack()`. The lists are
 * created when they are first used, because most logins write only their record.
 */
export class WriteBatch {
  #mutations: Mutation[] | null = null;
  #checks: Check[] | null = null;
  #whenCommitted: Task[] | null = null;
  #whenFailed: Task[] | null = null;

  get mutations(): Mutation[] {
    return this.#mutations ??= [];
  }

  /** Conditions that must still be true at the commit. */
  get checks(): Check[] {
    return this.#checks ??= [];
  }

  /** Whether nothing is to be written or checked. */
  get isEmpty(): boolean {
    return (this.#mutations ?? NOTHING).length === 0 && (this.#checks ?? NOTHING).length === 0;
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
    this.#whenCommitted = null;
    this.#whenFailed = null;
  }
}
