// The types of a resource: its content, its state at backends, and its record in the store (RFC 7643 §3). Types only.

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export type ResourceKind = "user" | "group";

/** The content of a user as clients send it, without what the server adds (meta, groups, versions). */
export interface UserContent {
  readonly kind: "user";
  /** As sent, in NFC. */
  readonly name: string;
  readonly active: boolean;
  /**
   * SCIM attributes, spelled as in the interface specification. `name` with `familyName` and `givenName` is always present; both may be empty.
   * Without schemas, meta, id, userName, active, groups and password. externalId only if the mapping gives it a front-end attribute.
   */
  readonly attributes: JsonObject;
}

/** The content of a group as clients send it. */
export interface GroupContent {
  readonly kind: "group";
  readonly name: string;
  /** As for a user, but without displayName and members. */
  readonly attributes: JsonObject;
  /** Names as sent, each once (compared without case). A member need not be a user. */
  readonly members: readonly string[];
}

export type Content = UserContent | GroupContent;

/**
 * The state of a resource at one backend. No entry: the backend does not have it and nothing is pending.
 * `pending`: the outbox will deliver the operation (`why`: the fault of the last attempt). `failed`: the operation is a dead letter until an operator
 * retries it. `vanished`: a refresh no longer found the resource at the backend.
 */
export interface BackendState {
  readonly state: "present" | "pending" | "failed" | "vanished";
  readonly sinceMs: number;
  /** The pending write; only with `pending` and `failed`. */
  readonly operation?: "put" | "remove";
  readonly why?: string;
  /** The ID of the resource at the backend (a SCIM id, a DN). */
  readonly remoteId?: string;
  /** Its copy differs from the resource (scim/provisioning/backend_status.ts). */
  readonly differs?: true;
  /** A write left the backend out, so the next write brings it the whole resource, and removes what the copy has besides. */
  readonly omitted?: true;
  /** Read-only attributes of the backend whose values differ from the resource. This difference is expected. The store has this name. */
  readonly kept?: JsonObject;
  /** Members of the group that the backend did not store at its last write. */
  readonly notStored?: MembersNotStored;
}

/** Members of a group that a backend did not store, because it does not have the user: the number, and at most ten names. */
export interface MembersNotStored {
  readonly count: number;
  readonly names: readonly string[];
}

/** By the backend's name. */
export type BackendStates = Readonly<Record<string, BackendState>>;

/** A resource as stored and as GET returns it. */
export interface Stored<C extends Content = Content> {
  /** A UUID. It never changes, and is never reused (RFC 7643 §3.1). */
  readonly id: string;
  /** The identifier that a client gave to the resource (RFC 7643 §3.1). Absent: none. */
  readonly externalId?: string;
  /** The connection of an identity provider that created or adopted the resource. Absent: none. */
  readonly managedBy?: string;
  /** A client removed `active` (RFC 7643 §2.5): the user stays as it is, and its responses have no `active`. Absent: not. */
  readonly activeUnassigned?: true;
  readonly content: C;
  /** The JSON text of `content.attributes`, if known. Responses insert it instead of serialising the attributes. */
  readonly attributesText?: string;
  /** The ids of `content.members`, in the same order. `null`: no user has the name. Absent for a user. */
  readonly memberIds?: readonly (string | null)[];
  /** Names of the groups that a user is a member of, in order of name; empty for a group. */
  readonly groups: readonly string[];
  readonly backends: BackendStates;
  readonly createdMs: number;
  readonly modifiedMs: number;
  /** Changes with every write of the resource; the ETag. Changes of backend states alone do not change it. */
  readonly version: string;
  /** Counts the backend states that were recorded since that version. Absent: 0. */
  readonly recorded?: number;
}

/** The front-end attributes of a resource, for backends other than SCIM. Values are texts in order. */
export type FrontEnd = ReadonlyMap<string, readonly string[]>;

/** One row of a mapping: `emails[].value` ↔ `mail`. */
export interface MappingRow {
  readonly scim: string;
  readonly frontEnd: string;
}

/** The mapping of one target between SCIM attributes and front-end attributes; see mapping.ts. */
export interface Mapping {
  readonly user: readonly MappingRow[];
  readonly group: readonly MappingRow[];
}
