// Which users ever had a factor. A mark is written in the commit that adds a factor, and stays when the last factor is removed: an attacker
// with a password must not add a factor in place of one that was lost.

import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import { NO_CHANGE, type PreparedRename, type UnversionedChange } from "../../platform/write_batch.ts";
import type { DirectoryUser, LoginDirectory } from "../ports.ts";

interface FactorMarksDeps {
  readonly store: Store;
  readonly target: string;
  /** The id of the directory record of a user (canonical name); `null` if there is none, or it is not in memory. */
  readonly recordIdOf: (user: string) => string | null;
}

/** The id of a user's directory record, for {@link FactorMarksDeps}. */
export function recordIdIn(directory: Pick<LoginDirectory, "lookUp">, user: string): string | null {
  try {
    return directory.lookUp(user).id ?? null;
  } catch {
    // The directory does not have the user in memory. The name is marked instead.
    return null;
  }
}

/** What a mark is about: a record of the directory, which keeps its id when it is renamed or restored, or a name without a record. */
type MarkKind = "record" | "name";

export class FactorMarks {
  readonly #deps: FactorMarksDeps;
  readonly #marked = { record: new Set<string>(), name: new Set<string>() };

  constructor(deps: FactorMarksDeps) {
    this.#deps = deps;
    deps.store.follow(this.#prefix(), (entry) => this.#apply(entry));
  }

  async load(): Promise<void> {
    await this.#deps.store.load(this.#prefix(), (entry) => this.#apply(entry));
  }

  /** Whether the user ever had a factor. @param user canonical @param record absent: the one in memory */
  has(user: string, record?: Pick<DirectoryUser, "id">): boolean {
    const id = record === undefined ? this.#deps.recordIdOf(user) : record.id ?? null;
    return (id !== null && this.#marked.record.has(id)) || this.#marked.name.has(user);
  }

  /** Prepares the mark of a user who gets a factor. @param user canonical */
  prepare(user: string): UnversionedChange {
    const id = this.#deps.recordIdOf(user);
    const [kind, of]: [MarkKind, string] = id === null ? ["name", user] : ["record", id];
    const marked = this.#marked[kind];
    if (marked.has(of)) return NO_CHANGE;
    return {
      mutations: [{ type: "set", key: this.#keyOf(kind, of), value: true }],
      done: () => void marked.add(of),
      undo: () => undefined,
    };
  }

  /** Prepares the move of the mark of a name to another name. The mark of a record needs none. */
  prepareRename(from: string, to: string): PreparedRename {
    const { name } = this.#marked;
    if (!name.has(from)) return NO_CHANGE;
    const mutations: Mutation[] = [
      { type: "delete", key: this.#keyOf("name", from) },
      { type: "set", key: this.#keyOf("name", to), value: true },
    ];
    const done = () => void name.add(to).delete(from);
    return { mutations, done, undo: () => undefined };
  }

  #prefix(): Deno.KvKey {
    return ["had_factor", this.#deps.target];
  }

  #keyOf(kind: MarkKind, of: string): Deno.KvKey {
    return [...this.#prefix(), kind, of];
  }

  #apply({ key: [, , kind, of], value }: StoreEntry<unknown>): void {
    if (typeof of !== "string" || (kind !== "record" && kind !== "name")) return;
    if (value === null) this.#marked[kind].delete(of);
    else this.#marked[kind].add(of);
  }
}
