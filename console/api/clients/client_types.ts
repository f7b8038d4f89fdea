// Schemas and types of the RADIUS client API.

import * as v from "valibot";
import type { SocketAddress } from "../../../platform/addresses.ts";
import {
  clientSetting,
  CONSOLE_SETTINGS,
  type ConsoleSetting,
  type ConsoleValue,
  initialValue,
  type OptionalSetting,
  type SecretSetting,
  type ServerPart,
  type ServerSetting,
  settingsObject,
} from "../../../platform/client_settings.ts";
import { HOUR_MS } from "../../../platform/durations.ts";
import type { DiscoveredSender } from "../../../radius/server/client_discovery.ts";
import type { ShownClient } from "../../../radius/server/client_record.ts";

/** How long the previous secret is accepted beside the new one. */
const OVERLAPS_MS = [0, HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS] as const;

const NAME = v.pipe(v.string(), v.regex(/^[A-Za-z0-9._-]{1,64}$/));
/** RFC 2865 §3 asks for at least 16 octets. */
const SECRET = v.pipe(v.string(), v.minLength(16), v.maxLength(128), v.regex(/^[\x21-\x7e]*$/));
const trimmed = (max: number) => v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(max));
/** Domains, realms or user names. Each is checked in client_routes.ts, whose refusal names it. */
const NAMES = v.pipe(v.array(v.pipe(v.string(), v.maxLength(500))), v.maxLength(100));

/** A request has addresses as text: `host:port` or `[IPv6]:port`, one or a list. */
type JsonOf<Value> = Value extends readonly SocketAddress[] ? string | string[]
  : Value extends readonly string[] ? string[]
  : Value;
type SchemaOf<K extends ConsoleSetting> = v.GenericSchema<JsonOf<ConsoleValue<K>>>;
type EntryOf<K extends ConsoleSetting> = K extends OptionalSetting & SecretSetting
  ? v.OptionalSchema<SchemaOf<K>, undefined>
  : K extends OptionalSetting ? v.OptionalSchema<SchemaOf<K>, v.InferOutput<SchemaOf<K>>>
  : SchemaOf<K>;

interface Limits {
  readonly min: number;
  readonly max: number;
  readonly maxItems: number;
  /** A time in seconds. */
  readonly unit?: string;
  /** A number beyond the bounds: the value of `[radius]` applies. */
  readonly initial?: string | number;
}

/** By format, or by type. */
const SCHEMAS: Readonly<Record<string, (limits: Limits) => v.GenericSchema>> = {
  flag: () => v.boolean(),
  list: () => NAMES,
  number({ min, max, unit, initial }) {
    const step = unit === "s" ? 1000 : 1;
    const within = v.pipe(v.number(), v.integer(), v.minValue(min * step), v.maxValue(max * step));
    const schema = v.pipe(within, v.multipleOf(step));
    return initial === undefined ? schema : v.union([v.literal(initial), schema]);
  },
  peers: ({ max, maxItems }) =>
    v.union([trimmed(max), v.pipe(v.array(trimmed(max)), v.minLength(1), v.maxLength(maxItems))]),
  /** None for a client that is known by its certificate. */
  ranges: () => v.pipe(v.array(trimmed(64)), v.maxLength(64)),
  /** The secret of another organisation's server can be short. */
  secret: ({ max }) => v.pipe(v.string(), v.minLength(1), v.maxLength(max), v.regex(/^[\x21-\x7e]*$/)),
  separator: () => v.pipe(v.string(), v.maxLength(20)),
  text: ({ max }) => v.pipe(v.string(), v.trim(), v.maxLength(max), v.regex(/^\P{C}*$/u)),
};

function entryOf(name: ConsoleSetting): v.GenericSchema {
  const row = clientSetting(name);
  const { choices, max, isOptional, initial } = row.console ?? {};
  const limits: Limits = {
    ...{ min: 0, max: 0, maxItems: 0, ...row, ...max === undefined ? {} : { max } },
    ...initial === undefined ? {} : { initial },
  };
  const schema = row.type === "choice"
    ? v.picklist((choices ?? row.of).map(String))
    : (SCHEMAS[row.format ?? ""] ?? SCHEMAS[row.type])?.(limits);
  if (schema === undefined) throw new Error(`Cannot use "${name}" in the API: its type has no schema`);
  if (isOptional !== true) return schema;
  // Without a secret, the stored one stays.
  return row.type === "secret" ? v.optional(schema) : v.optional(schema, initialValue(name) as string);
}

const ENTRIES = settingsObject(CONSOLE_SETTINGS, entryOf) as unknown as
  & { readonly [K in Exclude<ConsoleSetting, ServerSetting>]: EntryOf<K> }
  & { readonly firstFactorServer: { readonly [K in ServerSetting as ServerPart<K>]: EntryOf<K> } };
const { firstFactorServer: SERVER } = ENTRIES;
const CONTENT = {
  ...ENTRIES,
  /** Only for `radius`. Without a secret, the stored one stays. */
  firstFactorServer: v.nullable(v.strictObject({ ...SERVER, secret: v.optional(SERVER.secret) })),
};

/** Without a secret, one is generated, and shown once in the response. */
export const NEW_CLIENT = v.strictObject({ ...CONTENT, name: NAME, secret: v.optional(SECRET) });
export const CHANGED_CLIENT = v.strictObject({ ...CONTENT, version: v.pipe(v.number(), v.integer()) });
export const ROTATION = v.strictObject({
  secret: v.optional(SECRET),
  overlapMs: v.picklist(OVERLAPS_MS),
});
/** A first factor to test: a backend, a server with its secret, or the server of a client with its stored secret. */
export const FIRST_FACTOR_TEST = v.union([
  v.strictObject({ backend: v.pipe(v.string(), v.minLength(1), v.maxLength(256)) }),
  v.strictObject(SERVER),
  v.strictObject({ client: NAME }),
]);
export const CANDIDATE = v.strictObject({
  secret: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(128))),
});

export type FirstFactorKind = "none" | "directory" | "ldap" | "radius";

/** What the rules of a client amount to, with the global setting. */
export interface EffectiveRules {
  readonly firstFactor: FirstFactorKind;
  readonly rejectsUnknown: boolean;
  /** The longest wait for an approval. */
  readonly holdMs: number;
}

/** What the form of a client shows of the gateway. */
export interface ClientGateway {
  /** The values of clients that use the global setting. */
  readonly firstFactor: FirstFactorKind;
  readonly holdMs: number;
  /** Whether RADIUS over TLS is accepted. */
  readonly acceptsTls: boolean;
}

export interface ClientRow extends ShownClient {
  readonly effective: EffectiveRules;
  /** Of the last 24 hours. */
  readonly accepted: number;
  readonly rejected: number;
}

/** The result of a first-factor test. */
export interface FirstFactorAnswer {
  readonly answers: boolean;
  /** The message of a failed backend. */
  readonly detail: string;
}

export interface ClientList {
  readonly nowMs: number;
  /** LDAP backends that can check passwords. */
  readonly ldap: readonly string[];
  readonly gateway: ClientGateway;
  readonly items: readonly ClientRow[];
}

/** The logins and users that a change of the client affects. */
export interface ClientImpact {
  readonly open: number;
  readonly openUsers: readonly string[];
  /** Of the last 24 hours, at most 1,000 logins. */
  readonly logins: number;
  readonly users: readonly string[];
}

/** What a setup guide says about this server. */
export interface GuideServer {
  /** The address of the RADIUS listener, or the host of the console if it listens on every address. */
  readonly host: string;
  readonly port: number;
  readonly accountingPort: number;
  /** The usual one while RADIUS over TLS is not accepted. */
  readonly tlsPort: number;
}

export interface OneClient {
  readonly nowMs: number;
  readonly server: GuideServer;
  readonly ldap: readonly string[];
  readonly gateway: ClientGateway;
  readonly client: ClientRow;
  /** The TLS connections of the client to this node. */
  readonly tlsConnections: number;
  readonly blast: ClientImpact;
}

export type { DiscoveredSender };

export interface DiscoveredList {
  readonly nowMs: number;
  readonly items: readonly DiscoveredSender[];
}
