// The writes of one commit, and how memory follows: tasks that run when the commit is durable, and tasks that undo when it fails.

import type { Check, Mutation } from "./store.ts";

/** What another part adds to a commit, and how that part follows in memory. One of the two functions runs; neither throws or waits. */
export interface PreparedChange {
  readonly mutations: readonly Mutation[];
  /** The commit is durable. */
  done(): void;
  /** The commit was not made: everything is as it was before the change was prepared. */
  undo(): void;
}

export const NO_CHANGE: PreparedChange = { mutations: [], done: () => undefined, undo: () => undefined };

type Task = () => void;

/** Collects the mutations, checks and tasks of one commit. Its owner makes the commit, then calls `committed()` or `rollBack()`. */
export class WriteBatch {
  mutations: Mutation[] = [];
  /** What must still hold when the mutations are made. */
  checks: Check[] = [];
  #whenCommitted: Task[] = [];
  #whenFailed: Task[] = [];

  /** Runs `task` after the commit. Tasks run in the order in which they were added. */
  whenCommitted(task: Task): void {
    this.#whenCommitted.push(task);
  }

  /** Runs `task` if the commit fails. The last task runs first, so that each one finds the state that it left. */
  whenFailed(task: Task): void {
    this.#whenFailed.push(task);
  }

  /** The commit is durable. The next commit starts with nothing: a check must not run against the write of this one. */
  committed(): void {
    const tasks = this.#whenCommitted;
    this.#clear();
    for (const task of tasks) task();
  }

  /** Nothing was written: takes memory back. */
  rollBack(): void {
    const tasks = this.#whenFailed;
    this.#clear();
    for (let at = tasks.length - 1; at >= 0; at--) (tasks[at] as Task)();
  }

  /** The lists are replaced and not emptied: the store may still have them. */
  #clear(): void {
    if (this.mutations.length > 0) this.mutations = [];
    if (this.checks.length > 0) this.checks = [];
    if (this.#whenCommitted.length > 0) this.#whenCommitted = [];
    if (this.#whenFailed.length > 0) this.#whenFailed = [];
  }
}
