// Permissions of the console API: how a route declares the role of its caller. The first handler of each route is its declaration,
// `may("operator")`. A route without one answers 404 to everyone.

import type { Context, Hono, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import { METHOD_NAME_ALL } from "hono/router";
import type { HttpEnv } from "../hono_env.ts";
import { isAllowed, type Role } from "./admin_records.ts";

/** What a route requires of its caller. */
export interface Permission {
  /** The least role, or `anyone` if the caller need not be signed in. */
  readonly needs: Role | "anyone";
  /** Whether the help desk may also use the route. Its role does not include `needs`. */
  readonly helpDesk: boolean;
  /** Whether the request extends the session. Requests that a page sends by itself do not. */
  readonly countsAsUse: boolean;
  /** Requires a factor from the last {@link RECENT_FACTOR_MS}; API tokens are refused. */
  readonly recentFactor: boolean;
  /** Is about a browser's session, so API tokens and the control socket are refused. */
  readonly browserOnly: boolean;
  /** Sends a message to an address as a test: at most {@link TESTS_PER_MINUTE} for each administrator. */
  readonly sendsTest: boolean;
  /** Also for an administrator who must set up a second factor first. */
  readonly beforeSecondFactor: boolean;
}

/** How long a factor counts as recent. */
export const RECENT_FACTOR_MS = 5 * 60 * 1000;
/** All routes that send tests together. */
export const TESTS_PER_MINUTE = 5;

/** Declarations, by the handler that {@link may} made. */
const DECLARED = new WeakMap<object, Permission>();

/** Declares the permission of a route. It must be the route's first handler; `createAuthMiddleware` enforces it. */
export function may(
  needs: Permission["needs"],
  {
    helpDesk = false,
    countsAsUse = true,
    recentFactor = false,
    browserOnly = false,
    sendsTest = false,
    beforeSecondFactor = false,
  }: Partial<Omit<Permission, "needs">> = {},
): MiddlewareHandler<HttpEnv> {
  const declaration: MiddlewareHandler<HttpEnv> = (_c, next) => next();
  const permission = {
    needs,
    helpDesk,
    countsAsUse,
    recentFactor,
    browserOnly,
    sendsTest,
    beforeSecondFactor,
  };
  DECLARED.set(declaration, permission);
  return declaration;
}

/** Whether an administrator with this role may use a route. */
export function isPermitted(
  role: Role,
  { needs, helpDesk }: Pick<Permission, "needs" | "helpDesk">,
): boolean {
  if (needs === "anyone" || (helpDesk && isAllowed(role, "help_desk"))) return true;
  return isAllowed(role, needs);
}

/** The permission of the route that will handle the request; `null` if there is no route, or it declares none. */
export function requiredPermission(c: Context<HttpEnv>): Permission | null {
  const first = matchedRoutes(c).find(({ method }) => method !== METHOD_NAME_ALL);
  return first === undefined ? null : DECLARED.get(first.handler) ?? null;
}

/** A route of the console API. A segment of `path` that starts with `:` matches any one segment. */
interface RoutePermission {
  readonly method: string;
  readonly path: string;
  /** `null`: the route declares no permission, so every request for it is refused. */
  readonly permission: Permission | null;
}

/** Every route of an application with its permission, in the order of registration. */
export function routePermissions({ routes }: Pick<Hono<HttpEnv>, "routes">): RoutePermission[] {
  const found = new Map<string, RoutePermission>();
  for (const { method, path, handler } of routes) {
    const key = `${method} ${path}`;
    if (method === METHOD_NAME_ALL || found.has(key)) continue;
    found.set(key, { method, path, permission: DECLARED.get(handler) ?? null });
  }
  return [...found.values()];
}
