// Types of the overview API, shared with the page.

/** A connector that fails, or that has failed writes. */
export interface SyncProblem {
  readonly target: string;
  readonly backend: string;
  readonly failedWrites: number;
  /** The message of the latest failure; "" if only writes failed. */
  readonly detail: string;
}

/** Counts that are in memory, so they are right at `nowMs`. */
export interface OverviewCounts {
  readonly nowMs: number;
  /** Other nodes use the store. They write their counts of sign-ins every 30 s. */
  readonly isShared: boolean;
  /** Pending approvals of the embedded service, or sign-ins that wait for an external one. */
  readonly pending: { readonly count: number; readonly isEmbedded: boolean };
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
