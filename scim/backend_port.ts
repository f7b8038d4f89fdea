// The interface between provisioning and the backends (LDAP, SCIM), the members that a backend did not store, and what a target reports about its backends.

import type {
  BackendState,
  Content,
  GroupContent,
  MembersNotStored,
  ResourceKind,
} from "./schema/resource.ts";
import type { AccountRefusal } from "../platform/account_refusals.ts";
import { canonicalName } from "../platform/canonical_name.ts";

/** What went wrong at a backend. `unsure`: the backend may have done it. `retry`: trying later may help. */
export interface BackendFault {
  readonly kind: "unreachable" | "refused" | "busy" | "nonsense" | "unsupported";
  /** A text for an administrator, without secrets. */
  readonly detail: string;
  readonly unsure: boolean;
  readonly retry: boolean;
  readonly retryAfterMs?: number;
  /** The backend does not accept a value of the client. The client has to change it. `detail` names the attribute. */
  readonly isInvalidValue?: true;
  /** Another resource of the backend has a value that must be unique. `detail` is what the backend says about it. */
  readonly isTaken?: true;
  /** The gateway stopped before it called the backend, so the fault shows nothing about the backend. */
  readonly isLocal?: true;
}

export type BackendOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: BackendFault };

/** A resource as a backend has it. Attributes that the backend cannot hold are absent. */
export interface RemoteResource {
  readonly content: Content;
  readonly remoteId: string;
  /** The manager of a user. `id`: that of the user here. Absent: no statement. */
  readonly manager?: { readonly name: string; readonly id?: string };
  /** The backend does not show the members of this group. They are no statement. */
  readonly hidesMembers?: true;
}

/** A resource that another one refers to, such as a manager. */
export interface Reference {
  readonly kind: ResourceKind;
  readonly name: string;
}

/** The desired state of a resource at a backend. */
export interface DesiredResource {
  readonly content: Content;
  /** In clear, if this write sets one. */
  readonly password?: string;
  /** The resources that values of the content refer to, by these values. Absent: none. */
  readonly references?: ReadonlyMap<string, Reference>;
  /** What this write changes. Absent: the backend has exactly `content` afterwards, as far as it shows what it has. */
  readonly changes?: ContentChanges;
}

/**
 * What a write changes, compared with what was agreed before, and not with what the backend shows. A SCIM server gets only this, and keeps what it
 * has besides.
 */
export interface ContentChanges {
  /** Changed and removed attributes: `active`, `title`, `name.givenName`, `urn:…:User:department`. */
  readonly attributes: readonly string[];
  /** The names of members that leave the group. They are removed whatever the backend lists. */
  readonly left: readonly string[];
}

/** The ID of a resource when it was last read or written. */
export interface RemoteHint {
  readonly remoteId?: string;
}

export interface PutResult {
  readonly remoteId: string;
  readonly notStored?: MembersNotStored;
  /** References that were left out, because the backend does not have the resources. */
  readonly awaited?: readonly Reference[];
}

/** One of the servers of a backend, in the same form as those that check the first factor. */
export interface ServerStatus {
  /** `host:port`. */
  readonly server: string;
  /** `unknown`: no request was answered since the start. `all_down`: it is down, and so are all others of the backend. */
  readonly state: "answers" | "unknown" | "down" | "all_down";
  readonly lastAnswerMs: number | null;
  /** Why there is no answer, as far as that is known; or "". */
  readonly fault: string;
}

/** The result of a user's bind. */
export type BindVerdict = "right" | "wrong" | AccountRefusal;

/** A change of a password by its old one, in clear. */
export interface PasswordChangeRequest {
  readonly old: string;
  readonly next: string;
}

/** `refused`: the policy of the directory does not allow the new password. `wrong`: the old one is not right any more. */
export type PasswordChange = "changed" | "refused" | "wrong";

/**
 * A backend that also stores the target's resources. Each method has its own deadline and never rejects, but `list` throws a `BackendListError`.
 * `put` and `remove` can be repeated. Repeating a finished call is not an error.
 */
export interface Backend {
  readonly name: string;
  readonly kind: "ldap" | "scim";
  readonly mode: "sync" | "async";
  /** Top-level SCIM attributes that it can store, besides the name, `active` and `members`. `null`: all. */
  readonly covers: ReadonlySet<string> | null;
  /** The attributes of a user that only the backend writes (scim/schema/merge.ts). Absent: none. */
  readonly readOnly?: ReadonlySet<string>;
  /** The gateway must not write there (`access = "read"`). Absent: it may. */
  readonly isReadOnly?: true;
  /** Whether it stores groups, and whether it stores `active`. */
  readonly holds: { readonly groups: boolean; readonly active: boolean };
  read(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<RemoteResource | null>>;
  /** Makes the backend store `desired` as far as it can: creates or replaces the resource. */
  put(desired: DesiredResource, hint?: RemoteHint): Promise<BackendOutcome<PutResult>>;
  remove(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<null>>;
  /**
   * Gives the resource `from` the name of `desired`, and makes the backend store `desired`. References of groups follow. It can be repeated: without
   * a resource `from`, it is a `put`. Absent: the backend cannot rename.
   */
  rename?(from: string, desired: DesiredResource, hint?: RemoteHint): Promise<BackendOutcome<PutResult>>;
  /** All resources of one kind, in pages. */
  list(kind: ResourceKind): AsyncIterable<readonly RemoteResource[]>;
  /** Checks a user's password by a bind. Only LDAP has it. */
  verify?(name: string, password: Uint8Array): Promise<BackendOutcome<BindVerdict>>;
  /** The names of the users that a typed name finds, at most two. Absent: users are found by their name alone. */
  findNames?(typed: string): Promise<BackendOutcome<readonly string[]>>;
  /** Changes the password of a user by the old one. Absent: the settings do not allow it, or the connection is not encrypted. */
  changePassword?(name: string, change: PasswordChangeRequest): Promise<BackendOutcome<PasswordChange>>;
  /** How many resources of a kind it has, as it says; `null`: it does not say. Absent: a list of it ends by itself. */
  size?(kind: ResourceKind): Promise<BackendOutcome<number | null>>;
  /** Whether it shows the members of any group. If not, a group without members is no statement. Absent: it shows them. */
  showsMembers?(): Promise<BackendOutcome<boolean>>;
  /** For health: makes the cheapest request. Of several servers, each one is tested. */
  probe(): Promise<BackendOutcome<null>>;
  /** The state of each server, in order of preference. Only LDAP has it. */
  servers?(): readonly ServerStatus[];
  close(): Promise<void>;
}

/** Whether the fault concerns the whole backend, and not one resource. */
export function isUnavailable({ kind }: BackendFault): boolean {
  return kind === "unreachable" || kind === "busy";
}

/** Renames at a backend. One that cannot rename is not asked to, unless its settings changed. */
export async function renameAt(
  backend: Backend,
  { from, desired, hint }: { from: string; desired: DesiredResource; hint: RemoteHint },
): Promise<BackendOutcome<PutResult>> {
  if (backend.rename !== undefined) return await backend.rename(from, desired, hint);
  const detail = `it cannot rename "${from}"`;
  return { ok: false, fault: { kind: "unsupported", detail, unsure: false, retry: false } };
}

/** Names in the summary. The count includes the other members. */
const MAX_NAMES = 10;
/** The total length of these names. The summary is a part of the resource's record, which is one value of the store. */
const MAX_CHARACTERS = 1000;

/** Returns `undefined` when every member was stored. */
export function membersNotStored(names: readonly string[]): MembersNotStored | undefined {
  return names.length === 0 ? undefined : { count: names.length, names: firstNames(names) };
}

function firstNames(names: readonly string[]): string[] {
  const first: string[] = [];
  let characters = 0;
  for (const name of names.slice(0, MAX_NAMES)) {
    characters += name.length;
    if (characters > MAX_CHARACTERS) break;
    first.push(name);
  }
  return first;
}

/** Replaces the summary of a state; returns the same state when the summary is equal. */
export function withMembersNotStored(
  state: BackendState,
  notStored: MembersNotStored | undefined,
): BackendState {
  if (isSameSummary(state.notStored, notStored)) return state;
  const { notStored: _before, ...rest } = state;
  return notStored === undefined ? rest : { ...rest, notStored };
}

export function isSameSummary(a: MembersNotStored | undefined, b: MembersNotStored | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.count === b.count && a.names.length === b.names.length &&
    a.names.every((name, at) => name === b.names[at]);
}

/** The part of a summary that a new read of the backend confirms: the members of `wanted` that are missing in `held`. */
export function stillNotStored(
  before: MembersNotStored,
  { wanted, held }: { wanted: GroupContent; held: GroupContent },
): MembersNotStored | undefined {
  const stored = new Set(held.members.map(canonicalName));
  const missing = wanted.members.filter((name) => !stored.has(canonicalName(name)));
  const known = new Set(before.names.map(canonicalName));
  const confirmed = missing.filter((name) => known.has(canonicalName(name)));
  const unnamed = Math.min(before.count - before.names.length, missing.length - confirmed.length);
  const count = confirmed.length + unnamed;
  if (count === 0) return undefined;
  // The members without a name are among the other missing ones. None of these is named, because it may have been removed at the backend.
  return { count, names: firstNames(confirmed) };
}

export type RefreshProgress = Readonly<{ backend: string; kind: ResourceKind; read: number }>;

/** How many resources a refresh changed, by what it did. */
export type RefreshCounts = Readonly<
  Record<"created" | "updated" | "unchanged" | "vanished" | "deleted", number>
>;

/** The counts are those of users and groups together. */
export interface RefreshReport extends RefreshCounts {
  readonly ofGroups: RefreshCounts;
  /** A backend that could not be read, or where the deletion limit stopped the removals, with the reason. The others are up to date. */
  readonly faults: readonly {
    readonly backend: string;
    readonly detail: string;
    /**
     * Absent: the backend could not be reached. `left_out`: some entries cannot be resources here; all others are up to date. `rename_conflict`: a
     * resource has another name at the backend, and cannot have it here.
     */
    readonly kind?:
      | BackendFault["kind"]
      | "deletion_limit"
      | "addition_limit"
      | "left_out"
      | "rename_conflict";
  }[];
  readonly tookMs: number;
}

/** One entry of the outbox, for display. */
export interface PendingWrite {
  readonly id: string;
  readonly backend: string;
  readonly kind: ResourceKind;
  readonly name: string;
  readonly operation: "put" | "remove" | "rename";
  readonly attempts: number;
  readonly sinceMs: number;
  /** `null` for a dead letter. */
  readonly nextMs: number | null;
  readonly why: string | null;
}
