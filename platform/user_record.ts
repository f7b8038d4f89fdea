// Which record of the directory a user name belongs to. An invitation, a started enrolment, a link and a visit store the id of that record. They are
// void once the name belongs to another record, or once the user left: was deleted or deactivated, even if the same user is active again.

import { canonicalName } from "./canonical_name.ts";
import type { Check, Mutation, Store } from "./store.ts";

/** The record that a name belongs to at one time. */
export interface UserRecord {
  /** Changes when the user leaves, and when the name gets another record. */
  readonly id: string;
  /** `unknown`: the directory never had the name. Such a name may have factors. */
  readonly status: "active" | "inactive" | "deleted" | "unknown";
  /** When the directory created the record; `null` without one. */
  readonly createdMs: number | null;
  /** Holds until the user leaves: add it to the commit that relies on the record. */
  readonly check: Check;
}

/** Finds the record of a name, in any spelling. */
export type FindUserRecord = (userName: string) => Promise<UserRecord>;

/** What {@link createUserRecords} needs of the directory. Names are canonical. */
export interface RecordDirectory {
  read(canonical: string): Promise<{ readonly createdMs: number; readonly active: boolean } | null>;
  /** Whether the directory had the name once. */
  isDeleted(canonical: string): Promise<boolean>;
}

const departureKey = (target: string, canonical: string): Deno.KvKey => ["user_departure", target, canonical];

/** Marks that a user left; it belongs into the commit that deletes or deactivates the user. `id` is a new one each time. */
export function departureMutation(
  { target, user, id }: { target: string; user: string; id: string },
): Mutation {
  return { type: "set", key: departureKey(target, user), value: id };
}

/** @param deps.target the directory whose users sign in. */
export function createUserRecords(
  { store, target, directory }: { store: Store; target: string; directory: RecordDirectory },
): FindUserRecord {
  return async (userName) => {
    const canonical = canonicalName(userName);
    // The departure is read first: a user who leaves in between fails the check.
    const { key, value: departure, versionstamp } = await store.get<string>(departureKey(target, canonical));
    const record = await directory.read(canonical);
    const createdMs = record?.createdMs ?? null;
    return {
      id: `${createdMs ?? "none"}.${departure ?? "none"}`,
      status: record === null
        ? await directory.isDeleted(canonical) ? "deleted" : "unknown"
        : record.active
        ? "active"
        : "inactive",
      createdMs,
      check: { key, versionstamp },
    };
  };
}

/** Whether what was issued for the record `id` may still be used. */
export function isUsableFor(id: string | undefined, record: UserRecord): boolean {
  return id === record.id && (record.status === "active" || record.status === "unknown");
}
