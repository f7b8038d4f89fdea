// The directory: the people of one target, as the store keeps them, mirrored in memory so that a login reads no disk. The identity interface
// and the console write through it.

import type { Store } from "../store.ts";

/** A person as far as a login needs them. Names are kept as given and found in canonical form (NFC, lower case). */
export interface Person {
  readonly userName: string;
  readonly active: boolean;
  /** `phoneNumbers[].value`, as given. */
  readonly phoneNumbers: readonly string[];
  readonly groups: readonly string[];
}

/** A deleted person leaves a tombstone, so that their next login is refused until they are created again. */
type Kept = { readonly kind: "person"; readonly person: Person } | {
  readonly kind: "tombstone";
  readonly userName: string;
};

export interface PeopleDirectory {
  /** @param canonicalName NFC, lower case. */
  find(canonicalName: string): Person | "deleted" | null;
  /** Creates or replaces. Durable when it resolves. */
  put(canonicalName: string, person: Person): Promise<void>;
  /** Leaves a tombstone. Durable when it resolves; `false` when nobody has that name. */
  remove(canonicalName: string): Promise<boolean>;
  load(): Promise<number>;
}

/** @param target the directory's name, the `<target_id>` of the identity interface. */
export function createPeopleDirectory({ store, target }: { store: Store; target: string }): PeopleDirectory {
  const people = new Map<string, Kept>();
  const keyOf = (name: string): Deno.KvKey => ["user", target, name];
  const write = async (name: string, kept: Kept): Promise<void> => {
    await store.commit({ mutations: [{ type: "set", key: keyOf(name), value: kept }] });
    people.set(name, kept);
  };
  return {
    find(name) {
      const kept = people.get(name);
      if (kept === undefined) return null;
      return kept.kind === "person" ? kept.person : "deleted";
    },
    put: (name, person) => write(name, { kind: "person", person }),
    async remove(name) {
      const kept = people.get(name);
      if (kept === undefined || kept.kind === "tombstone") return false;
      await write(name, { kind: "tombstone", userName: kept.person.userName });
      return true;
    },
    async load() {
      for await (const { key, value } of store.list<Kept>(["user", target])) {
        const name = key[2];
        if (typeof name === "string" && value !== null) people.set(name, value);
      }
      return people.size;
    },
  };
}
