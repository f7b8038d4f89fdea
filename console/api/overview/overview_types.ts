// Types of the overview API, shared with the page.

import type { SessionView } from "../../../radius/accounting/session.ts";

/** A connector that fails, or that has failed writes. */
export interface SyncProblem {
  readonly target: string;
  readonly backend: string;
  readonly failedWrites: number;
  /** The message of the latest failure; "" if only writes failed. */
  readonly detail: string;
}

/** A VPN session that an administrator must end at the NAS. */
export type ManualSession = Pick<
  SessionView,
  "id" | "user" | "client" | "nas" | "sessionId" | "framedAddress"
>;

/** Counts that are right at `nowMs`: they are in memory, or few records of the store. */
export interface OverviewCounts {
  readonly nowMs: number;
  /** Other nodes use the store. They write their counts of sign-ins every 5 s. */
  readonly isShared: boolean;
  /** Pending approvals of the embedded service, or sign-ins that wait for an external one. */
  readonly pending: { readonly count: number; readonly isEmbedded: boolean };
  /** VPN sessions that users reported and that the gateway could not end; at most five. */
  readonly manualSessions: readonly ManualSession[];
  /** Open alerts that are critical. */
  readonly criticalAlerts: number;
  /** Locked users of the directory; `null` without a directory. */
  readonly locked: LockedUsers | null;
  /** `null` without a gateway. */
  readonly sync: { readonly count: number; readonly items: readonly SyncProblem[] } | null;
}

export interface LockedUsers {
  readonly count: number;
  /** More names are locked than one request reads. */
  readonly isCut: boolean;
  /** The first few, in order of name. */
  readonly names: readonly string[];
}

/** Active users without a second factor. */
export interface FactorlessAnswer {
  readonly nowMs: number;
  /** `null` until the first count ends. */
  readonly count: number | null;
  /** When the count began; `null` until the first count ends. */
  readonly countedMs: number | null;
  /** The count took too long and ended early. */
  readonly isCut: boolean;
  /** A count that is in progress; `null` without one. */
  readonly progress: { readonly counted: number; readonly total: number } | null;
}
