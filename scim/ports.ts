// The interfaces between the parts of the identity interface, in the words of RFC 7643 and the document. Types only.
//
//   http/ ──► targets/ ──► directory/ ──► the store
//                 └──────► backends/  ──► LDAP, another SCIM server

import type { PasswordHash } from "../password_hasher.ts";
import type { Mutation } from "../store.ts";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export type ResourceKind = "user" | "group";

/** What somebody says of a user; what the server adds (meta, groups, versions) is not in it. */
export interface UserContent {
  readonly kind: "user";
  /** As given, NFC. */
  readonly name: string;
  readonly active: boolean;
  /**
   * SCIM attributes, spelled as the document's table. Always has `name` with `familyName` and `givenName` (texts, maybe empty). Never has
   * schemas, meta, id, userName, active, groups, password; externalId only where the mapping gives it a front-end attribute of its own.
   */
  readonly attributes: JsonObject;
}

/** What somebody says of a group. */
export interface GroupContent {
  readonly kind: "group";
  readonly name: string;
  /** As for a user; never has displayName or members. */
  readonly attributes: JsonObject;
  /** Names as given, each once (compared without case). They need not be users. */
  readonly members: readonly string[];
}

export type Content = UserContent | GroupContent;

/**
 * How one backend stands to one resource. No entry: the backend does not have it and owes nothing.
 * `pending`: an async backend still owes the operation (`why`: what its last attempt met). `failed`: the operation is a dead letter until somebody
 * retries. `vanished`: a refresh no longer found it there.
 */
export interface BackendState {
  readonly state: "present" | "pending" | "failed" | "vanished";
  readonly sinceMs: number;
  /** What is owed; only with `pending` and `failed`. */
  readonly operation?: "put" | "remove";
  readonly why?: string;
  /** What the backend itself calls the resource (a SCIM id, a DN). */
  readonly remoteId?: string;
  /** It holds something else than the resource: its copy (see targets/copies.ts). */
  readonly differs?: true;
  /** What it keeps for itself and has otherwise than the resource: no difference that anybody should end. */
  readonly kept?: JsonObject;
  /** Members of the group that the backend did not store at its last write. */
  readonly notStored?: MembersNotStored;
}

/** Members of a group that a backend did not store, because it does not know the user: how many, and the first names, at most ten. */
export interface MembersNotStored {
  readonly count: number;
  readonly names: readonly string[];
}

/** By the backend's name. */
export type BackendStates = Readonly<Record<string, BackendState>>;

/** A resource as the store has it, which is what GET serves. */
export interface Stored<C extends Content = Content> {
  readonly content: C;
  /** The JSON text of `content.attributes`, where it is at hand: an answer is spliced from it instead of being written out again. */
  readonly attributesText?: string;
  /** Names of the groups that a user is a member of, in order of name; empty for a group. */
  readonly groups: readonly string[];
  readonly backends: BackendStates;
  readonly createdMs: number;
  readonly modifiedMs: number;
  /** Changes with every write of the resource; the ETag. What backends made of it alone changes nothing here. */
  readonly version: string;
  /** Counts what was recorded of its backends since that version; absent: nothing. */
  readonly recorded?: number;
}

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

/** Who asked for a change; it stands in the audit record. */
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

/** `changed`: somebody wrote it since `expected` was read. Nothing was written then. */
export type WriteResult =
  | { readonly ok: true; readonly stored: Stored | null }
  | { readonly ok: false; readonly reason: "changed" };

/** What a leaver leaves behind elsewhere (pairings, conversations), to be taken away in the commit of the leaving. */
export interface Leaving {
  readonly mutations: readonly Mutation[];
  /** Called at once when the commit is durable. Must not throw, must not wait. */
  done(): void;
  /** Called instead when it was not. */
  undo(): void;
}

/** Asked when a user is deleted or stops being active. */
export type PrepareLeaving = (canonicalName: string) => Leaving;

/** Asked when a group begins or is deleted: what was kept for one of its name goes in the commit of that. */
export type PrepareGroupTurn = (canonicalName: string) => Leaving;

/** The resources of one target in the store. Names are taken canonical (canonical_name.ts) where they are called so. */
export interface Directory {
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
  /** Called after each commit that changed a resource, for whoever watches; must not throw. Returns what stops it. */
  observe(observer: (change: { kind: ResourceKind; name: string; deleted: boolean }) => void): () => void;
}

/** Front-end attributes of a resource: what backends other than SCIM know. Values are texts; order is kept. */
export type FrontEnd = ReadonlyMap<string, readonly string[]>;

/** One row of a mapping: `emails[].value` ↔ `mail`. */
export interface MappingRow {
  readonly scim: string;
  readonly frontEnd: string;
}

/** The mapping of one target between SCIM attributes and front-end attributes; see pure/mapping.ts. */
export interface Mapping {
  readonly user: readonly MappingRow[];
  readonly group: readonly MappingRow[];
}

/** What went wrong at a backend. `unsure`: the backend may have done it. `retry`: trying later may help. */
export interface BackendFault {
  readonly kind: "unreachable" | "refused" | "busy" | "nonsense" | "unsupported";
  /** A sentence for an administrator; never a secret. */
  readonly detail: string;
  readonly unsure: boolean;
  readonly retry: boolean;
  readonly retryAfterMs?: number;
}

export type BackendOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: BackendFault };

/** A resource as a backend has it. Attributes that the backend cannot hold are absent. */
export interface Remote {
  readonly content: Content;
  readonly remoteId: string;
}

/** What a backend shall hold. */
export interface Desired {
  readonly content: Content;
  /** In clear, when this write brought one. */
  readonly password?: string;
}

export interface PutResult {
  readonly remoteId: string;
  readonly notStored?: MembersNotStored;
}

/**
 * Where a target's resources live as well. Every method has a deadline of its own and never rejects, but `list` throws a {@link BackendListFault}.
 * `put` and `remove` may be repeated: what is already so is no fault.
 */
export interface Backend {
  readonly name: string;
  readonly kind: "ldap" | "scim";
  readonly mode: "sync" | "async";
  /** Top-level SCIM attributes (besides the name, active, members) that it can hold; `null` for all. */
  readonly covers: ReadonlySet<string> | null;
  /** What of a user it keeps for itself, as pure/kept.ts spells it: read there, never written. Absent: nothing. */
  readonly keeps?: ReadonlySet<string>;
  /** Whether it holds groups at all, and whether it knows `active`. */
  readonly holds: { readonly groups: boolean; readonly active: boolean };
  read(
    kind: ResourceKind,
    name: string,
    hint?: { remoteId?: string },
  ): Promise<BackendOutcome<Remote | null>>;
  /** Makes the backend hold exactly `desired` (as far as it can): creates, or replaces what is there. */
  put(desired: Desired, hint?: { remoteId?: string }): Promise<BackendOutcome<PutResult>>;
  remove(kind: ResourceKind, name: string, hint?: { remoteId?: string }): Promise<BackendOutcome<null>>;
  /** Everything of one kind, in pages. */
  list(kind: ResourceKind): AsyncIterable<readonly Remote[]>;
  /** Checks a user's password by a bind; only LDAP has it. */
  verify?(name: string, password: Uint8Array): Promise<"right" | "wrong" | "unavailable">;
  /** For health: asks for the least. */
  probe(): Promise<BackendOutcome<null>>;
  close(): Promise<void>;
}

/** What happened at each backend that an operation named, in their order. */
export interface Receipt {
  readonly entries: readonly ReceiptEntry[];
}

export interface ReceiptEntry {
  readonly backend: string;
  /** `done`; `queued`: recorded, an outbox delivers it; `failed`; `undone`: had been done and was taken back; `undoing`: taking it back is owed; `untried`. */
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
  /** What of a user nobody changes here (RFC 7643 §2.2 `readOnly`), because every backend keeps it; absent: nothing. */
  readonly readOnly?: ReadonlySet<string>;
  readonly directory: Directory;
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
  /** Reads everything from every backend. One at a time: whoever asks meanwhile waits for the next. */
  refreshAll(
    actor: Actor,
    options?: { readonly onProgress?: (progress: RefreshProgress) => void },
  ): Promise<RefreshReport>;
  /** What backends hold of a resource where that is not what the resource holds; by the backend's name. */
  heldElsewhere(kind: ResourceKind, name: string): Promise<ReadonlyMap<string, Content>>;
  /** Dead letters and what is still owed, oldest first. */
  owed(limit: number): readonly OwedWrite[];
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
export interface OwedWrite {
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
  /** Stops workers and closes connections; what is owed stays in the store. */
  close(): Promise<void>;
}
