// Routes of connections: identity providers that provision users through /scim/v2, with their secrets, requests and matches.

import { Hono } from "hono";
import { DAY_MS, HOUR_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Actor } from "../../../scim/ports.ts";
import type {
  AddSecretProblem,
  CreateConnectionProblem,
  WantedSecret,
} from "../../../scim/v2/connections/connection_administration.ts";
import type { ConnectionRecord } from "../../../scim/v2/connections/connection_records.ts";
import {
  type ConnectionChange,
  type ConnectionSettings,
  CREDENTIAL_PREFIX,
  REQUEST_LOG_DAYS,
} from "../../../scim/v2/connections/connection_settings.ts";
import { may } from "../auth/permissions.ts";
import { type Connect, requireGateway } from "../deps.ts";
import type { ErrorCode } from "../error_codes.ts";
import { Refusal } from "../errors.ts";
import { type Caller, callerOf, type HttpEnv, jsonBody, queryValues } from "../hono_env.ts";
import {
  CHANGED_CONNECTION,
  MATCH_DECISION,
  MATCH_QUERY,
  NEW_CONNECTION,
  NEW_CONNECTION_SECRET,
  REQUEST_QUERY,
} from "./connection_schema.ts";
import type {
  ConnectionList,
  ConnectionMatchPage,
  ConnectionRequestPage,
  CreatedConnectionSecret,
  MatchesDecided,
  OneConnection,
} from "./connection_types.ts";
import { connectionRow, matchRow, testConnection, tokenUrlOf } from "./connection_views.ts";

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
