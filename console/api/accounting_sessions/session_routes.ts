// Routes of accounting sessions: all connected users, and one user.

import { Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { AccountingSessionList } from "../../../radius/accounting/session_table.ts";
import { type HttpEnv, queryValues } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import type { SessionView } from "../../../radius/accounting/session.ts";

export interface ConnectedRouteDeps {
  /** Absent: this console runs without a gateway that does accounting. */
  readonly vpnSessions?: AccountingSessionList;
}

/** Sessions in one answer. */
const MAX_SESSIONS = 100;
const QUERY = v.object({ client: v.optional(v.pipe(v.string(), v.maxLength(256)), "") });
const NONE: ConnectedAnswer = { sessions: [], total: 0, stale: 0 };

export function createConnectedRoutes({ vpnSessions }: ConnectedRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/connected", may("viewer", { countsAsUse: false }), queryValues(QUERY), (c) => {
      const { client } = c.req.valid("query");
      return c.json<ConnectedAnswer>(vpnSessions?.connected({ limit: MAX_SESSIONS, client }) ?? NONE);
    })
    .get("/users/:id/sessions", may("viewer"), (c) => {
      const user = canonicalName(c.req.param("id"));
      return c.json<UserSessionsAnswer>({ sessions: vpnSessions?.ofUser(user, MAX_SESSIONS) ?? [] });
    });
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
