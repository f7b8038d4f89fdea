// What the RADIUS client calls take and give, as shapes.

import * as v from "valibot";
import type { HeardSender } from "../../../radius/doing/ear.ts";
import type { ShownClient } from "../../../radius/doing/client_view.ts";

const HOUR_MS = 3_600_000;
/** How long a former secret may be accepted beside the new one. */
export const OVERLAPS_MS = [0, HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS] as const;

const NAME = v.pipe(v.string(), v.regex(/^[A-Za-z0-9._-]{1,64}$/));
/** RFC 2865 §3 asks for at least 16 octets. */
const SECRET = v.pipe(v.string(), v.minLength(16), v.maxLength(128), v.regex(/^[\x21-\x7e]*$/));
const ADDRESS = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64));
/** The secret of another organisation's server can be short. */
const SERVER_SECRET = v.pipe(v.string(), v.minLength(1), v.maxLength(128), v.regex(/^[\x21-\x7e]*$/));
const SERVER = {
  /** `host:port` or `[IPv6]:port`. */
  address: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(260)),
  timeoutMs: v.pipe(v.number(), v.integer(), v.minValue(100), v.maxValue(10_000)),
  messageAuthenticator: v.optional(v.picklist(["require", "auto"]), "require"),
};
/** Domains or realms that are removed from User-Name. Each is checked in client_content.ts, whose refusal names it. */
const AFFIXES = v.pipe(v.array(v.pipe(v.string(), v.maxLength(500))), v.maxLength(100));
const CONTENT = {
  address: v.pipe(v.array(ADDRESS), v.minLength(1), v.maxLength(64)),
  nasIdentifier: v.pipe(v.string(), v.trim(), v.maxLength(128), v.regex(/^\P{C}*$/u)),
  disabled: v.boolean(),
  messageAuthenticator: v.picklist(["require", "auto", "off"]),
  firstFactor: v.picklist(["settings", "none", "directory", "ldap", "radius"]),
  /** Name of an LDAP backend; only for `ldap`. */
  firstFactorBackend: v.pipe(v.string(), v.maxLength(256)),
  /** Only for `radius`. Without a secret the kept one stays. */
  firstFactorServer: v.nullable(v.strictObject({ ...SERVER, secret: v.optional(SERVER_SECRET) })),
  device: v.picklist(["challenge", "hold", "hold_then_challenge"]),
  appendMode: v.boolean(),
  appendSeparator: v.optional(v.pipe(v.string(), v.maxLength(20)), ","),
  unknownUsers: v.picklist(["auto", "allow", "reject"]),
  stripDomains: v.optional(AFFIXES, []),
  stripRealms: v.optional(AFFIXES, []),
};

/** Without a secret one is made, and shown in the answer this once. */
export const NEW_CLIENT = v.strictObject({ ...CONTENT, name: NAME, secret: v.optional(SECRET) });
export const CHANGED_CLIENT = v.strictObject({ ...CONTENT, version: v.pipe(v.number(), v.integer()) });
export const ROTATION = v.strictObject({
  secret: v.optional(SECRET),
  overlapMs: v.picklist(OVERLAPS_MS),
});
/** A first factor to be tried: a backend, a server with its secret, or the server of a client with the secret that is kept. */
export const FIRST_FACTOR_TEST = v.union([
  v.strictObject({ backend: v.pipe(v.string(), v.minLength(1), v.maxLength(256)) }),
  v.strictObject({ ...SERVER, secret: SERVER_SECRET }),
  v.strictObject({ client: NAME }),
]);
export const CANDIDATE = v.strictObject({
  secret: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(128))),
});

export interface ClientRow extends ShownClient {
  /** Of the last 24 hours. */
  readonly accepted: number;
  readonly rejected: number;
}

/** How the first factor answered a test. */
export interface FirstFactorAnswer {
  readonly answers: boolean;
  /** What the backend said, where it fails. */
  readonly detail: string;
}

export interface ClientList {
  readonly nowMs: number;
  /** LDAP backends that can judge passwords. */
  readonly ldap: readonly string[];
  readonly items: readonly ClientRow[];
}

/** What would feel it if a client were changed. */
export interface BlastRadius {
  readonly open: number;
  readonly openUsers: readonly string[];
  /** Of the last 24 hours, at most 1,000 logins. */
  readonly logins: number;
  readonly users: readonly string[];
}

export interface OneClient {
  readonly nowMs: number;
  readonly ldap: readonly string[];
  readonly client: ClientRow;
  readonly blast: BlastRadius;
}

export type { HeardSender };

export interface HeardList {
  readonly nowMs: number;
  readonly items: readonly HeardSender[];
}
