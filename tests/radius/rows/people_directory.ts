// The directory of a test: people in memory, who can be made to be out of it, as the store's are when they were not read lately.

import type { LoginDirectory } from "../../../radius/ports.ts";
import { reducePhoneNumber } from "../../../platform/phone_number.ts";

/** A person as far as a login needs them. */
export interface Person {
  readonly userName: string;
  readonly active: boolean;
  /** `phoneNumbers[].value`, as given. */
  readonly phoneNumbers: readonly string[];
  readonly groups: readonly string[];
}

export interface PeopleDirectory {
  /** What the gateway asks. */
  readonly directory: LoginDirectory;
  /** Creates or replaces; `name` is canonical. */
  put(name: string, person: Person): Promise<void>;
  /** Leaves a tombstone; `false` when no user has that name. */
  remove(name: string): Promise<boolean>;
  /** From now on everybody must be prepared before each look-up; prepared by `prepare`, which waits for what it returns. */
  onPrepare(prepare: ((name: string) => Promise<void>) | null): void;
  /** How often a user had to be prepared. */
  readonly prepared: number;
}

const NO_DETAILS = { phoneNumbers: [], groups: [] } as const;

export function createPeopleDirectory(): PeopleDirectory {
  const people = new Map<string, Person | "deleted">();
  const inMemory = new Set<string>();
  let bring: ((name: string) => Promise<void>) | null = null;
  let prepared = 0;

  /** In memory for the turn in which it was brought, and no longer. */
  const keepShortly = (name: string): void => {
    inMemory.add(name);
    setTimeout(() => inMemory.delete(name), 0);
  };

  return {
    directory: {
      prepare(name) {
        if (bring === null || inMemory.has(name)) return null;
        prepared++;
        return bring(name).then(() => keepShortly(name));
      },
      lookUp(name) {
        if (bring !== null && !inMemory.has(name)) throw new Error(`"${name}" was not prepared`);
        const found = people.get(name) ?? null;
        if (found === null) return { status: "unknown", name, ...NO_DETAILS };
        if (found === "deleted") return { status: "deleted", name, ...NO_DETAILS };
        const phoneNumbers = found.phoneNumbers.flatMap((given) => reducePhoneNumber(given) ?? []);
        return {
          status: found.active ? "active" : "inactive",
          name: found.userName,
          phoneNumbers,
          groups: found.groups,
        };
      },
    },
    put(name, person) {
      people.set(name, person);
      return Promise.resolve();
    },
    remove(name) {
      const known = people.get(name);
      if (known === undefined || known === "deleted") return Promise.resolve(false);
      people.set(name, "deleted");
      return Promise.resolve(true);
    },
    onPrepare(prepare) {
      bring = prepare;
      inMemory.clear();
    },
    get prepared() {
      return prepared;
    },
  };
}
