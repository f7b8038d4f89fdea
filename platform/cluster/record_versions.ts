// The versions of records that are mirrored in memory. A write that was computed from a record fails if another node changed it since.

import { keyText } from "./change_log.ts";

interface Version {
  /** `null`: the record does not exist. */
  versionstamp: string | null;
}

/** What a mutation was computed from. The store checks `before` and fills `after`. */
export interface Basis {
  readonly before: Readonly<Version>;
  readonly after: Version;
}

/** No record ever has this version, so a write that is based on it fails, and its caller reads the record again. */
const UNKNOWN = "ffffffffffffffffffff";
/** Beyond this number, all versions are forgotten. The next write of each record then reads it again. */
const MAX_RECORDS = 200_000;

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
    const after: Version = { versionstamp: UNKNOWN };
    this.#remember(text, after);
    return { before, after };
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

  /** The record was written without a basis. */
  forget(key: Deno.KvKey): void {
    if (!this.#isShared) return;
    this.#remember(keyText(key), { versionstamp: UNKNOWN });
  }

  #remember(text: string, version: Version): void {
    if (this.#versions.size >= MAX_RECORDS) this.#versions.clear();
    this.#versions.set(text, version);
  }
}
