// What the console's API says of deeds on many users, and of imports: types alone, shared with the pages.

export const BULK_ACTIONS = ["activate", "deactivate", "delete", "join", "leave"] as const;
export type BulkAction = typeof BULK_ACTIONS[number];

/** What became of one user. `same`: it was so already. */
export interface JobItem {
  readonly name: string;
  readonly did: "changed" | "same" | "failed";
  /** Why not. */
  readonly detail: string | null;
  /** Backends that get it later; absent: all have it. */
  readonly owes?: readonly string[];
}

/** A deed on many users, while it is done and for a while after. */
export interface JobView {
  readonly id: string;
  readonly action: BulkAction;
  /** The group of `join` and `leave`. */
  readonly group: string | null;
  readonly total: number;
  readonly done: number;
  readonly changed: number;
  readonly same: number;
  readonly failed: number;
  /** `stopped`: the administrator stopped the job; the changes so far remain. */
  readonly state: "running" | "stopped" | "ended";
  /** The administrator stopped the job: it ends after the users that are in progress. */
  readonly isStopping: boolean;
  /** Backends that do not have all of it yet, and of how many users. */
  readonly owed: readonly { readonly backend: string; readonly count: number }[];
  /** Whether what it changed can be taken back. */
  readonly canUndo: boolean;
  /** The first of those that failed. */
  readonly failures: readonly JobItem[];
}

export interface JobItems {
  readonly total: number;
  readonly rows: readonly JobItem[];
}

/** What a deed on many would touch, before it is done. */
export interface BulkPreview {
  readonly count: number;
  /** The first of them. */
  readonly names: readonly string[];
  /** How many of them each backend has. */
  readonly backends: readonly { readonly name: string; readonly count: number }[];
  readonly factors: number;
  readonly memberships: number;
  readonly conversations: number;
}

export const VERDICTS = ["create", "update", "same", "refused", "skipped"] as const;
export type Verdict = typeof VERDICTS[number];

/** One row of a file. */
export interface ImportRow {
  readonly line: number;
  readonly kind: "user" | "group";
  readonly name: string;
  readonly verdict: Verdict;
  /** Why it is refused. */
  readonly reason: string | null;
  /** Under the headers; `null` for a password that is there. */
  readonly cells: readonly (string | null)[];
  /** What became of it, once it was applied. */
  readonly did: "created" | "updated" | "unchanged" | "refused" | null;
  readonly detail: string | null;
  /** What each backend made of it, once it was applied. */
  readonly receipt: readonly { readonly backend: string; readonly outcome: "done" | "queued" }[];
}

/** A file on its way in. */
export interface ImportView {
  readonly id: string;
  readonly file: string;
  readonly target: string;
  readonly backends: readonly { readonly name: string; readonly kind: string; readonly mode: string }[];
  readonly state: "receiving" | "checking" | "checked" | "applying" | "applied";
  readonly done: number;
  readonly total: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly refused: number;
  /** Groups that got members by the rows of users. */
  readonly filledGroups: number;
  /** Why groups were not filled, and why the import stopped. */
  readonly problems: readonly string[];
  readonly headers: readonly string[] | null;
  readonly notes: readonly string[];
  /** Of those that were asked for. */
  readonly matching: number;
  readonly page: number;
  readonly size: number;
  readonly rows: readonly ImportRow[];
}
