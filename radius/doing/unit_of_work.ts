// A unit of work: the mutations and checks of one commit, and what memory does when the commit succeeds or fails.

import type { Check, Mutation } from "../../store.ts";

type Task = () => void;

export class UnitOfWork {
  mutations: Mutation[] = [];
  /** What must hold besides the version of the conversation itself. */
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

  /** The commit is durable. The next commit of the same turn starts with nothing: a check must not run against its own write. */
  committed(): void {
    const tasks = this.#whenCommitted;
    this.#clear();
    for (const task of tasks) task();
  }

  /** The commit failed: takes memory back. */
  rollBack(): void {
    const tasks = this.#whenFailed;
    this.#clear();
    for (let at = tasks.length - 1; at >= 0; at--) (tasks[at] as Task)();
  }

  /** Nothing is emptied: the store may still have the lists. */
  #clear(): void {
    if (this.mutations.length > 0) this.mutations = [];
    if (this.checks.length > 0) this.checks = [];
    if (this.#whenCommitted.length > 0) this.#whenCommitted = [];
    if (this.#whenFailed.length > 0) this.#whenFailed = [];
  }
}
