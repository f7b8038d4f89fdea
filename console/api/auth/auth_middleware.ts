// Authentication and authorization of the console API: sessions, API tokens, roles and fresh factors are checked here,
// by the permission that the route declares, before any other handler runs.

import type { Context, MiddlewareHandler } from "hono";
import type { Clock } from "../../../platform/runtime.ts";
import { isAllowed, type Session } from "./admin_records.ts";
import { type Permission, requiredPermission, STEP_UP_MS } from "./permissions.ts";
import type { ApiTokens } from "./api_tokens.ts";
import { type HttpEnv, requireSameOrigin } from "../hono_env.ts";
import { Refusal } from "../errors.ts";
import { type Sessions, sessionToken } from "./sessions.ts";

export interface AuthDeps {
  readonly sessions: Sessions;
  readonly tokens: ApiTokens;
  readonly clock: Clock;
}

/** The session of requests through the control socket. No administrator can have its name. */
const OPERATOR: Session = {
  id: "",
  admin: { id: "command", name: "command", role: "owner", credential: "", origin: "settings" },
  deadlineMs: Number.MAX_SAFE_INTEGER,
  idleDeadlineMs: Number.MAX_SAFE_INTEGER,
  freshMs: 0,
};

/** Refuses requests that the permission of their route does not allow, and those that no route with a permission handles. */
export function createAuthMiddleware(deps: AuthDeps): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const permission = requiredPermission(c);
    // A browser adds no Authorization to another site's request by itself, and it cannot open the control socket. So the
    // origin is checked only of requests that have neither.
    const hasBearer = bearerToken(c) !== null && permission !== null && permission.needs !== "anyone";
    if (!c.env.viaControlSocket && !hasBearer) requireSameOrigin(c);
    if (permission === null) throw new Refusal("not_found");
    const { needs } = permission;
    if (needs !== "anyone") {
      const { session, again, requireFreshFactor } = await authenticate(c, permission, deps);
      if (!isAllowed(session.admin.role, needs)) throw new Refusal("role");
      c.set("isStillAllowed", () => again().then(({ admin }) => isAllowed(admin.role, needs), whenRefused));
      c.set("requireFreshFactor", requireFreshFactor);
      if (permission.stepUp) requireFreshFactor();
      c.set("session", session);
      c.var.body.allowLarge();
    }
    await next();
  };
}

/** The caller, and a later check whether the request is still allowed. */
interface Authenticated {
  readonly session: Session;
  readonly again: () => Promise<Session>;
  /** @throws Refusal unless the caller used a factor within {@link STEP_UP_MS}. */
  readonly requireFreshFactor: () => void;
}

async function authenticate(
  c: Context<HttpEnv>,
  permission: Permission,
  deps: AuthDeps,
): Promise<Authenticated> {
  if (c.env.viaControlSocket) return asOperator(permission);
  const bearer = bearerToken(c);
  return bearer === null
    ? await withCookie(sessionToken(c), permission, deps)
    : await withToken(bearer, permission, deps);
}

/**
 * The operator of this machine: only the owner of the data directory can open the control socket, and that account could
 * change the store as well. So every route is open to it, without a factor, except those about a browser's own session.
 */
function asOperator({ browserOnly }: Permission): Authenticated {
  if (browserOnly) throw new Refusal("browser_only");
  return {
    session: OPERATOR,
    again: () => Promise.resolve(OPERATOR),
    requireFreshFactor: () => undefined,
  };
}

async function withCookie(
  token: string,
  { countsAsUse }: Permission,
  { sessions, clock }: AuthDeps,
): Promise<Authenticated> {
  const resume = async (options: { countsAsUse: boolean }): Promise<Session> => {
    const session = await sessions.resume(token, options);
    if (session === null) throw new Refusal("not_signed_in");
    return session;
  };
  const session = await resume({ countsAsUse });
  return {
    session,
    again: () => resume({ countsAsUse: false }),
    requireFreshFactor() {
      if (clock.nowMs() - session.freshMs > STEP_UP_MS) throw new Refusal("step_up");
    },
  };
}

async function withToken(
  token: string,
  { stepUp, browserOnly }: Permission,
  { tokens }: AuthDeps,
): Promise<Authenticated> {
  const session = await tokens.resume(token);
  if (stepUp || browserOnly) throw new Refusal("not_for_tokens");
  return {
    session,
    again: () => tokens.resume(token),
    requireFreshFactor() {
      throw new Refusal("not_for_tokens");
    },
  };
}

/** The token of `Authorization: Bearer` (RFC 6750 §2.1), or `null` when there is none. */
function bearerToken(c: Context<HttpEnv>): string | null {
  const [scheme = "", token = ""] = (c.req.header("authorization") ?? "").split(" ");
  // Other schemes are for a reverse proxy: browsers send Basic with every request.
  return scheme.toLowerCase() === "bearer" ? token : null;
}

function whenRefused(fault: unknown): false {
  if (fault instanceof Refusal) return false;
  throw fault;
}
