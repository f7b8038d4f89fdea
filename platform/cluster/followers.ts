// The parts of this process that mirror records of the store in memory. They learn what other nodes changed.

/**
 * Takes over the stored value of a key; `null`: the key was deleted. Synchronous and idempotent. It throws if it cannot read the value, for example
 * because a later version wrote it; what it has then stays usable.
 */
export type ApplyEntry = (entry: Deno.KvEntryMaybe<unknown>) => void;

/**
 * Called after each run that read the changes of other nodes. Memory then has all commits up to the versionstamp `horizon`; entries that were read
 * may be newer. Synchronous. Returns whether it needs another run at once.
 */
export type FinishRun = (horizon: string) => boolean;

interface EntryFollower {
  readonly prefix: Deno.KvKey;
  readonly apply: ApplyEntry;
}

interface GroupFollower {
  readonly prefix: Deno.KvKey;
  /** How many key parts name the group. */
  readonly lengthParts: number;
  readonly changed: (group: Deno.KvKey) => void;
}

/** Who follows which keys. The change log contains only followed keys. */
export class Followers {
  readonly #entries = new Map<Deno.KvKeyPart, EntryFollower[]>();
  readonly #groups = new Map<Deno.KvKeyPart, GroupFollower[]>();
  readonly #finishers: FinishRun[] = [];
  /** Called if an entry cannot be read. */
  onUnreadable: (key: Deno.KvKey, fault: unknown) => void = () => undefined;

  /** Calls `apply` with the entries below `prefix` that other nodes change. Returns a function that ends it. */
  follow(prefix: Deno.KvKey, apply: ApplyEntry): () => void {
    return addTo(this.#entries, prefix, { prefix, apply });
  }

  /** Calls `finish` after each run. */
  onRunEnd(finish: FinishRun): void {
    this.#finishers.push(finish);
  }

  /** Returns whether a follower needs another run. */
  finishRun(horizon: string): boolean {
    let isAgain = false;
    for (const finish of this.#finishers) isAgain = finish(horizon) || isAgain;
    return isAgain;
  }

  /** Calls `changed` with the first `lengthParts` parts of keys below `prefix` that other nodes change. Reads no value. */
  followGroups(prefix: Deno.KvKey, lengthParts: number, changed: GroupFollower["changed"]): void {
    addTo(this.#groups, prefix, { prefix, lengthParts, changed });
  }

  /** The key as the change log contains it: whole, or cut to its group. `null`: no follower has it. */
  loggedKey(key: Deno.KvKey): Deno.KvKey | null {
    const first = key[0] as Deno.KvKeyPart;
    if (this.#entries.get(first)?.some(({ prefix }) => startsWith(key, prefix))) return key;
    const group = this.#groups.get(first)?.find(({ prefix }) => startsWith(key, prefix));
    return group === undefined ? null : key.slice(0, group.lengthParts);
  }

  /** Whether the value of a logged key must be read. */
  needsValue(logged: Deno.KvKey): boolean {
    return this.#entries.get(logged[0] as Deno.KvKeyPart)?.some(({ prefix }) => startsWith(logged, prefix)) ??
      false;
  }

  /** An entry that a follower cannot read, for example one of a later version, must not keep the others from following. */
  apply(entry: Deno.KvEntryMaybe<unknown>): void {
    for (const { prefix, apply } of this.#entries.get(entry.key[0] as Deno.KvKeyPart) ?? []) {
      if (startsWith(entry.key, prefix)) this.tryApply(entry, apply);
    }
  }

  /** The same for an entry that is loaded. */
  tryApply(entry: Deno.KvEntryMaybe<unknown>, apply: ApplyEntry): void {
    try {
      apply(entry);
    } catch (fault) {
      this.onUnreadable(entry.key, fault);
    }
  }

  groupChanged(group: Deno.KvKey): void {
    for (const { prefix, changed } of this.#groups.get(group[0] as Deno.KvKeyPart) ?? []) {
      if (startsWith(group, prefix)) changed(group);
    }
  }
}

/** Returns a function that removes the follower. */
function addTo<T>(map: Map<Deno.KvKeyPart, T[]>, prefix: Deno.KvKey, follower: T): () => void {
  const first = prefix[0];
  if (first === undefined) throw new RangeError("Cannot follow the whole store");
  map.set(first, [...map.get(first) ?? [], follower]);
  return () => void map.set(first, (map.get(first) ?? []).filter((one) => one !== follower));
}

function startsWith(key: Deno.KvKey, prefix: Deno.KvKey): boolean {
  return key.length >= prefix.length && prefix.every((part, at) => key[at] === part);
}
