// Routes of accounting sessions: all connected users, one user, and the end of sessions at their NAS.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { auditEntry } from "../../../platform/audit.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Store } from "../../../platform/store.ts";
import type { AccountingSession, SessionView } from "../../../radius/accounting/session.ts";
import type { SessionAdministration } from "../../../radius/dynamic_authorization/disconnects.ts";
import { callerOf, EMPTY, type HttpEnv, jsonBody, queryValues } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";

export interface ConnectedRouteDeps {
  readonly store: Store;
  /** Absent: this console runs without a gateway that does accounting. */
  readonly vpnSessions?: SessionAdministration;
}

/** Sessions in one answer. */
const MAX_SESSIONS = 100;
/** Sessions of a user that one request ends. */
const MAX_DISCONNECTS = 1000;
const QUERY = v.object({ client: v.optional(v.pipe(v.string(), v.maxLength(256)), "") });
const NONE: ConnectedAnswer = { sessions: [], total: 0, stale: 0 };

export function createConnectedRoutes(deps: ConnectedRouteDeps) {
  const { vpnSessions } = deps;
  return new Hono<HttpEnv>()
    .get("/connected", may("viewer", { countsAsUse: false }), queryValues(QUERY), (c) => {
      const { client } = c.req.valid("query");
      return c.json<ConnectedAnswer>(vpnSessions?.connected({ limit: MAX_SESSIONS, client }) ?? NONE);
    })
    .post("/connected/:id/disconnect", may("operator"), jsonBody(EMPTY), async (c) => {
      const session = vpnSessions?.find(c.req.param("id")) ?? null;
      if (session === null || session.endedMs !== null) throw new Refusal("unknown_vpn_session");
      return c.json(await disconnect(deps, c, [session]));
    })
    .get("/users/:id/sessions", may("viewer"), (c) => {
      const user = canonicalName(c.req.param("id"));
      return c.json<UserSessionsAnswer>({ sessions: vpnSessions?.ofUser(user, MAX_SESSIONS) ?? [] });
    })
    .post("/users/:id/sessions/disconnect", may("operator"), jsonBody(EMPTY), async (c) => {
      const user = canonicalName(c.req.param("id"));
      return c.json(await disconnect(deps, c, vpnSessions?.connectedOf(user, MAX_DISCONNECTS) ?? []));
    });
}

/** Orders the end of sessions, with an audit record for each user in the same commit. The lists show the results. */
async function disconnect(
  { store, vpnSessions }: ConnectedRouteDeps,
  c: Context<HttpEnv>,
  sessions: readonly AccountingSession[],
): Promise<DisconnectOrdered> {
  const [first] = sessions;
  if (vpnSessions === undefined || first === undefined) return { ordered: 0 };
  const caller = callerOf(c);
  const prepared = vpnSessions.prepareDisconnects(sessions, { reason: "operator", actor: caller.actor });
  const record = auditEntry({
    ...caller,
    action: "vpn_session.disconnect",
    object: `user:${first.shownUser}`,
    ...(sessions.length > 1
      ? { count: sessions.length }
      : { client: first.client, nas: first.nas, session: first.sessionId }),
  });
  await store.commit({ mutations: [...prepared.mutations, record] });
  prepared.done();
  return { ordered: sessions.length };
}

export type { SessionView };

/** Who is connected now. */
export interface ConnectedAnswer {
  /** Newest first; at most 100. */
  readonly sessions: readonly SessionView[];
  /** All connected sessions, stale ones included. */
  readonly total: number;
  readonly stale: number;
}

export interface UserSessionsAnswer {
  /** Connected ones first, then ended ones, newest first; at most 100. */
  readonly sessions: readonly SessionView[];
}

/** How many sessions the gateway tries to end. */
interface DisconnectOrdered {
  readonly ordered: number;
}
