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

/** @param options.prefix what stands before the paths of `ACCESS`. */
export function createRoleGate(
  deps: RoleGateDeps,
  { prefix }: { prefix: string },
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const row = accessRow(c.req.method, c.req.path.slice(prefix.length));
    const bearer = bearerToken(c);
    // A browser adds no Authorization to another site's request by itself, so only what carries none is asked for its origin.
    if (bearer === null || row === null || row.needs === "anyone") refuseForeignOrigin(c);
    if (row === null) throw new Refusal("not_found");
    if (row.needs !== "anyone") {
      const { session, again } = bearer === null
        ? await withCookie(sessionToken(c), { row, sessions: deps.sessions })
        : await withToken(bearer, { row, tokens: deps.tokens });
      const { needs } = row;
      if (!isAllowed(session.admin.role, needs)) throw new Refusal("role");
      c.set("isStillAllowed", () => again().then(({ admin }) => isAllowed(admin.role, needs), whenRefused));
      const requireFreshFactor = () => {
        if (bearer !== null) throw new Refusal("not_for_tokens");
        if (deps.clock.nowMs() - session.freshMs > STEP_UP_MS) throw new Refusal("step_up");
      };
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
}

async function withCookie(
  token: string,
  { row, sessions }: { row: AccessRow; sessions: Sessions },
): Promise<Admitted> {
  const resume = async (countsAsUse: boolean): Promise<Session> => {
    const session = await sessions.resume(token, { countsAsUse });
    if (session === null) throw new Refusal("not_signed_in");
    return session;
  };
  return { session: await resume(row.countsAsUse), again: () => resume(false) };
}

async function withToken(
  token: string,
  { row, tokens }: { row: AccessRow; tokens: ApiTokens },
): Promise<Admitted> {
  const session = await tokens.resume(token);
  if (row.stepUp || row.browserOnly) throw new Refusal("not_for_tokens");
  return { session, again: () => tokens.resume(token) };
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
