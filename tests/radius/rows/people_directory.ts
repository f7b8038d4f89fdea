// The directory of a test: users in memory. They can also be absent from memory, like users of the store without recent
// reads.

import type { LoginDirectory } from "../../../radius/ports.ts";
import { reducePhoneNumber } from "../../../platform/phone_number.ts";

/** A user as far as a login needs them. */
export interface Person {
  readonly userName: string;
  readonly active: boolean;
  /** `phoneNumbers[].value`, unchanged. */
  readonly phoneNumbers: readonly string[];
  readonly groups: readonly string[];
  /** The id of the record. A new record has a new one. */
  readonly id?: string;
}

export interface PeopleDirectory {
  /** The interface of the gateway. */
  readonly directory: LoginDirectory;
  /** Creates or replaces; `name` is canonical. */
  put(name: string, person: Person): Promise<void>;
  /** Leaves a tombstone; `false` when no user has that name. */
  remove(name: string): Promise<boolean>;
  /** From now on each user must be prepared before each lookup; `prepare` prepares, and its promise is awaited. */
  onPrepare(prepare: ((name: string) => Promise<void>) | null): void;
  /** How often a user was prepared. */
  readonly prepared: number;
}

const NO_DETAILS = { phoneNumbers: [], groups: [] } as const;

export function createPeopleDirectory(): PeopleDirectory {
  const people = new Map<string, Person | "deleted">();
  const inMemory = new Set<string>();
  let bring: ((name: string) => Promise<void>) | null = null;
  let prepared = 0;
  let records = 0;

  /** In memory only for the turn in which the user was loaded. */
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
          ...(found.id === undefined ? {} : { id: found.id }),
        };
      },
    },
    put(name, person) {
      const before = people.get(name);
      const { id = `record ${++records}` } = before === "deleted" ? {} : before ?? {};
      people.set(name, { id, ...person });
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
