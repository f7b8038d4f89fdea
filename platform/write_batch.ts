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

/** Collects the mutations, checks and tasks of one commit. Its owner makes the commit, then calls `committed()` or `rollBack()`. */
export class WriteBatch {
  mutations: Mutation[] = [];
  /** Conditions that must still be true at the commit. */
  checks: Check[] = [];
  #whenCommitted: Task[] = [];
  #whenFailed: Task[] = [];

  /** Runs `task` after the commit. Tasks run in the order in which they were added. */
  whenCommitted(task: Task): void {
    this.#whenCommitted.push(task);
  }

  /** Runs `task` if the commit fails. Tasks run in reverse order, so that each one finds the state that it left. */
  whenFailed(task: Task): void {
    this.#whenFailed.push(task);
  }

  /** The commit is durable. Clears the batch, so that the next commit does not check against the writes of this one. */
  committed(): void {
    const tasks = this.#whenCommitted;
    this.#clear();
    for (const task of tasks) task();
  }

  /** Nothing was written: undoes the changes in memory. */
  rollBack(): void {
    const tasks = this.#whenFailed;
    this.#clear();
    for (let at = tasks.length - 1; at >= 0; at--) (tasks[at] as Task)();
  }

  /** Replaces the lists instead of emptying them: the store may still read them. */
  #clear(): void {
    if (this.mutations.length > 0) this.mutations = [];
    if (this.checks.length > 0) this.checks = [];
    if (this.#whenCommitted.length > 0) this.#whenCommitted = [];
    if (this.#whenFailed.length > 0) this.#whenFailed = [];
  }
}
