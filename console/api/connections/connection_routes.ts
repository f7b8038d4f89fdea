// Routes of connections: identity providers that provision users through /scim/v2, with their secrets, requests and matches.

import { Hono } from "hono";
import { DAY_MS, HOUR_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Actor, Target } from "../../../scim/ports.ts";
import type {
  AddSecretProblem,
  CreateConnectionProblem,
  WantedSecret,
} from "../../../scim/v2/connections/connection_administration.ts";
import type { ConnectionRecord, SecretRecord } from "../../../scim/v2/connections/connection_records.ts";
import {
  ADOPTION_STATES,
  CONNECTION_FIELDS,
  CONNECTION_KINDS,
  type ConnectionChange,
  type ConnectionSettings,
  CREDENTIAL_PREFIX,
  MAX_COUNTED_MATCHES,
  REQUEST_LOG_DAYS,
  REQUEST_OUTCOMES,
} from "../../../scim/v2/connections/connection_settings.ts";
import { may } from "../auth/permissions.ts";
import { type Connect, requireGateway } from "../deps.ts";
import type { ErrorCode } from "../error_codes.ts";
import { Refusal } from "../errors.ts";
import {
  type Caller,
  callerOf,
  type HttpEnv,
  jsonBody,
  optionalChoice,
  queryValues,
  textUpTo,
  time,
  wholeNumber,
} from "../hono_env.ts";
import type {
  ConnectionList,
  ConnectionMatchPage,
  ConnectionMatchRow,
  ConnectionRequestPage,
  ConnectionRow,
  ConnectionSecretRow,
  ConnectionTest,
  CreatedConnectionSecret,
  MatchesDecided,
  OneConnection,
} from "./connection_types.ts";
import * as v from "valibot";
import { fieldEntries } from "../field_bodies.ts";
import type { AdoptionProposal } from "../../../scim/v2/connections/adoption.ts";

export interface ConnectionRouteDeps {
  readonly connect?: Connect;
  readonly clock: Clock;
}

const CREATE_PROBLEMS = {
  bad_name: "bad_connection_name",
  unknown_target: "unknown_target",
  taken: "connection_taken",
  reserved: "connection_name_reserved",
  too_many: "too_many_connections",
} as const satisfies Record<CreateConnectionProblem, ErrorCode>;
const SECRET_PROBLEMS = {
  unknown: "unknown_connection",
  unknown_secret: "unknown_connection_secret",
  too_many: "too_many_connection_secrets",
  changed: "changed_meanwhile",
} as const satisfies Record<AddSecretProblem, ErrorCode>;
const OWNER = may("owner", { recentFactor: true });
/** The pages poll these routes. */
const polled = () => may("viewer", { countsAsUse: false });
const OVERLAP_HOURS = 24;
const NO_TOKEN: { kind?: WantedSecret["kind"]; days?: number | null } = {};

export function createConnectionRoutes(deps: ConnectionRouteDeps) {
  const views = new ConnectionViews(deps);
  return new Hono<HttpEnv>()
    .get("/", polled(), async (c) => c.json(await views.list()))
    .post("/", OWNER, jsonBody(NEW_CONNECTION), async (c) => {
      const { secret = NO_TOKEN, ...wanted } = c.req.valid("json");
      const made = await views.administration.create(
        { ...definedOf(wanted), secret: secret === null ? null : wantedSecret(secret) },
        actorFor(callerOf(c)),
      );
      if (!made.ok) throw new Refusal(CREATE_PROBLEMS[made.reason]);
      return c.json(
        { ...await views.one(wanted.name), secret: made.secret } satisfies CreatedConnectionSecret,
      );
    })
    .get("/:name", polled(), async (c) => c.json(await views.one(c.req.param("name"))))
    .patch("/:name", may("owner"), jsonBody(CHANGED_CONNECTION), async (c) => {
      const { version, change } = c.req.valid("json");
      const name = c.req.param("name");
      if (givesRights(views.known(name).settings, change)) c.var.requireRecentFactor();
      const caller = callerOf(c);
      const done = await views.administration.change(
        name,
        { version, change: definedOf(change) },
        actorFor(caller),
      );
      if (!done.ok) throw views.lostRace(name, caller);
      return c.json(await views.one(name));
    })
    .delete("/:name", OWNER, async (c) => {
      const name = c.req.param("name");
      const outcome = await views.administration.remove(name, actorFor(callerOf(c)));
      if (outcome === "unknown") throw new Refusal("unknown_connection");
      if (outcome === "changed") throw views.lostRace(name, callerOf(c));
      return c.json({ done: true });
    })
    .post("/:name/secrets", OWNER, jsonBody(NEW_CONNECTION_SECRET), async (c) => {
      const { replaces, overlapHours = OVERLAP_HOURS, ...wanted } = c.req.valid("json");
      const name = c.req.param("name");
      const replaced = replaces === undefined ? null : { id: replaces, overlapMs: overlapHours * HOUR_MS };
      const secret = { ...wantedSecret(wanted), replaces: replaced };
      const made = await views.administration.addSecret(name, secret, actorFor(callerOf(c)));
      if (!made.ok) throw new Refusal(SECRET_PROBLEMS[made.reason]);
      return c.json({ ...await views.one(name), secret: made.secret } satisfies CreatedConnectionSecret);
    })
    .delete("/:name/secrets/:id", OWNER, async (c) => {
      const { name, id } = c.req.param();
      views.known(name);
      const isRevoked = await views.administration.revokeSecret(name, id, actorFor(callerOf(c)));
      if (!isRevoked) throw new Refusal("unknown_connection_secret");
      return c.json(await views.one(name));
    })
    .get("/:name/requests", polled(), queryValues(REQUEST_QUERY), async (c) => {
      const { outcome, text, operation, from, to, cursor, size } = c.req.valid("query");
      const filter = { text, operation, fromMs: from, toMs: to, ...outcome === "" ? {} : { outcome } };
      return c.json(await views.requests(c.req.param("name"), { filter, cursor: cursor || null, size }));
    })
    .get("/:name/matches", may("viewer"), queryValues(MATCH_QUERY), async (c) => {
      const { state, cursor, size } = c.req.valid("query");
      const options = { state: state || null, cursor: cursor || null, size };
      return c.json(await views.matches(c.req.param("name"), options));
    })
    .post("/:name/matches", OWNER, jsonBody(MATCH_DECISION), async (c) => {
      const { decision, ids } = c.req.valid("json");
      const { settings: { name } } = views.known(c.req.param("name"));
      const state = decision === "accept" ? "accepted" : "refused";
      const decided = await views.administration.decide(name, { ids, state }, actorFor(callerOf(c)));
      return c.json({ nowMs: deps.clock.nowMs(), decided } satisfies MatchesDecided);
    })
    .post("/:name/test", polled(), async (c) => {
      const connections = views.administration;
      const record = views.known(c.req.param("name"));
      return c.json(await testConnection(record, { connections, nowMs: deps.clock.nowMs() }));
    });
}

class ConnectionViews {
  readonly #deps: ConnectionRouteDeps;

  constructor(deps: ConnectionRouteDeps) {
    this.#deps = deps;
  }

  get administration(): Connect["connections"] {
    return requireGateway(this.#deps.connect).connections;
  }

  /** @throws Refusal `unknown_connection` */
  known(name: string): ConnectionRecord {
    const found = this.administration.find(name);
    if (found === null) throw new Refusal("unknown_connection");
    return found;
  }

  async list(): Promise<ConnectionList> {
    const connect = requireGateway(this.#deps.connect);
    const { connections, targets, config } = connect;
    return {
      nowMs: this.#deps.clock.nowMs(),
      items: await Promise.all(connections.list().map((record) => connectionRow(record, connect))),
      targets: targets.names,
      tokenUrl: tokenUrlOf(config),
      reserved: await connections.reserved(),
    };
  }

  async one(name: string): Promise<OneConnection> {
    const connect = requireGateway(this.#deps.connect);
    const item = await connectionRow(this.known(name), connect);
    return { nowMs: this.#deps.clock.nowMs(), tokenUrl: tokenUrlOf(connect.config), item };
  }

  async requests(
    name: string,
    options: Parameters<Connect["connections"]["requests"]>[1],
  ): Promise<ConnectionRequestPage> {
    if (!await this.#isCredential(name)) this.known(name);
    const { requests, cursor } = await this.administration.requests(name, options);
    return { nowMs: this.#deps.clock.nowMs(), rows: requests, cursor, days: REQUEST_LOG_DAYS };
  }

  async matches(
    name: string,
    options: Parameters<Connect["connections"]["proposals"]>[1],
  ): Promise<ConnectionMatchPage> {
    const { settings } = this.known(name);
    const { connections, targets } = requireGateway(this.#deps.connect);
    const { proposals, cursor } = await connections.proposals(settings.name, options);
    const target = targets.get(settings.target);
    const rows = await Promise.all(proposals.map((proposal) => matchRow(proposal, target)));
    return { nowMs: this.#deps.clock.nowMs(), rows, cursor };
  }

  /** The log has the requests of SCIM credentials as `basic:<name>`. */
  async #isCredential(name: string): Promise<boolean> {
    if (!name.startsWith(CREDENTIAL_PREFIX)) return false;
    const known = await requireGateway(this.#deps.connect).credentials.list();
    return known.some((one) => CREDENTIAL_PREFIX + one.name === name);
  }

  /** The refusal of a change that is based on an earlier version. */
  lostRace(name: string, { actor }: Caller): Refusal {
    const current = this.administration.find(name);
    if (current === null) return new Refusal("unknown_connection");
    const { changedBy, changedMs } = current;
    return Object.assign(new Refusal("changed_meanwhile"), {
      lastChange: { actor: changedBy, atMs: changedMs, isOwn: changedBy === actor },
    });
  }
}

function actorFor({ actor, source }: Caller): Actor {
  return { name: actor, source };
}

function wantedSecret({ kind = "token", days = null }: typeof NO_TOKEN): WantedSecret {
  return { kind, lifeMs: days === null ? null : days * DAY_MS };
}

/** Without the members that are `undefined`. */
function definedOf<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never;
}

/** The values that take rights from the provider. Every other change of a setting needs a recent factor. */
const NARROWER: Partial<ConnectionChange> = {
  paused: true,
  dryRun: true,
  softDelete: true,
  reactivate: false,
  removeAllMembers: false,
};

/** Whether a change lets the identity provider do more. */
function givesRights(
  before: ConnectionSettings,
  { requestsPerMinute = 0, ...change }: { [K in keyof ConnectionChange]?: ConnectionChange[K] | undefined },
): boolean {
  return requestsPerMinute > before.requestsPerMinute ||
    (Object.keys(change) as (keyof typeof change)[]).some((key) =>
      change[key] !== undefined && change[key] !== before[key] && change[key] !== NARROWER[key]
    );
}

// The bodies and queries of the connections API.

const integer = (least: number, most: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
const MAX_LIFE_DAYS = 1096;
const MAX_OVERLAP_HOURS = 720;
const MAX_DECIDED = 1000;

const CHANGES = {
  ...fieldEntries(CONNECTION_FIELDS, { isBounded: true }),
  meUser: v.optional(v.nullable(v.pipe(v.string(), v.minLength(1), v.maxLength(256)))),
} satisfies Record<keyof ConnectionChange, v.GenericSchema>;

const NEW_CONNECTION_SECRET = v.strictObject({
  kind: v.optional(v.picklist(["token", "client_secret"])),
  days: v.optional(v.nullable(integer(1, MAX_LIFE_DAYS))),
  replaces: v.optional(textUpTo(64)),
  overlapHours: v.optional(integer(0, MAX_OVERLAP_HOURS)),
});

const NEW_CONNECTION = v.strictObject({
  name: textUpTo(1024),
  kind: v.picklist(CONNECTION_KINDS),
  target: textUpTo(64),
  secret: v.optional(v.nullable(v.omit(NEW_CONNECTION_SECRET, ["replaces", "overlapHours"]))),
  ...CHANGES,
});

const CHANGED_CONNECTION = v.strictObject({
  version: v.pipe(v.number(), v.integer()),
  change: v.strictObject(CHANGES),
});

const REQUEST_QUERY = v.object({
  outcome: optionalChoice(REQUEST_OUTCOMES),
  text: v.optional(textUpTo(256), ""),
  operation: v.optional(textUpTo(64), ""),
  from: time,
  to: time,
  cursor: v.optional(textUpTo(32), ""),
  size: wholeNumber({ least: 1, most: 200, otherwise: 50 }),
});

const MATCH_QUERY = v.object({
  state: optionalChoice(ADOPTION_STATES),
  cursor: v.optional(textUpTo(200), ""),
  size: wholeNumber({ least: 1, most: 200, otherwise: 50 }),
});

const MATCH_DECISION = v.strictObject({
  decision: v.picklist(["accept", "refuse"]),
  ids: v.union([v.literal("all"), v.pipe(v.array(textUpTo(200)), v.minLength(1), v.maxLength(MAX_DECIDED))]),
});

// Connections in the form in which the API shows them.

type ConnectionSources = Pick<Connect, "connections" | "targets" | "config">;

/** The address of the OAuth token endpoint. */
function tokenUrlOf({ http }: Pick<Connect["config"], "http">): string {
  return `${http.publicUrl}/scim/oauth/token`;
}

async function connectionRow(
  { settings, ...record }: ConnectionRecord,
  { connections, targets, config }: ConnectionSources,
): Promise<ConnectionRow> {
  const { name, target } = settings;
  const [lastRequest, deletions, waitingMatches] = await Promise.all([
    connections.lastRequest(name),
    connections.deletions(settings),
    connections.countWaiting(name, MAX_COUNTED_MATCHES),
  ]);
  const { version, createdMs, createdBy, changedMs, changedBy } = record;
  return {
    ...{ settings, version, createdMs, createdBy, changedMs, changedBy },
    url: `${config.http.publicUrl}/scim/v2/${encodeURIComponent(target)}`,
    secrets: connections.secretsOf(name).map(secretRow),
    ...{ lastRequest, deletions, waitingMatches },
    lacksTarget: targets.get(target) === null,
  };
}

function secretRow(
  { id, kind, createdMs, createdBy, expiresMs, usedMs, usedFrom }: SecretRecord,
): ConnectionSecretRow {
  return { id, kind, createdMs, createdBy, expiresMs, usedMs, usedFrom };
}

/** A proposal with the current name of the resource. */
async function matchRow(
  { id: resourceId, ...proposal }: AdoptionProposal,
  target: Pick<Target, "directory"> | null,
): Promise<ConnectionMatchRow> {
  const { kind, externalId, state, firstMs, lastMs, decidedBy, decidedMs } = proposal;
  const found = await target?.directory.readHeadById(kind, resourceId) ?? null;
  return {
    id: `${kind}:${resourceId}`,
    ...{ kind, resourceId, externalId, state, firstMs, lastMs, decidedBy, decidedMs },
    name: found === null ? proposal.name : found.content.name,
    isGone: found === null,
  };
}

/** Whether the identity provider reached this server. */
async function testConnection(
  { settings: { name, paused } }: ConnectionRecord,
  { connections, nowMs }: { connections: Connect["connections"]; nowMs: number },
): Promise<ConnectionTest> {
  const [lastRequest, lastSuccess] = await Promise.all([
    connections.lastRequest(name),
    connections.lastRequest(name, { outcome: "done" }),
  ]);
  const secrets = connections.secretsOf(name).filter((secret) => connections.isValid(secret)).map(secretRow);
  const stateOf = (): ConnectionTest["state"] => {
    if (secrets.length === 0) return "no_secret";
    if (paused) return "paused";
    if (lastRequest === null) return "unused";
    return lastRequest.status < 400 ? "works" : "refused";
  };
  return { nowMs, state: stateOf(), lastRequest, lastSuccessMs: lastSuccess?.atMs ?? null, secrets };
}
