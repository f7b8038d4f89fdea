// The settings of a connection: an identity provider that provisions users through /scim/v2. The defaults and bounds
// of each setting. The pages of the console use this file too.

import { choice, defaultsOf, flag, number, type ValuesOf } from "../../../platform/fields.ts";

export const CONNECTION_KINDS = ["okta", "entra", "other"] as const;
export type ConnectionKind = typeof CONNECTION_KINDS[number];

export const CONNECTION_FIELDS = {
  access: choice(["write", "read"], { default: "write" }),
  /** The first write to a resource that the connection did not create: an administrator confirms it, or it happens at once. */
  adoption: choice(["confirm", "automatic"], { default: "confirm", hasHint: true }),
  /** Each request gets 503 with Retry-After. */
  paused: flag({ hasHint: true }),
  /** Writes are checked, answered and logged, but not stored. */
  dryRun: flag({ hasHint: true }),
  /** More requests get 429 with Retry-After. Each node counts its own requests. */
  requestsPerMinute: number({ min: 1, max: 600_000, default: 6000, hasHint: true }),
  /** Users deleted or deactivated in 24 hours, in percent of all users of the directory. At least ten are always allowed; 100: no limit. */
  deletionPercent: number({ min: 0, max: 100, default: 10, hasHint: true }),
  /** DELETE of a user deactivates the user. */
  softDelete: flag({ hasHint: true }),
  /** POST of an inactive user with the same externalId or userName activates that user. */
  reactivate: flag({ default: true, hasHint: true }),
  /** PATCH `remove` of `members` without a filter empties the group (RFC 7644 §3.5.2.2). */
  removeAllMembers: flag({ default: true, hasHint: true }),
};

export interface ConnectionSettings extends ValuesOf<typeof CONNECTION_FIELDS> {
  /** `[a-z][a-z0-9-]{0,39}`. */
  readonly name: string;
  readonly kind: ConnectionKind;
  /** The directory that the connection provisions. */
  readonly target: string;
  /** The user of `/Me`; `null`: 501. */
  readonly meUser: string | null;
}

/** The settings that an administrator can change. */
export type ConnectionChange = Partial<Omit<ConnectionSettings, "name" | "kind" | "target">>;

export type SecretKind = "token" | "client_secret";

/** The defaults of a new connection. */
export const DEFAULT_CONNECTION: Required<ConnectionChange> = {
  ...defaultsOf(CONNECTION_FIELDS),
  meUser: null,
};

/** A SCIM credential acts as a connection with this name: `basic:hr`. No connection can have it. */
export const CREDENTIAL_PREFIX = "basic:";
/** So many users can always be deleted or deactivated in 24 hours. */
export const MIN_ALLOWED_DELETIONS = 10;
export const MAX_CONNECTIONS = 200;
/** Valid and expired ones together. */
export const MAX_SECRETS = 20;
/** A name cannot be used again for this long, because the request log has requests of the removed connection. */
export const REQUEST_LOG_DAYS = 30;

export const REQUEST_OUTCOMES = ["done", "refused", "failed"] as const;
/** `done`: status below 400. `refused`: 4xx. `failed`: 5xx. */
export type RequestOutcome = typeof REQUEST_OUTCOMES[number];

/** The states of a proposal to adopt a resource. */
export const ADOPTION_STATES = ["waiting", "accepted", "refused"] as const;
export type AdoptionState = typeof ADOPTION_STATES[number];
/** The console counts at most so many waiting proposals. */
export const MAX_COUNTED_MATCHES = 1000;
