// The console's API below /console/api: the checks that every route shares, then the routes.

import { Hono, type MiddlewareHandler } from "hono";
import { accessRow, isAllowed } from "./access.ts";
import { type ApprovalRouteDeps, createApprovalRoutes } from "./approval_routes.ts";
import { type HttpEnv, sameOrigin } from "./http_env.ts";
import { createLiveRoutes, type LiveRouteDeps } from "./live_routes.ts";
import { createOutboxRoutes, type OutboxRouteDeps } from "./outbox_routes.ts";
import { Refusal } from "./refusal.ts";
import {
  createSessionRoutes,
  createSetUpRoutes,
  type SessionRouteDeps,
  sessionToken,
} from "./session_routes.ts";
import type { Sessions } from "./sessions.ts";

export type ConsoleApiDeps = SessionRouteDeps & LiveRouteDeps & ApprovalRouteDeps & OutboxRouteDeps;

export const CONSOLE_API_PATH = "/console/api";

/** For the typed client: `hc<ConsoleApi>("/console/api")`. */
export type ConsoleApi = ReturnType<typeof createConsoleApi>;

export function createConsoleApi(deps: ConsoleApiDeps) {
  return new Hono<HttpEnv>()
    .use(sameOrigin)
    .use(requireRole(deps.sessions))
    .route("/session", createSessionRoutes(deps))
    .route("/setup", createSetUpRoutes(deps))
    .route("/live", createLiveRoutes(deps))
    .route("/approvals", createApprovalRoutes(deps))
    .route("/outbox", createOutboxRoutes(deps));
}

/** The one place where roles are enforced; what a route needs is a row of `ACCESS`. */
function requireRole(sessions: Sessions): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const row = accessRow(c.req.method, c.req.path.slice(CONSOLE_API_PATH.length));
    if (row === null) throw new Refusal("not_found");
    if (row.needs !== "anyone") {
      const session = await sessions.resume(sessionToken(c), { countsAsUse: row.countsAsUse });
      if (session === null) throw new Refusal("not_signed_in");
      if (!isAllowed(session.admin.role, row.needs)) throw new Refusal("role");
      c.set("session", session);
    }
    await next();
  };
}
