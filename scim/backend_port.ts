// The interface between targets/ and backends/: what an LDAP directory or another SCIM server is asked. Types only.

import type { Content, MembersNotStored, ResourceKind } from "./schema/resource.ts";

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

/** Where a resource was when it was last read or written. */
export interface RemoteHint {
  readonly remoteId?: string;
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
  read(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<Remote | null>>;
  /** Makes the backend hold exactly `desired` (as far as it can): creates, or replaces what is there. */
  put(desired: Desired, hint?: RemoteHint): Promise<BackendOutcome<PutResult>>;
  remove(kind: ResourceKind, name: string, hint?: RemoteHint): Promise<BackendOutcome<null>>;
  /** Everything of one kind, in pages. */
  list(kind: ResourceKind): AsyncIterable<readonly Remote[]>;
  /** Checks a user's password by a bind; only LDAP has it. */
  verify?(name: string, password: Uint8Array): Promise<BackendOutcome<"right" | "wrong">>;
  /** For health: asks for the least. */
  probe(): Promise<BackendOutcome<null>>;
  close(): Promise<void>;
}
