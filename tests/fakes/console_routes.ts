// Every route of the console API with its permission, for tests that visit all of them.

import { createConsoleApi } from "../../console/api/console_api.ts";
import { type Permission, routePermissions } from "../../console/api/auth/permissions.ts";

export interface ConsoleRoute extends Permission {
  readonly method: string;
  readonly path: string;
}

// Routes do not run when they are registered, so their dependencies are not used.
const api = createConsoleApi({} as Parameters<typeof createConsoleApi>[0]);

export const CONSOLE_ROUTES: readonly ConsoleRoute[] = routePermissions(api).map(
  ({ method, path, permission }) => {
    if (permission === null) throw new Error(`Cannot test ${method} ${path}: it declares no permission`);
    return { method, path, ...permission };
  },
);
