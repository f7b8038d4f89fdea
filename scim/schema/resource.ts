// A resource: its content, what backends made of it, and its record in the store (RFC 7643 §3). Types only.

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export type ResourceKind = "user" | "group";

/** The content of a user as clients send it; what the server adds (meta, groups, versions) is not in it. */
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

/** The content of a group as clients send it. */
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
