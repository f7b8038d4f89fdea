// The directory record that a user name belongs to. Invitations, enrolments, links and visits store the id of the record. They become
// invalid if the name gets another record, or if the user is deleted or deactivated, even if reactivated later.
// Also the notices that tell a user about added and removed sign-in methods. A notice is written in the commit of the
// change, and shown on the phone's page and on /me until the user confirms it.

import { canonicalName } from "./canonical_name.ts";
import type { Check, Store } from "./store.ts";
import type { KvMutation } from "./commit_queue.ts";

/** How long the data of a deleted user is kept, so that an administrator can restore it. */
export const DELETED_USER_DAYS = 30;

/** The record that a name belongs to at one time. */
export interface UserRecord {
  /** Changes when the user is removed, and when the name gets another record. */
  readonly id: string;
  /** `unknown`: the directory never had the name. Such a name can have factors. */
  readonly status: "active" | "inactive" | "deleted" | "unknown";
  /** When the directory created the record; `null` without one. */
  readonly createdMs: number | null;
  /** Fails after the user was removed. Add it to the commit that relies on the record. */
  readonly check: Check;
}

/** Finds the record of a name, whatever its spelling. */
export type FindUserRecord = (userName: string) => Promise<UserRecord>;

/** The part of the directory that {@link createUserRecordFinder} needs. Names are canonical. */
export interface RecordDirectory {
  read(canonical: string): Promise<{ readonly createdMs: number; readonly active: boolean } | null>;
  /** Whether the directory had the name earlier. */
  isDeleted(canonical: string): Promise<boolean>;
}

/** The prefix of the removals of all users. */
export function departurePrefix(target: string): Deno.KvKey {
  return ["user_departure", target];
}

/** The key of a user's last removal. */
export function departureKey(target: string, canonical: string): Deno.KvKey {
  return [...departurePrefix(target), canonical];
}

/** The name that a renamed resource has now, under its earlier canonical name. Without a name, the prefix of all. */
export function renamedKey(
  target: string,
  { kind, canonical }: { kind: "user" | "group"; canonical?: string },
): Deno.KvKey {
  return ["renamed", target, kind, ...canonical === undefined ? [] : [canonical]];
}

/** The value under {@link renamedKey}. A later resource with the name removes it. */
export interface RenamedEntry {
  /** Canonical. */
  readonly to: string;
  readonly atMs: number;
}

/** Names that a resource had one after the other. */
const MAX_NAMES = 20;

/**
 * The canonical name that a resource with an earlier name got last. `null`: it was not renamed, or a later resource has the name.
 *
 * @param options.sinceMs renames before this time do not count
 */
export async function findRenamed(
  store: Pick<Store, "get">,
  { target, kind, canonical }: {
    readonly target: string;
    readonly kind: "user" | "group";
    readonly canonical: string;
  },
  { sinceMs = 0 }: { sinceMs?: number } = {},
): Promise<string | null> {
  let name = canonical;
  for (let hops = 0; hops < MAX_NAMES; hops++) {
    const { value } = await store.get<RenamedEntry>(renamedKey(target, { kind, canonical: name }));
    if (value === null || value.atMs < sinceMs) break;
    name = value.to;
  }
  return name === canonical ? null : name;
}

/** Records the removal of a user. Add it to the commit that deletes or deactivates the user; `id` is new each time. */
export function departureMutation(
  { target, user, id }: { target: string; user: string; id: string },
): KvMutation {
  return { type: "set", key: departureKey(target, user), value: id };
}

/** @param deps.target the target whose users sign in. */
export function createUserRecordFinder(
  { store, target, directory }: { store: Store; target: string; directory: RecordDirectory },
): FindUserRecord {
  return async (userName) => {
    const canonical = canonicalName(userName);
    // The departure is read first, so that the check fails if the user is removed between the two reads.
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

/** Whether an invitation, a link or a visit for the record `id` is still valid. */
export function isUsableFor(id: string, record: UserRecord): boolean {
  return id === record.id && (record.status === "active" || record.status === "unknown");
}

export interface UserNotice {
  readonly atMs: number;
  readonly what: "device" | "sms" | "voice" | "totp" | "token" | "recovery_codes" | "bypass";
  /** The factor was removed. Absent: it was added. */
  readonly isRemoved?: true;
  /** `self`: on the user's own page. `phone`: with an invitation. */
  readonly by: "administrator" | "self" | "phone";
  /** The directory record that the notice is about. */
  readonly recordId: string;
  /** The phone that was added. Its own page does not show the notice. */
  readonly pairingId?: string;
}

const RETENTION_MS = 30 * 24 * 3600_000;
const TIME_CHARACTERS = 11;

/** The prefix of a user's notices, oldest first. */
export function userNoticePrefix(userName: string): Deno.KvKey {
  return ["user_notice", canonicalName(userName)];
}

/** @param id distinguishes notices of the same millisecond. */
export function userNotice(userName: string, notice: UserNotice, id: string): KvMutation {
  const time = notice.atMs.toString(36).padStart(TIME_CHARACTERS, "0");
  return {
    type: "set",
    key: [...userNoticePrefix(userName), `${time}${id}`],
    value: notice,
    expireInMs: RETENTION_MS,
  };
}
