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
   * SCIM attributes, spelled as the document's table. Always has `name` with `familyName` and `givenName` (texts, maybe empty). Never has
   * schemas, meta, id, userName, active, groups, password; externalId only where the mapping gives it a front-end attribute of its own.
   */
  readonly attributes: JsonObject;
}

/** The content of a group as clients send it. */
export interface GroupContent {
  readonly kind: "group";
  readonly name: string;
  /** As for a user; never has displayName or members. */
  readonly attributes: JsonObject;
  /** Names as sent, each once (compared without case). They need not be users. */
  readonly members: readonly string[];
}

export type Content = UserContent | GroupContent;

/**
 * How one backend stands to one resource. No entry: the backend does not have it and owes nothing.
 * `pending`: an async backend still owes the operation (`why`: what its last attempt met). `failed`: the operation is a dead letter until an operator
 * retries. `vanished`: a refresh no longer found it there.
 */
export interface BackendState {
  readonly state: "present" | "pending" | "failed" | "vanished";
  readonly sinceMs: number;
  /** The pending write; only with `pending` and `failed`. */
  readonly operation?: "put" | "remove";
  readonly why?: string;
  /** What the backend itself calls the resource (a SCIM id, a DN). */
  readonly remoteId?: string;
  /** Its copy differs from the resource (scim/provisioning/backend_status.ts). */
  readonly differs?: true;
  /** Read-only attributes with other values than the resource. This difference is expected. */
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

/** A resource as stored and as GET returns it. */
export interface Stored<C extends Content = Content> {
  readonly content: C;
  /** The JSON text of `content.attributes`, if known. Responses insert it instead of serialising the attributes. */
  readonly attributesText?: string;
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

/** Front-end attributes of a resource, as backends other than SCIM store them. Values are texts in order. */
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
