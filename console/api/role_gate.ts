// The one place where roles, fresh factors and API tokens are judged: before any handler runs, by the row of ACCESS.

import type { Context, MiddlewareHandler } from "hono";
import type { Clock } from "../../runtime.ts";
import { type AccessRow, accessRow, isAllowed, STEP_UP_MS } from "./access.ts";
import type { ApiTokens } from "./sign_in/api_tokens.ts";
import { type HttpEnv, refuseForeignOrigin } from "./http_env.ts";
import { Refusal } from "./refusal.ts";
import { sessionToken } from "./sign_in/session_cookie.ts";
import type { Session, Sessions } from "./sign_in/sessions.ts";

export interface RoleGateDeps {
  readonly sessions: Sessions;
  readonly tokens: ApiTokens;
  readonly clock: Clock;
}

/** Who sends requests through the control socket. The audit log names it by `admin.name`, which no administrator can have. */
const OPERATOR: Session = {
  id: "",
  admin: { id: "command", name: "command", role: "owner", credential: "", origin: "settings" },
  deadlineMs: Number.MAX_SAFE_INTEGER,
  idleDeadlineMs: Number.MAX_SAFE_INTEGER,
  freshMs: 0,
};

/** @param options.prefix what stands before the paths of `ACCESS`. */
export function createRoleGate(
  deps: RoleGateDeps,
  { prefix }: { prefix: string },
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const row = accessRow(c.req.method, c.req.path.slice(prefix.length));
    // A browser adds no Authorization to another site's request by itself, and it cannot open the control socket. So the
    // origin is checked only of requests that have neither.
    const hasBearer = bearerToken(c) !== null && row !== null && row.needs !== "anyone";
    if (!c.env.viaControlSocket && !hasBearer) refuseForeignOrigin(c);
    if (row === null) throw new Refusal("not_found");
    if (row.needs !== "anyone") {
      const { session, again, requireFreshFactor } = await admit(c, row, deps);
      const { needs } = row;
      if (!isAllowed(session.admin.role, needs)) throw new Refusal("role");
      c.set("isStillAllowed", () => again().then(({ admin }) => isAllowed(admin.role, needs), whenRefused));
      c.set("requireFreshFactor", requireFreshFactor);
      if (row.stepUp) requireFreshFactor();
      c.set("session", session);
      c.env.allowLargeBody();
    }
    await next();
  };
}

/** Who asks, and how to find out later whether they still may. */
interface Admitted {
  readonly session: Session;
  readonly again: () => Promise<Session>;
  /** @throws Refusal unless a factor was shown within {@link STEP_UP_MS}. */
  readonly requireFreshFactor: () => void;
}

async function admit(c: Context<HttpEnv>, row: AccessRow, deps: RoleGateDeps): Promise<Admitted> {
  if (c.env.viaControlSocket) return asOperator(row);
  const bearer = bearerToken(c);
  return bearer === null ? await withCookie(sessionToken(c), row, deps) : await withToken(bearer, row, deps);
}

/**
 * The operator of this machine: only the owner of the data directory can open the control socket, and that account could
 * change the store as well. So every route is open to it, without a factor, except those about a browser's own session.
 */
function asOperator(row: AccessRow): Admitted {
  if (row.browserOnly) throw new Refusal("browser_only");
  return {
    session: OPERATOR,
    again: () => Promise.resolve(OPERATOR),
    requireFreshFactor: () => undefined,
  };
}

async function withCookie(
  token: string,
  row: AccessRow,
  { sessions, clock }: RoleGateDeps,
): Promise<Admitted> {
  const resume = async (countsAsUse: boolean): Promise<Session> => {
    const session = await sessions.resume(token, { countsAsUse });
    if (session === null) throw new Refusal("not_signed_in");
    return session;
  };
  const session = await resume(row.countsAsUse);
  return {
    session,
    again: () => resume(false),
    requireFreshFactor() {
      if (clock.nowMs() - session.freshMs > STEP_UP_MS) throw new Refusal("step_up");
    },
  };
}

async function withToken(token: string, row: AccessRow, { tokens }: RoleGateDeps): Promise<Admitted> {
  const session = await tokens.resume(token);
  if (row.stepUp || row.browserOnly) throw new Refusal("not_for_tokens");
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
  // Another scheme is a proxy's affair: browsers repeat Basic with every request.
  return scheme.toLowerCase() === "bearer" ? token : null;
}

/** A refusal is an answer here; anything else is a fault. */
function whenRefused(fault: unknown): false {
  if (fault instanceof Refusal) return false;
  throw fault;
}
