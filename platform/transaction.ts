// A transaction of Deno KV as it is queued for a commit, and what the commit resolves with.

import type { KvMutation } from "./mutation.ts";

/** Changes that are made together or not at all; the audit events in them are complete records. */
export interface KvTransaction {
  readonly checks?: readonly Deno.AtomicCheck[];
  readonly mutations: readonly KvMutation[];
  /** About how much the values take, when they are not small: Deno KV refuses over 800 KiB an atomic operation. */
  readonly sizeOctets?: number;
  /**
   * One line for the journal: a record that is new and small and may be among very many. Lines of one batch share a value, which
   * makes each about ten times cheaper than a key of its own.
   */
  readonly journal?: JournalLine;
}

export interface JournalLine {
  /** Without a line end; at most 20,000 characters. */
  readonly text: string;
  readonly expireInMs: number;
}

/** `raced`: a check did not hold any more, and nothing was changed. */
export type CommitOutcome = { ok: true; versionstamp: string } | { ok: false; reason: "raced" };
