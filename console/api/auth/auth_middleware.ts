// Authentication and authorization of the console API. Checks session, API token, role and recent factor against the permission
// of the route, before any other handler runs.

import type { Context, MiddlewareHandler } from "hono";
import type { Clock } from "../../../platform/runtime.ts";
import type { Admin, Session } from "./admin_records.ts";
import { isPermitted, type Permission, RECENT_FACTOR_MS, requiredPermission } from "./permissions.ts";
import type { ChangeLimit } from "../change_limits.ts";
import type { ApiTokens } from "./api_tokens.ts";
import { type HttpEnv, requireSameOrigin } from "../hono_env.ts";
import { Refusal } from "../errors.ts";
import { type Sessions, sessionToken } from "./sessions.ts";

export interface AuthDeps {
  readonly sessions: Sessions;
  readonly tokens: ApiTokens;
  readonly testLimit: ChangeLimit;
  readonly clock: Clock;
  /** Whether an administrator must set up a second factor before anything else. */
  readonly mustSetUpFactor: (admin: Admin) => Promise<boolean>;
}

/** The session of commands, which use the control socket. No administrator can have its name. */
const COMMAND_SESSION: Session = {
  id: "",
  admin: { id: "command", name: "command", role: "owner", credential: "", origin: "settings" },
  personId: "command",
  deadlineMs: Number.MAX_SAFE_INTEGER,
  idleDeadlineMs: Number.MAX_SAFE_INTEGER,
  freshMs: 0,
};

/** Refuses requests that the permission of their route does not allow, and requests without such a route. */
export function createAuthMiddleware(deps: AuthDeps): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const permission = requiredPermission(c);
    // Another site cannot make a browser send Authorization or open the control socket. So the origin is checked only
    // for requests without either.
    const hasBearer = bearerToken(c) !== null && permission !== null && permission.needs !== "anyone";
    if (!c.env.viaControlSocket && !hasBearer) requireSameOrigin(c);
    if (permission === null) throw new Refusal("not_found");
    const { needs } = permission;
    if (needs !== "anyone") {
      const { session, again, requireRecentFactor } = await authenticate(c, permission, deps);
      if (!isPermitted(session.admin.role, permission)) throw new Refusal("role");
      c.set(
        "isStillAllowed",
        () => again().then(({ admin }) => isPermitted(admin.role, permission), whenRefused),
      );
      c.set("requireRecentFactor", requireRecentFactor);
      if (permission.recentFactor) requireRecentFactor();
      if (permission.sendsTest && !c.env.viaControlSocket) await deps.testLimit.take(session.admin.id);
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
  /** @throws Refusal unless the caller used a factor within {@link RECENT_FACTOR_MS}. */
  readonly requireRecentFactor: () => void;
}

async function authenticate(
  c: Context<HttpEnv>,
  permission: Permission,
  deps: AuthDeps,
): Promise<Authenticated> {
  if (c.env.viaControlSocket) return asCommand(permission);
  const bearer = bearerToken(c);
  return bearer === null
    ? await withCookie(sessionToken(c), permission, deps)
    : await withToken(bearer, permission, deps);
}

/**
 * A command on this machine. Only the owner of the data directory can open the control socket, and that account can also
 * change the store. So it has the role owner and needs no factor. Routes about a browser's own session are refused.
 */
function asCommand({ browserOnly }: Permission): Authenticated {
  if (browserOnly) throw new Refusal("browser_only");
  return {
    session: COMMAND_SESSION,
    again: () => Promise.resolve(COMMAND_SESSION),
    requireRecentFactor: () => undefined,
  };
}

async function withCookie(
  token: string,
  { countsAsUse, beforeSecondFactor }: Permission,
  { sessions, clock, mustSetUpFactor }: AuthDeps,
): Promise<Authenticated> {
  const resume = async (options: { countsAsUse: boolean }): Promise<Session> => {
    const session = await sessions.resume(token, options);
    if (session === null) throw new Refusal("not_signed_in");
    if (!beforeSecondFactor && await mustSetUpFactor(session.admin)) {
      throw new Refusal("second_factor_needed");
    }
    return session;
  };
  const session = await resume({ countsAsUse });
  return {
    session,
    again: () => resume({ countsAsUse: false }),
    requireRecentFactor() {
      if (clock.nowMs() - session.freshMs > RECENT_FACTOR_MS) throw new Refusal("step_up");
    },
  };
}

async function withToken(
  token: string,
  { recentFactor, browserOnly }: Permission,
  { tokens }: AuthDeps,
): Promise<Authenticated> {
  const session = await tokens.resume(token);
  if (recentFactor || browserOnly) throw new Refusal("not_for_tokens");
  return {
    session,
    again: () => tokens.resume(token),
    requireRecentFactor() {
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
