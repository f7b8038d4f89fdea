// Who may do what on the console's API: one row a route, looked up before any handler runs. A route without a row
// does not exist.

/** From least to most; a role may do what those before it may. */
export const ROLES = ["viewer", "operator", "user_manager", "owner"] as const;
export type Role = typeof ROLES[number];

/** One route below `/console/api`. A segment that starts with `:` stands for any one segment. */
export interface AccessRow {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** The least role, or `anyone` for those who are not signed in yet. */
  readonly needs: Role | "anyone";
  /** Whether calling it shows that somebody is there; what pages call by themselves does not. */
  readonly countsAsUse: boolean;
}

export const ACCESS: readonly AccessRow[] = [
  { method: "GET", path: "/session", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/session", needs: "anyone", countsAsUse: false },
  { method: "DELETE", path: "/session", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/session/stay", needs: "viewer", countsAsUse: true },
  { method: "POST", path: "/setup", needs: "anyone", countsAsUse: false },
  { method: "GET", path: "/live", needs: "viewer", countsAsUse: false },
  { method: "GET", path: "/live/stream", needs: "viewer", countsAsUse: false },
  { method: "POST", path: "/approvals/:id/deny", needs: "operator", countsAsUse: true },
  { method: "POST", path: "/approvals/:id/cancel", needs: "operator", countsAsUse: true },
  { method: "GET", path: "/outbox", needs: "viewer", countsAsUse: false },
  { method: "POST", path: "/outbox/:id/reveal", needs: "owner", countsAsUse: true },
];

/** The row for a request, or `null` when there is no such route. HEAD is asked like GET. */
export function accessRow(method: string, path: string): AccessRow | null {
  const asked = method === "HEAD" ? "GET" : method;
  const segments = path.split("/");
  return ACCESS.find((row) => row.method === asked && matches(row.path.split("/"), segments)) ?? null;
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return pattern.length === segments.length &&
    pattern.every((part, at) => part.startsWith(":") ? segments[at] !== "" : part === segments[at]);
}

/** Whether `role` may do what needs `needs`. */
export function isAllowed(role: Role, needs: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needs);
}
