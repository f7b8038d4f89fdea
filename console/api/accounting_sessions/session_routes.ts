// Who is connected to the VPN, by accounting: all users, and one user.

import { Hono } from "hono";
import * as v from "valibot";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { SessionList } from "../../../radius/accounting/session_table.ts";
import type { HttpEnv } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { queryValues } from "../query_values.ts";
import type { ConnectedAnswer, UserSessionsAnswer } from "./session_types.ts";

export interface ConnectedRouteDeps {
  /** Absent: this console runs without a gateway that does accounting. */
  readonly vpnSessions?: SessionList;
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
