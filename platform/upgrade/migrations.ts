// The numbered formats of the store, and how each one is made of the one before. A program knows the formats up to the last row.

import type { KvMutation } from "../commit_queue.ts";

/** The format of the stores that have no record of their format: those of version 0.2.0. */
export const FIRST_FORMAT = 1;
export const FIRST_VERSION = "0.2.0";

interface StoredEntry {
  readonly key: Deno.KvKey;
  readonly value: unknown;
}

/** A conversion of the entries below a prefix. */
export interface TableMigration {
  readonly prefix: Deno.KvKey;
  /**
   * The changes that give an entry its new form. None if it has that form: after a crash, and while other nodes write, entries are seen
   * again. Pure. A `set` without `expireInMs` expires when the entry does.
   */
  readonly convert: (entry: StoredEntry) => readonly KvMutation[];
}

export interface Migration {
  /** The format that it makes: one more than that of the row before. */
  readonly to: number;
  /** The first version that knows the format. */
  readonly version: string;
  /**
   * The oldest format whose programs may use the store from the beginning of this migration on. If it is `to`, the migration waits until
   * no node of an earlier version runs.
   */
  readonly reader: number;
  /** The entries that it converts. None if the new program reads the old entries, and only the old one cannot read what the new one writes. */
  readonly tables: readonly TableMigration[];
}

/** In this format, the gateway stores logins and settings that version 0.2 misreads: see the first row of {@link MIGRATIONS}. */
export const RELAY_FORMAT = 2;

/** In ascending order, without gaps. A row stays as it is once a version with it was released. */
export const MIGRATIONS: readonly Migration[] = [
  {
    // Version 0.2 reads the fields behind the last answer of a login with EAP one octet too late, and does not know the steps in which
    // the first-factor server asks, or a password is changed. It leaves out a stored list of first-factor servers, and the first factor
    // with it, and serves a client that is known by its certificate by UDP. It does not read the lines of the journal in which one node
    // stores used codes of authenticator apps, so it would accept a code twice.
    to: RELAY_FORMAT,
    version: "0.3.0",
    reader: RELAY_FORMAT,
    tables: [],
  },
];
