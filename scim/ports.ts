// The interfaces of the directory and of the targets, in the words of RFC 7643 and the document. Types only.
//
//   http/ ──► targets/ ──► directory/ ──► the store
//                 └──────► backends/  ──► LDAP, another SCIM server (backend_port.ts)

import type { PasswordHash } from "../platform/password_hasher.ts";
import type { PreparedChange } from "../platform/write_batch.ts";
import type { Mutation } from "../platform/store.ts";
import type { BackendFault } from "./backend_port.ts";
import type {
  BackendStates,
  Content,
  Mapping,
  MembersNotStored,
  ResourceKind,
  Stored,
} from "./schema/resource.ts";

/** A page of resources in order of canonical name. `startIndex` counts from 1. */
export interface Page {
  readonly total: number;
  readonly startIndex: number;
  readonly resources: readonly Stored[];
}

export interface PageOptions {
  /** From 1. */
  readonly page: number;
  readonly size: number;
}

/** Why a search gives no page. */
export type SearchProblem =
  /** More candidates than may be looked at for one request (RFC 7644 §3.12 `tooMany`). */
  | { readonly kind: "tooMany"; readonly detail: string }
  /** It parses as a filter, but names what no resource has. */
  | { readonly kind: "invalidFilter"; readonly detail: string };

export type SearchOutcome =
  | { readonly ok: true; readonly page: Page }
  | { readonly ok: false; readonly problem: SearchProblem };

/** Who requested a change, for the audit record. */
export interface Actor {
  /** `scim:<credential>`, `console:<administrator>`, `command`, `refresh`. */
  readonly name: string;
  /** The address that the request came from, or empty. */
  readonly source: string;
}

/** One person as a login needs them. */
export interface LoginUser {
  readonly status: "active" | "inactive" | "deleted" | "unknown";
  /** As the directory keeps it; for an unknown user the name as it was asked for. */
  readonly name: string;
  /** `phoneNumbers[].value`, as given. */
  readonly phoneNumbers: readonly string[];
  readonly groups: readonly string[];
}

/** One write of one resource, as targets/ decided it; the directory keeps its indexes, memberships and tombstones in step. */
export interface DirectoryWrite {
  readonly kind: ResourceKind;
  /** The resource's name, as given. */
  readonly name: string;
  /** The version that the writer read; `null` when the resource must not exist. */
  readonly expected: string | null;
  /** `null` deletes: a tombstone stays, memberships, password and pairings go. */
  readonly next: { readonly content: Content; readonly backends: BackendStates } | null;
  /** {@link Stored.recorded} as the writer read it; absent where the writer does not say what its backends are from what it read. */
  readonly recorded?: number | undefined;
  /** The content is what it was: only what backends made of it changes, so version and times stand. */
  readonly statesOnly?: boolean;
  /** A new password hash; absent keeps the old one. */
  readonly password?: PasswordHash;
  /** What else belongs into the same commit: audit, outbox, copies. */
  readonly also?: readonly Mutation[];
}

/** `changed`: another request wrote it since `expected` was read. Nothing was written then. */
export type WriteResult =
  | { readonly ok: true; readonly stored: Stored | null }
  | { readonly ok: false; readonly reason: "changed" };

/** Asked when a user is deleted or stops being active: pairings and conversations go in the commit of that. */
export type PrepareOffboarding = (canonicalName: string) => PreparedChange;

/** Asked when a group begins or is deleted: what was kept for one of its name goes in the commit of that. */
export type PrepareGroupCleanup = (canonicalName: string) => PreparedChange;

/** The resources of one target in the store. Names are taken canonical (platform/canonical_name.ts) where they are called so. */
export interface TargetDirectory {
  readonly target: string;
  read(kind: ResourceKind, canonical: string): Promise<Stored | null>;
  readPassword(canonical: string): Promise<PasswordHash | null>;
  page(kind: ResourceKind, options: PageOptions): Promise<Page>;
  /** `q` as the document's parameter: words, or an RFC 7644 filter when it parses as one. */
  search(kind: ResourceKind, q: string, options: PageOptions): Promise<SearchOutcome>;
  count(kind: ResourceKind): number;
  /** Everything, in order of name, read in bounded steps; for export and refresh, never for a request's answer. */
  all(kind: ResourceKind): AsyncIterable<Stored>;
  /** One write, all or nothing, durable when it resolves. Rejects only when the store fails. */
  write(write: DirectoryWrite): Promise<WriteResult>;
  /** Many writes in as few commits as they fit in; each is all or nothing, in order. */
  writeMany(writes: readonly DirectoryWrite[]): Promise<WriteResult[]>;
  /** Adds and removes members of a group; the cost does not depend on the group's size. `changed` when there is no such group. */
  changeMembers(
    change: {
      readonly group: string;
      readonly add: readonly string[];
      readonly remove: readonly string[];
      readonly also?: (added: readonly string[], removed: readonly string[]) => readonly Mutation[];
    },
  ): Promise<WriteResult>;
  /** What a login needs. Only after `prepareLogin` said `null` or its promise resolved. */
  login(canonical: string): LoginUser;
  /** Brings what `login` needs into memory: `null` when it is there already, which is nearly always. */
  prepareLogin(canonical: string): Promise<void> | null;
  /** Calls the observer after each commit that changed a resource; it must not throw. Returns the function that removes it. */
  observe(observer: (change: { kind: ResourceKind; name: string; deleted: boolean }) => void): () => void;
}

/** What happened at each backend that an operation named, in their order. */
export interface Receipt {
  readonly entries: readonly ReceiptEntry[];
}

export interface ReceiptEntry {
  readonly backend: string;
  /** `done`; `queued`: recorded, an outbox delivers it; `failed`; `undone`: had been done and was taken back; `undoing`: the undoing is pending; `untried`. */
  readonly outcome: "done" | "queued" | "failed" | "undone" | "undoing" | "untried";
  readonly detail?: string;
  /** With `done`: members of the group that the backend did not store. */
  readonly notStored?: MembersNotStored;
}

/** What an operation of a target gives: the resource as it is now (`null` when it is gone), and the receipt. */
export interface Written {
  readonly stored: Stored | null;
  readonly receipt: Receipt;
}

export interface WriteOptions {
  readonly actor: Actor;
  /** Names of backends; absent for all of the target. */
  readonly backends?: readonly string[];
  /** In clear, when the body brought one. */
  readonly password?: string;
  /** Acts only when the resource stands at this version (If-Match); else the refusal `precondition`. */
  readonly ifVersion?: string;
}

export interface BackendInfo {
  readonly name: string;
  /** What of a user it keeps for itself, by the names that people know; absent: nothing. */
  readonly keeps?: readonly string[];
  readonly kind: "store" | "ldap" | "scim";
  readonly mode: "sync" | "async";
}

/** One target: its directory, and what writing to it means. Operations throw a {@link ScimRefusal} (facts/refusals.ts) for what they will not do. */
export interface Target {
  readonly name: string;
  /** Users sign in from this target, so that the phone numbers of its users are factors. */
  readonly isLoginTarget?: boolean;
  readonly pageSize: number;
  readonly backends: readonly BackendInfo[];
  readonly mapping: Mapping;
  /** Attributes of a user that are read-only here (RFC 7643 §2.2 `readOnly`), because every backend keeps them; absent: none. */
  readonly readOnly?: ReadonlySet<string>;
  readonly directory: TargetDirectory;
  create(content: Content, options: WriteOptions): Promise<Written>;
  /** `content.name` names the resource; its spelling may change, its canonical form may not. */
  replace(content: Content, options: WriteOptions): Promise<Written>;
  remove(kind: ResourceKind, name: string, options: WriteOptions): Promise<Written>;
  changeMembers(
    group: string,
    change: { readonly add: readonly string[]; readonly remove: readonly string[] },
    options: WriteOptions,
  ): Promise<Written>;
  /** Reads one resource from every backend and brings the store up to date; resolves with what GET then serves. */
  refreshOne(kind: ResourceKind, name: string, actor: Actor): Promise<Stored | null>;
  /** Reads everything from every backend. One at a time: callers during a run share the next one. */
  refreshAll(
    actor: Actor,
    options?: { readonly onProgress?: (progress: RefreshProgress) => void },
  ): Promise<RefreshReport>;
  /** What backends hold of a resource where that is not what the resource holds; by the backend's name. */
  heldElsewhere(kind: ResourceKind, name: string): Promise<ReadonlyMap<string, Content>>;
  /** Dead letters and what is still owed, oldest first. */
  pendingWrites(limit: number): readonly PendingWrite[];
  /** Tries dead letters again; returns how many. */
  retryDeadLetters(options: { readonly backend?: string }): Promise<number>;
}

export interface RefreshProgress {
  readonly backend: string;
  readonly kind: ResourceKind;
  readonly read: number;
}

export interface RefreshReport {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly vanished: number;
  readonly deleted: number;
  /** A backend that could not be read, or that the brake stopped, with the reason. The others were brought up to date. */
  readonly faults: readonly {
    readonly backend: string;
    readonly detail: string;
    /** What kind of fault; absent: it could not be reached. `left_out`: entries that cannot be resources here; all others are up to date. */
    readonly kind?: BackendFault["kind"] | "brake" | "left_out";
  }[];
  readonly tookMs: number;
}

/** One entry of the outbox as it is shown. */
export interface PendingWrite {
  readonly id: string;
  readonly backend: string;
  readonly kind: ResourceKind;
  readonly name: string;
  readonly operation: "put" | "remove";
  readonly attempts: number;
  readonly sinceMs: number;
  /** `null` for a dead letter. */
  readonly nextMs: number | null;
  readonly why: string | null;
}

/** All targets of the settings. */
export interface Targets {
  get(name: string): Target | null;
  readonly names: readonly string[];
  /** Stops workers and closes connections; pending writes stay in the store. */
  close(): Promise<void>;
}
