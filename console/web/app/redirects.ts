// Addresses that redirect to the address of a page. The server answers them.

import { PAGE_ROUTES, type RouteName } from "./routes.ts";

/** Addresses by the name that the console shows. They redirect to the address of the page. */
const OTHER_NAMES: Readonly<Record<string, RouteName>> = {
  "administrators": "access",
  "audit-log": "audit",
  "authenticators": "devices",
  "connectors": "targets",
  "directories": "targets",
  "identity-providers": "connections",
  "provisioning-tokens": "credentials",
  "radius-clients": "clients",
  "reports": "charts",
  "sign-in-log": "live",
  "system-status": "health",
};

/** The patterns of the addresses that redirect. */
export const REDIRECT_PATTERNS: readonly string[] = Object.keys(OTHER_NAMES).flatMap((name) => [
  `/${name}`,
  `/${name}/:id`,
]);

/** Where a path redirects to: `/directories/hq` to `/targets/hq`. `null`: it does not redirect. */
export function redirectedPath(path: string): string | null {
  const [, name = "", ...rest] = path.split("/");
  const route = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
  return route === undefined ? null : [PAGE_ROUTES[route].pattern, ...rest].join("/");
}
