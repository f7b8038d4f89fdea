// Types of the trash API, shared with the pages.

import type { Receipt, TrashEntry } from "../../../scim/ports.ts";

/** A deleted user. */
export interface TrashRow
  extends
    Pick<TrashEntry, "id" | "name" | "displayName" | "active" | "deletedMs" | "actor" | "source" | "cause"> {
  readonly groups: number;
  /** When the user is removed from the trash. */
  readonly expiresMs: number;
  /** The directory has another user with this name now. */
  readonly isTaken: boolean;
}

export interface TrashPage {
  readonly target: string;
  readonly targets: readonly string[];
  /** How long a deleted user can be restored. */
  readonly days: number;
  /** The number of users that the trash keeps. */
  readonly most: number;
  readonly total: number;
  readonly page: number;
  readonly size: number;
  /** Newest first. */
  readonly rows: readonly TrashRow[];
}

/** The result of one user. */
export interface RestoreItem {
  readonly id: string;
  readonly name: string;
  readonly did: "restored" | "failed";
  readonly problem: string | null;
  readonly receipt: Receipt | null;
  readonly groups: readonly string[];
  /** Groups that no longer exist, or were created after the deletion. */
  readonly missingGroups: readonly string[];
  readonly failedGroups: readonly string[];
  /** The embedded store had no password of the user. */
  readonly lacksPassword: boolean;
}
