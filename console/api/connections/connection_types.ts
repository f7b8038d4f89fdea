// Types of the connections API, shared with the pages. A connection is an identity provider that provisions users
// through /scim/v2.

import type {
  AdoptionState,
  ConnectionChange,
  ConnectionKind,
  ConnectionSettings,
  RequestOutcome,
  SecretKind,
} from "../../../scim/v2/connections/connection_settings.ts";

export type {
  AdoptionState,
  ConnectionChange,
  ConnectionKind,
  ConnectionSettings,
  RequestOutcome,
  SecretKind,
};

/** A token, or the client secret of OAuth. The secret itself is not stored. */
export interface ConnectionSecretRow {
  readonly id: string;
  readonly kind: SecretKind;
  readonly createdMs: number;
  readonly createdBy: string;
  /** `null`: it does not expire. An expired secret is listed for 30 days. */
  readonly expiresMs: number | null;
  /** To the minute. */
  readonly usedMs: number | null;
  /** The address of the last use. */
  readonly usedFrom: string | null;
}

export interface ConnectionRow {
  readonly settings: ConnectionSettings;
  /** A change must name the version that it is based on. */
  readonly version: number;
  readonly createdMs: number;
  readonly createdBy: string;
  readonly changedMs: number;
  readonly changedBy: string;
  /** The base address for the identity provider: `https://host/scim/v2/<directory>`. */
  readonly url: string;
  /** Newest first. */
  readonly secrets: readonly ConnectionSecretRow[];
  readonly lastRequest: ConnectionRequestRow | null;
  readonly deletions: DeletionCount;
  /** Proposals that wait for a decision; at most 1,000 are counted. */
  readonly waitingMatches: number;
  /** The directory no longer exists: each request gets 404. */
  readonly lacksTarget: boolean;
}

/** Users deleted or deactivated in the last 24 hours, and how many are allowed (`null`: no limit). */
interface DeletionCount {
  readonly counted: number;
  readonly allowed: number | null;
}

/** `GET /connections`. */
export interface ConnectionList {
  readonly nowMs: number;
  readonly items: readonly ConnectionRow[];
  /** The directories that a connection can have. */
  readonly targets: readonly string[];
  /** The address of the OAuth token endpoint. */
  readonly tokenUrl: string;
  /** Until when the name of a removed connection cannot be used again. */
  readonly reserved: readonly { readonly name: string; readonly untilMs: number }[];
}

/** `GET` and `PATCH /connections/:name`. */
export interface OneConnection {
  readonly nowMs: number;
  readonly tokenUrl: string;
  readonly item: ConnectionRow;
}

/** Body of `POST /connections`. Creates the connection with a first secret. */
export interface NewConnectionBody extends ConnectionChange {
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly target: string;
  /** `null`: without a secret. Default: a token without expiry. */
  readonly secret?: NewConnectionSecretBody | null;
}

/** Body of `PATCH /connections/:name`. */
export interface ChangedConnectionBody {
  readonly version: number;
  readonly change: ConnectionChange;
}

/**
 * Body of `POST /connections/:name/secrets`. To rotate a secret, name the old one in `replaces`: it stays valid for `overlapHours` (0: it ends
 * at once), and the new one has its kind.
 */
export interface NewConnectionSecretBody {
  /** Default: token. */
  readonly kind?: SecretKind;
  /** 1 to 1096; `null` or absent: it does not expire. */
  readonly days?: number | null;
  /** The id of the secret that the new one replaces. */
  readonly replaces?: string;
  /** 0 to 720. Default: 24. */
  readonly overlapHours?: number;
}

/** `secret` is shown once. */
export interface CreatedConnectionSecret {
  readonly nowMs: number;
  readonly tokenUrl: string;
  readonly item: ConnectionRow;
  /** In clear; `null`: created without a secret. */
  readonly secret: { readonly id: string; readonly kind: SecretKind; readonly text: string } | null;
}

/** One request of a connection. It contains names of attributes, and no values but the name of the resource. */
export interface ConnectionRequestRow {
  /** Unique within the connection. */
  readonly id: string;
  readonly connection: string;
  readonly atMs: number;
  readonly source: string;
  readonly userAgent: string;
  readonly method: string;
  /** `users.create`, `users.list`, `groups.patch`, `bulk`, `authenticate`, `token` … */
  readonly operation: string;
  readonly resource: {
    readonly kind: "user" | "group";
    readonly id: string | null;
    readonly name: string | null;
  } | null;
  readonly status: number;
  readonly scimType: string | null;
  /** Why it was refused, or what a dry run would have done. */
  readonly detail: string | null;
  /** The names of the attributes in the request. */
  readonly attributes: readonly string[];
  readonly durationMs: number;
  readonly dryRun: boolean;
}

/** `GET /connections/:name/requests?outcome=refused&text=ada&operation=users.create&cursor=…&size=50`, newest first. */
export interface ConnectionRequestPage {
  readonly nowMs: number;
  readonly rows: readonly ConnectionRequestRow[];
  /** For the next page; `null`: there are no older requests. A page with a cursor can have no rows: continue. */
  readonly cursor: string | null;
  /** How long a request is listed. */
  readonly days: number;
}

/** A resource that the connection did not create and wants to write. */
export interface ConnectionMatchRow {
  /** `user:<id>` or `group:<id>`. */
  readonly id: string;
  readonly kind: "user" | "group";
  readonly resourceId: string;
  /** The current name; of a resource that was deleted, the name at the last request. */
  readonly name: string;
  readonly isGone: boolean;
  /** What the identity provider calls it. */
  readonly externalId: string | null;
  readonly state: AdoptionState;
  /** The first and the latest request. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly decidedBy: string | null;
  readonly decidedMs: number | null;
}

/** `GET /connections/:name/matches?state=waiting&cursor=…&size=50`. */
export interface ConnectionMatchPage {
  readonly nowMs: number;
  readonly rows: readonly ConnectionMatchRow[];
  readonly cursor: string | null;
}

/** Body of `POST /connections/:name/matches`. `ids: "all"`: every waiting proposal. */
export interface MatchDecisionBody {
  readonly decision: "accept" | "refuse";
  readonly ids: readonly string[] | "all";
}

export interface MatchesDecided {
  readonly nowMs: number;
  /** Proposals that were changed; the others were gone or decided. */
  readonly decided: number;
}

/** `POST /connections/:name/test`: whether the identity provider reached this server. */
export interface ConnectionTest {
  readonly nowMs: number;
  /** `no_secret`: none is valid. `unused`: no request used one. `refused`: the last request was refused. `works`: it succeeded. */
  readonly state: "no_secret" | "paused" | "unused" | "refused" | "works";
  readonly lastRequest: ConnectionRequestRow | null;
  readonly lastSuccessMs: number | null;
  /** The last use of each valid secret. */
  readonly secrets: readonly ConnectionSecretRow[];
}

/** The event `connection_request` of `/live/stream`: requests on any node since the last event, oldest first. */
export interface ConnectionRequestEvent {
  readonly nowMs: number;
  readonly rows: readonly ConnectionRequestRow[];
  /** Requests that are left out because there were too many: read the list again. */
  readonly lost: number;
}
