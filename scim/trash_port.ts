// The interface of the trash: deleted users of a target that an administrator can restore. Types only.

import type { PasswordHash } from "../platform/password_hasher.ts";
import type { Mutation } from "../platform/store.ts";
import type { UserContent } from "./schema/resource.ts";

/** Why a user was deleted. `vanished`: no backend had the user any more. */
export interface Deletion {
  readonly actor: { readonly name: string; readonly source: string };
  readonly cause: "deleted" | "vanished";
}

/** A deleted user, for a list. */
export interface TrashEntry {
  readonly id: string;
  readonly name: string;
  readonly displayName: string;
  readonly active: boolean;
  readonly groupCount: number;
  /** The backends that had the user. */
  readonly backends: readonly string[];
  /** Milliseconds since the epoch. */
  readonly deletedMs: number;
  /** As in the audit log: `scim:hr`. */
  readonly actor: string;
  readonly source: string;
  readonly cause: Deletion["cause"];
  /** The embedded store had a password of the user, and a restore brings it back. */
  readonly hasPassword: boolean;
}

/** A deleted user with everything that a restore needs. */
export interface TrashedUser {
  readonly entry: TrashEntry;
  readonly content: UserContent;
  /** The names of the groups. */
  readonly groups: readonly string[];
  readonly password: PasswordHash | null;
}

/** The deleted users of a target. */
export interface UserTrash {
  /** How long a deleted user can be restored. */
  readonly days: number;
  /** The number of deleted users that are kept. The oldest are removed first. */
  readonly maxEntries: number;
  /** Newest first. */
  list(): AsyncIterable<TrashEntry>;
  read(id: string): Promise<TrashedUser | null>;
  /** The mutations that remove an entry; `null` if it does not exist. */
  removal(id: string): Promise<Mutation[] | null>;
}
