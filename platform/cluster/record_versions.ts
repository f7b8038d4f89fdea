// The versions of records that are mirrored in memory. A write that was computed from a record fails if another node changed it since.

import { keyText } from "./change_log.ts";

interface Version {
  /** `null`: the record does not exist. */
  versionstamp: string | null;
}

/** What a mutation was computed from. The store checks `before` and fills `after`. */
export interface Basis {
  /** `null`: the mutation depends on nothing. */
  readonly before: Readonly<Version> | null;
  readonly after: Version;
}

/** No record ever has this version, so a write that is based on it fails, and its caller reads the record again. */
const UNKNOWN = "ffffffffffffffffffff";
/** Beyond this number, all versions are forgotten. The next write of each record then reads it again. */
const MAX_RECORDS = 200_000;

/** The basis of a write that is computed from a record that was read from the store. */
export function basisOn(versionstamp: string): Basis {
  return { before: { versionstamp }, after: { versionstamp } };
}

export class RecordVersions {
  readonly #isShared: boolean;
  readonly #versions = new Map<string, Version>();

  /** @param store with one process, nothing is remembered, because no other process changes a record */
  constructor({ isShared }: { readonly isShared: boolean }) {
    this.#isShared = isShared;
  }

  /** The basis of a write that is computed now. Writes of one process may follow each other before the first is durable. */
  basisOf(key: Deno.KvKey): Basis | undefined {
    if (!this.#isShared) return undefined;
    const text = keyText(key);
    const before = this.#versions.get(text) ?? { versionstamp: null };
    return { before, after: this.#next(text) };
  }

  /** For a write that depends on nothing: only the version that it makes is remembered. */
  overwriteOf(key: Deno.KvKey): Basis | undefined {
    return this.#isShared ? { before: null, after: this.#next(keyText(key)) } : undefined;
  }

  /** The version of a record as this node knows it, for a check without a write. */
  known(key: Deno.KvKey): string | null {
    return this.#versions.get(keyText(key))?.versionstamp ?? null;
  }

  /** Takes over the version of a record that was read. */
  apply(key: Deno.KvKey, versionstamp: string | null): void {
    if (!this.#isShared) return;
    const text = keyText(key);
    if (versionstamp === null) this.#versions.delete(text);
    else this.#remember(text, { versionstamp });
  }

  /** The version of a write that is not durable yet. */
  #next(text: string): Version {
    const version = { versionstamp: UNKNOWN };
    this.#remember(text, version);
    return version;
  }

  #remember(text: string, version: Version): void {
    if (this.#versions.size >= MAX_RECORDS) this.#versions.clear();
    this.#versions.set(text, version);
  }
}
