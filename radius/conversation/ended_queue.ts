// The conversations that have ended, so that the one that ended first is removed first.

import type { ConversationTable } from "./conversation_table.ts";

const NONE = -1;

/** Conversations in the order in which they ended. Removed ones are skipped. */
export class EndedQueue {
  readonly #table: ConversationTable;
  #rows: number[] = [];
  #serials: number[] = [];
  #first = 0;

  constructor(table: ConversationTable) {
    this.#table = table;
  }

  push(row: number): void {
    this.#rows.push(row);
    this.#serials.push(this.#table.serial(row));
  }

  /** The row that ended first, or -1. It stays in the queue until it is removed from the table. */
  take(): number {
    this.trim();
    return this.#rows[this.#first] ?? NONE;
  }

  trim(): void {
    while (this.#first < this.#rows.length && !this.#isThere(this.#first)) this.#first++;
    if (this.#first < 1024 || this.#first * 2 < this.#rows.length) return;
    this.#rows = this.#rows.slice(this.#first);
    this.#serials = this.#serials.slice(this.#first);
    this.#first = 0;
  }

  #isThere(at: number): boolean {
    return this.#table.serial(this.#rows[at] as number) === this.#serials[at];
  }
}
