// The interfaces of the directory and of the targets, in the terms of RFC 7643. Types only.
//
//   http/ ──► provisioning/ ──► directory/ ──► the store
//                 └───────────► backends/  ──► LDAP, another SCIM server (backend_port.ts)

import type { PasswordHash } from "../platform/password_hasher.ts";
import type { PreparedChange } from "../platform/write_batch.ts";
import type { Mutation } from "../platform/store.ts";
import type { PendingWrite, RefreshProgress, RefreshReport } from "./backend_port.ts";
import type {
  BackendStates,
  Content,
  Mapping,
  MembersNotStored,
  ResourceKind,
  Stored,
  UserContent,
} from "./schema/resource.ts";

/** A page of resources in order of canonical name. `startIndex` counts from 1. */
export interface Page {
  readonly total: number;
  readonly startIndex: number;
  readonly resources: readonly Stored[];
}

/** `page` counts from 1. */
export interface PageOptions {
  readonly page: number;
  readonly size: number;
  /** The last name first. A search ignores this. */
  readonly isReverse?: boolean;
}

/** Why a search returns no page. */
type SearchProblem =
  /** The search would read more resources than one request may read (RFC 7644 §3.12 `tooMany`). */
  | { readonly kind: "tooMany"; readonly detail: string }
  /** It is a valid filter, but names an attribute that no resource has. */
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

/** A user, with the data that a login needs. */
export interface LoginUser {
  readonly status: "active" | "inactive" | "deleted" | "unknown";
  /** As stored. For an unknown user, the name in the request. */
  readonly name: string;
  /** `phoneNumbers[].value`, as given. */
  readonly phoneNumbers: readonly string[];
  readonly groups: readonly string[];
  /** The groups, then the groups that contain them, directly or through others. Absent: no group contains them. */
  readonly allGroups?: readonly string[];
  /** The id of the record. Absent: the directory has no record. */
  readonly id?: string;
  /** The values of `radius.reply.from_directory`, by the reply attribute. Absent: none. */
  readonly replies?: Readonly<Record<string, readonly string[]>>;
}

/** One write of one resource, planned by provisioning/. The directory also updates its indexes, memberships and tombstones. */
export interface DirectoryWrite {
  readonly kind: ResourceKind;
  /** The resource's name, as given. */
  readonly name: string;
  /** The version that the writer read. `null`: the resource must not exist. */
  readonly expected: string | null;
  /** `null` deletes the resource, with its memberships, its password and its pairings. A tombstone remains. */
  readonly next:
    | {
      readonly content: Content;
      readonly backends: BackendStates;
      /** `null` removes it. Absent: the stored one stays. */
      readonly externalId?: string | null;
      /** The connection that provisions the resource from now on. Absent: the stored one stays. */
      readonly managedBy?: string;
      /** Responses to providers have no `active` from now on. Absent: they have it. */
      readonly activeUnassigned?: boolean;
    }
    | null;
  /** {@link Stored.recorded} as the writer read it. Absent: the new backend states do not depend on the states that were read. */
  readonly recorded?: number | undefined;
  /** Only the backend states change. The content, the version and the times stay. */
  readonly statesOnly?: boolean;
  /** A new password hash. Absent: the stored hash stays. */
  readonly password?: PasswordHash;
  /** More mutations for the same commit: audit, outbox, copies. */
  readonly also?: readonly Mutation[];
  /** With `next: null` for a user: who deletes it, for the trash. */
  readonly deletion?: Deletion;
  /** The users whose names `next` has as members. If one of them has another name since, the write is refused. */
  readonly users?: GroupMemberChange["users"];
  /** The write creates this user of the trash again: the entry is removed, and the user joins the groups that exist. */
  readonly restores?: { readonly id: string; readonly groups: readonly string[] };
}

/** `changed`: another request wrote the resource after `expected` was read, so this write did nothing. */
export type WriteResult = Done | { readonly ok: false; readonly reason: "changed" };

interface Done {
  readonly ok: true;
  readonly stored: Stored | null;
  /** The id of the deleted user in the trash. */
  readonly trashed?: string;
}

/** One resource that gets another name, with its new content. A change of spelling only is a {@link DirectoryWrite}. */
export interface DirectoryRename
  extends Pick<DirectoryWrite, "kind" | "recorded" | "password" | "users" | "also"> {
  /** The name until now. The new one is that of the content. */
  readonly from: string;
  readonly expected: string;
  readonly next: NonNullable<DirectoryWrite["next"]>;
}

/** `taken`: another resource has the new name. */
export type RenameResult = Done | { readonly ok: false; readonly reason: "changed" | "taken" };

/** Members that join and leave a group, by name. */
export interface GroupMemberChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** The users whose names the change has. If one of them has another name since, the change is refused. */
  readonly users?: readonly { readonly id: string; readonly name: string }[] | undefined;
}

/** A change of the members of one group. */
export interface MembersUpdate extends GroupMemberChange {
  readonly group: string;
  readonly id?: string | undefined;
  /** More mutations of the same commit, from the new members and the removed members. */
  readonly also?: (added: readonly string[], removed: readonly string[]) => readonly Mutation[];
}

/** Called when a user is deleted or deactivated. The changes for pairings and conversations join the commit. */
export type PrepareOffboarding = (canonicalName: string) => PreparedChange;

/** Called when the password or a phone number of a user changes. The changes for remembered devices join the commit. */
export type PrepareForgetDevices = (canonicalName: string) => PreparedChange;

/** Called when a group is created or deleted. The changes for earlier data under that name join the commit. */
export type PrepareGroupCleanup = (canonicalName: string) => PreparedChange;

/** A change of a resource, for observers. */
export interface ResourceChange {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly deleted: boolean;
  /** The name that the resource had until now. */
  readonly renamedFrom?: string;
  /** The name that the resource has from now on. The change says that the earlier name is deleted. */
  readonly renamedTo?: string;
  /** Another node wrote it. */
  readonly isRemote?: true;
}

/** What the directory has under the name of a user or group besides the resource. */
export interface NameTraces {
  /** When a user with the name was deleted last, or got another name; `null`: never, or the newest user still has the name. */
  readonly leftMs: number | null;
  /** The canonical names of the groups that list the name as a member, and of those that contain these groups. */
  readonly groups: readonly string[];
}

/** The resources of one target in the store. Parameters named `canonical` take a canonical name (platform/canonical_name.ts). */
export interface TargetDirectory {
  readonly target: string;
  readonly trash: UserTrash;
  readonly indexes: ResourceIndexes;
  read(kind: ResourceKind, canonical: string): Promise<Stored | null>;
  /** The resource with an id. */
  readById(kind: ResourceKind, id: string): Promise<Stored | null>;
  /** As `readById`. A group has no members here, and its version does not count them, so the cost does not depend on their number. */
  readHeadById(kind: ResourceKind, id: string): Promise<Stored | null>;
  /** The ids of resources, in the order of the names. `null`: no resource has the name. */
  readIds(kind: ResourceKind, names: readonly string[]): Promise<(string | null)[]>;
  /** Whether no update that takes several commits is in progress. Otherwise a group can still have a user who was deleted. */
  isSettled(): Promise<boolean>;
  readPassword(canonical: string): Promise<PasswordHash | null>;
  /** What a new resource with a name would take over from before. Names in groups may be those of groups. */
  readTraces(canonical: string): Promise<NameTraces>;
  page(kind: ResourceKind, options: PageOptions): Promise<Page>;
  /** Reads users as texts of responses. Make it for each request, before its first read. */
  render(renderer: UserRenderer): RenderedReads;
  /** `q` is the query parameter of the interface: an RFC 7644 filter if it parses as one, otherwise words. */
  search(kind: ResourceKind, q: string, options: PageOptions): Promise<SearchOutcome>;
  count(kind: ResourceKind): number;
  /** All resources in order of name, read in batches. For export and refresh only, not for responses. */
  all(kind: ResourceKind): AsyncIterable<Stored>;
  /** Writes one resource, all or nothing. The write is durable when the promise resolves. Rejects only if the store fails. */
  write(write: DirectoryWrite): Promise<WriteResult>;
  /** As `write`, but planned from the resource when its turn comes, so that it is read once. Rejects as `plan` does; then nothing was written. */
  writePlanned(
    resource: { readonly kind: ResourceKind; readonly name: string },
    plan: (stored: Stored | null) => Promise<DirectoryWrite>,
  ): Promise<WriteResult>;
  /** Gives a resource another name. It keeps its id, its memberships, its password, and what other modules store for it. */
  rename(rename: DirectoryRename): Promise<RenameResult>;
  /** The canonical name that a resource with an earlier name got last; `null` if it was not renamed, or a later resource has the name. */
  renamedTo(kind: ResourceKind, canonical: string): Promise<string | null>;
  /** Many writes, in order and in as few commits as possible. Each write is all or nothing. */
  writeMany(writes: readonly DirectoryWrite[]): Promise<WriteResult[]>;
  /** Adds and removes members of a group. The cost does not depend on the size of the group. `changed` if the group does not exist. */
  changeMembers(change: MembersUpdate): Promise<WriteResult>;
  /** The data that a login needs. Call it only after `prepareLogin` returned `null` or its promise resolved. */
  login(canonical: string): LoginUser;
  /** Loads the data that `login` needs into memory. `null` if memory has it already, which is the normal case. */
  prepareLogin(canonical: string): Promise<void> | null;
  /**
   * Calls the observer after each commit that changed a resource, also for commits of other nodes (`isRemote`; the name of a deleted resource is then
   * canonical). The observer must not throw. Returns a function that removes it.
   */
  observe(observer: (change: ResourceChange) => void): () => void;
}

/** The outcome at each backend that an operation named, in the order of the target's list. */
export interface Receipt {
  readonly entries: readonly ReceiptEntry[];
}

export interface ReceiptEntry {
  readonly backend: string;
  /** `queued`: recorded, and the outbox delivers it. `undone`: done, then rolled back. `undoing`: the rollback is pending. `untried`: not called. `read_only`: left as it is. */
  readonly outcome: "done" | "queued" | "failed" | "undone" | "undoing" | "untried" | "read_only";
  readonly detail?: string;
  /** With `done`: members of the group that the backend did not store. */
  readonly notStored?: MembersNotStored;
}

/** The result of an operation of a target: the resource as it is now (`null`: it does not exist), and the receipt. */
export interface Written {
  readonly stored: Stored | null;
  readonly receipt: Receipt;
  /** The id of a deleted user in the trash. */
  readonly trashed?: string;
}

/** A user who was restored from the trash. */
export interface RestoredUser extends Written {
  readonly groups: readonly string[];
  /** Groups that no longer exist, or were created after the deletion. */
  readonly missingGroups: readonly string[];
  /** Groups that refused the user. */
  readonly failedGroups: readonly string[];
}

export interface WriteOptions {
  readonly actor: Actor;
  /** Names of backends. Absent: all backends of the target. */
  readonly backends?: readonly string[];
  /** In clear, if the body has one. */
  readonly password?: string;
  /** `null` removes it. Absent: the stored one stays. */
  readonly externalId?: string | null;
  /** The connection that provisions the resource from now on. Absent: the stored one stays. */
  readonly managedBy?: string;
  /** Responses to providers have no `active` from now on. Absent: they have it. */
  readonly activeUnassigned?: boolean;
  /** The operation runs only if the resource has this version (If-Match). Otherwise it throws the refusal `precondition`. */
  readonly ifVersion?: string;
  /** The operation runs only if the name still belongs to this resource. Otherwise it throws the refusal `changed`. */
  readonly ifId?: string;
  /** See {@link DirectoryWrite.users}. Otherwise it throws the refusal `changed`. */
  readonly users?: GroupMemberChange["users"];
}

export interface BackendInfo {
  readonly name: string;
  /** The read-only attributes of users at this backend, by their display names. Absent: none. */
  readonly keeps?: readonly string[];
  readonly kind: "store" | "ldap" | "scim";
  readonly mode: "sync" | "async";
  /** The gateway must not write there (`access = "read"`). Absent: it may. */
  readonly isReadOnly?: true;
}

/** One target: its directory, and its operations. An operation throws a {@link ScimRefusal} (http/refusals.ts) if it refuses a request. */
export interface Target {
  readonly name: string;
  /** Users sign in from this target, so the phone numbers of its users are factors. */
  readonly isLoginTarget?: boolean;
  readonly pageSize: number;
  readonly backends: readonly BackendInfo[];
  readonly mapping: Mapping;
  /** Attributes of a user that are read-only (RFC 7643 §2.2 `readOnly`), because they are read-only at every backend. Absent: none. */
  readonly readOnly?: ReadonlySet<string>;
  readonly directory: TargetDirectory;
  create(content: Content, options: WriteOptions): Promise<Written>;
  /** `content.name` names the resource. Its spelling may change, but its canonical form may not. */
  replace(content: Content, options: WriteOptions): Promise<Written>;
  /**
   * Replaces the resource `from` by `content`, which has another name, in one step. It keeps its id. All backends that have it follow.
   *
   * @throws ScimRefusal `taken` if the new name exists, here or at a backend, `unsupported` if a backend cannot rename
   */
  rename(kind: ResourceKind, from: string, content: Content, options: WriteOptions): Promise<Written>;
  remove(kind: ResourceKind, name: string, options: WriteOptions): Promise<Written>;
  /** Creates a user of the trash again, in the backends that had it. @throws ScimRefusal `not_found`, `taken` or that of a backend */
  restoreUser(id: string, options: { readonly actor: Actor }): Promise<RestoredUser>;
  /** Removes a user from the trash for ever. @returns whether it was there. */
  purgeUser(id: string, actor: Actor): Promise<boolean>;
  changeMembers(group: string, change: GroupMemberChange, options: WriteOptions): Promise<Written>;
  /** Reads one resource from every backend and updates the store. Resolves with the resource that GET then returns. */
  refreshOne(kind: ResourceKind, name: string, actor: Actor): Promise<Stored | null>;
  /** Reads all resources from every backend. Single flight: callers that arrive during a run share the next run. */
  refreshAll(
    actor: Actor,
    options?: { readonly onProgress?: (progress: RefreshProgress) => void },
  ): Promise<RefreshReport>;
  /** The contents at backends that differ from the resource, by the name of the backend. */
  heldElsewhere(kind: ResourceKind, name: string): Promise<ReadonlyMap<string, Content>>;
  /** Pending writes and dead letters, oldest first. */
  pendingWrites(limit: number): readonly PendingWrite[];
  /** Retries dead letters. Returns their number. */
  retryDeadLetters(options: { readonly backend?: string }): Promise<number>;
}

/** All targets of the settings. */
export interface Targets {
  get(name: string): Target | null;
  readonly names: readonly string[];
  /** Stops the workers and closes the connections. Pending writes stay in the store. */
  close(): Promise<void>;
}

/** An attribute whose values are indexed. */
export type IndexedAttribute =
  | "externalId"
  | "emails.value"
  | "displayName"
  | "active"
  | "meta.created"
  | "meta.lastModified";

/** The order of an index: by canonical name, or by search word or value and then by canonical name. */
export type ListedBy = "name" | "word" | IndexedAttribute;

/** Keys from `from` (inclusive) to `to` (exclusive). A key is a canonical name, or a word or value, U+0000 and a canonical name. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

/** What to list. */
export interface Listing {
  readonly by: ListedBy;
  /** In order, without common keys. */
  readonly ranges: readonly KeyRange[];
  /**
   * A resource with several values has several keys. `first`: only the key of its first value counts. A number n: keys whose value begins with the
   * same n characters as an earlier value do not count. `every`: all count.
   */
  readonly counted: "first" | "every" | number;
}

/** One resource of a list, at its place in the order. */
export interface Listed {
  readonly key: string;
  readonly canonical: string;
}

export interface ListOptions {
  readonly offset: number;
  readonly limit: number;
  /** From the last key to the first. */
  readonly isReverse?: boolean;
}

/** The counts are exact. Reading a page reads a few hundred keys more than the page has, whatever the size of the directory. */
export interface ResourceIndexes {
  count(kind: ResourceKind, listing: Listing): Promise<number>;
  list(kind: ResourceKind, listing: Listing, options: ListOptions): Promise<Listed[]>;
  /** Resources with so many values of an attribute that the index does not have all of them. `null`: none. */
  manyValued(kind: ResourceKind, by: IndexedAttribute): Promise<Listing | null>;
  /** The resources of a list, in this order, without those that do not exist any more. */
  readMany(kind: ResourceKind, listed: readonly Listed[]): Promise<Stored[]>;
  /** The canonical names of the groups of a user. The list may have groups that the user has left. */
  groupsOf(user: string): Promise<string[]>;
}

/** How an interface renders a user. */
export interface UserRenderer {
  readonly interfaceName: "idm" | "v2";
  /** All that a text depends on besides the user and the groups; compared one by one, objects by identity. Nothing of the caller. */
  readonly on: readonly unknown[];
  render(stored: Stored): string | Promise<string>;
}

/** A resource of a page. */
export interface RenderedResource {
  /** JSON. */
  readonly text: string;
  /** About the length of what is stored. */
  readonly storedLength: number;
}

export interface RenderedUser extends RenderedResource {
  readonly id: string;
  /** As given. */
  readonly name: string;
  readonly version: string;
}

interface RenderedPage {
  readonly total: number;
  /** From 1. */
  readonly startIndex: number;
  readonly users: readonly RenderedUser[];
}

/** The reads of one request. */
export interface RenderedReads {
  read(canonical: string): Promise<RenderedUser | null>;
  readById(id: string): Promise<RenderedUser | null>;
  /** As `TargetDirectory.page` of users. */
  page(
    options: { readonly page: number; readonly size: number; readonly isReverse?: boolean },
  ): Promise<RenderedPage>;
  /** As `ResourceIndexes.list` of users. */
  list(listing: Listing, options: ListOptions): Promise<Listed[]>;
  /** As `ResourceIndexes.readMany` of users. */
  readMany(listed: readonly Listed[]): Promise<readonly RenderedUser[]>;
}

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
