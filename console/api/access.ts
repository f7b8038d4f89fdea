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
  /** Whether the call shows that a person is active; calls that pages make by themselves do not. */
  readonly countsAsUse: boolean;
  /** Asks for a factor shown within the last {@link STEP_UP_MS}; no API token can do it. */
  readonly stepUp?: true;
  /** Is about a browser's session, so no API token can do it. */
  readonly browserOnly?: true;
}

/** How long a shown factor counts as fresh. */
export const STEP_UP_MS = 5 * 60 * 1000;

/** Changes of an administrator's own factors: only in a browser, with a fresh factor. */
const OWN_FACTOR = { needs: "viewer", countsAsUse: true, stepUp: true, browserOnly: true } as const;

export const ACCESS: readonly AccessRow[] = [
  { method: "GET", path: "/session", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/session", needs: "anyone", countsAsUse: false },
  { method: "DELETE", path: "/session", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/session/stay", needs: "viewer", countsAsUse: true, browserOnly: true },
  { method: "POST", path: "/session/passkey/options", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/session/passkey", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/session/step-up", needs: "viewer", countsAsUse: true, browserOnly: true },
  { method: "POST", path: "/setup", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/setup/link", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/setup/passkey/options", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/setup/passkey", needs: "anyone", countsAsUse: false },
  { method: "POST", path: "/oidc/start", needs: "anyone", countsAsUse: false },
  { method: "GET", path: "/oidc/callback", needs: "anyone", countsAsUse: false },
  { method: "GET", path: "/factors", needs: "viewer", countsAsUse: true, browserOnly: true },
  { method: "POST", path: "/factors/totp", ...OWN_FACTOR },
  { method: "POST", path: "/factors/totp/confirm", ...OWN_FACTOR },
  { method: "DELETE", path: "/factors/totp", ...OWN_FACTOR },
  { method: "POST", path: "/factors/recovery-codes", ...OWN_FACTOR },
  { method: "POST", path: "/factors/passkeys/options", ...OWN_FACTOR },
  { method: "POST", path: "/factors/passkeys", ...OWN_FACTOR },
  { method: "DELETE", path: "/factors/passkeys/:id", ...OWN_FACTOR },
  { method: "GET", path: "/sessions", needs: "viewer", countsAsUse: true, browserOnly: true },
  { method: "DELETE", path: "/sessions/:id", needs: "viewer", countsAsUse: true, browserOnly: true },
  { method: "GET", path: "/administrators", needs: "viewer", countsAsUse: true },
  { method: "POST", path: "/administrators", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "PATCH", path: "/administrators/:id", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "DELETE", path: "/administrators/:id", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "POST", path: "/administrators/:id/link", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "GET", path: "/administrators/:id/sessions", needs: "owner", countsAsUse: true },
  { method: "DELETE", path: "/administrators/:id/sessions", needs: "owner", countsAsUse: true },
  { method: "DELETE", path: "/invitations/:id", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "GET", path: "/tokens", needs: "owner", countsAsUse: true },
  { method: "POST", path: "/tokens", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "DELETE", path: "/tokens/:id", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "GET", path: "/live", needs: "viewer", countsAsUse: false },
  { method: "GET", path: "/live/stream", needs: "viewer", countsAsUse: false },
  { method: "GET", path: "/live/picture", needs: "viewer", countsAsUse: false },
  { method: "GET", path: "/live/strays", needs: "viewer", countsAsUse: false },
  { method: "GET", path: "/live/logins/:id", needs: "viewer", countsAsUse: false },
  { method: "GET", path: "/first-steps", needs: "viewer", countsAsUse: false },
  { method: "PUT", path: "/first-steps/:name", needs: "owner", countsAsUse: true },
  { method: "GET", path: "/connected", needs: "viewer", countsAsUse: false },
  { method: "GET", path: "/history", needs: "viewer", countsAsUse: true },
  { method: "GET", path: "/history/export", needs: "viewer", countsAsUse: true },
  { method: "GET", path: "/charts", needs: "viewer", countsAsUse: true },
  { method: "GET", path: "/audit", needs: "viewer", countsAsUse: true },
  { method: "GET", path: "/audit/export", needs: "viewer", countsAsUse: true, stepUp: true },
  { method: "GET", path: "/settings", needs: "viewer", countsAsUse: true },
  { method: "POST", path: "/approvals/:id/deny", needs: "operator", countsAsUse: true },
  { method: "POST", path: "/approvals/:id/cancel", needs: "operator", countsAsUse: true },
  { method: "GET", path: "/group-names", needs: "viewer", countsAsUse: true },
  { method: "GET", path: "/users", needs: "viewer", countsAsUse: true },
  { method: "POST", path: "/users", needs: "user_manager", countsAsUse: true },
  { method: "GET", path: "/users/:id", needs: "viewer", countsAsUse: true },
  { method: "PUT", path: "/users/:id", needs: "user_manager", countsAsUse: true },
  { method: "DELETE", path: "/users/:id", needs: "user_manager", countsAsUse: true },
  { method: "PUT", path: "/users/:id/active", needs: "user_manager", countsAsUse: true },
  { method: "PUT", path: "/users/:id/password", needs: "user_manager", countsAsUse: true, stepUp: true },
  { method: "PUT", path: "/users/:id/groups", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/users/:id/refresh", needs: "operator", countsAsUse: true },
  { method: "POST", path: "/users/:id/retry", needs: "user_manager", countsAsUse: true },
  { method: "GET", path: "/users/:id/backends", needs: "viewer", countsAsUse: false },
  { method: "GET", path: "/users/:id/timeline", needs: "viewer", countsAsUse: true },
  { method: "GET", path: "/users/:id/sessions", needs: "viewer", countsAsUse: true },
  { method: "POST", path: "/users/:id/trial", needs: "viewer", countsAsUse: true },
  { method: "POST", path: "/users/:id/invitation", needs: "user_manager", countsAsUse: true, stepUp: true },
  { method: "POST", path: "/users/:id/pairings", needs: "user_manager", countsAsUse: true, stepUp: true },
  { method: "PUT", path: "/users/:id/pairings/:pairing", needs: "user_manager", countsAsUse: true },
  // A user without a factor can enrol at login, so the removal of a factor opens a way to sign in.
  {
    method: "DELETE",
    path: "/users/:id/pairings/:pairing",
    needs: "user_manager",
    countsAsUse: true,
    stepUp: true,
  },
  {
    method: "POST",
    path: "/users/:id/unconfirmed/:factor/keep",
    needs: "user_manager",
    countsAsUse: true,
    stepUp: true,
  },
  {
    method: "DELETE",
    path: "/users/:id/unconfirmed/:factor",
    needs: "user_manager",
    countsAsUse: true,
    stepUp: true,
  },
  { method: "POST", path: "/users/:id/totp", needs: "user_manager", countsAsUse: true, stepUp: true },
  { method: "POST", path: "/users/:id/totp/confirm", needs: "user_manager", countsAsUse: true, stepUp: true },
  { method: "PUT", path: "/users/:id/preference", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/users/:id/me-link", needs: "user_manager", countsAsUse: true, stepUp: true },
  { method: "GET", path: "/notices", needs: "viewer", countsAsUse: false },
  { method: "DELETE", path: "/notices/:id", needs: "operator", countsAsUse: true },
  { method: "POST", path: "/users/:id/unlock", needs: "user_manager", countsAsUse: true, stepUp: true },
  {
    method: "POST",
    path: "/users/:id/reset-limits",
    needs: "user_manager",
    countsAsUse: true,
    stepUp: true,
  },
  { method: "GET", path: "/groups", needs: "viewer", countsAsUse: true },
  { method: "POST", path: "/groups", needs: "user_manager", countsAsUse: true },
  { method: "GET", path: "/groups/:id", needs: "viewer", countsAsUse: true },
  { method: "DELETE", path: "/groups/:id", needs: "user_manager", countsAsUse: true },
  { method: "GET", path: "/groups/:id/members", needs: "viewer", countsAsUse: true },
  { method: "PUT", path: "/groups/:id/members", needs: "user_manager", countsAsUse: true },
  { method: "PUT", path: "/groups/:id/replies", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "GET", path: "/devices", needs: "viewer", countsAsUse: true },
  { method: "GET", path: "/devices/:id", needs: "viewer", countsAsUse: true },
  { method: "DELETE", path: "/devices/:id", needs: "user_manager", countsAsUse: true, stepUp: true },
  { method: "POST", path: "/bulk", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/bulk/preview", needs: "user_manager", countsAsUse: true },
  { method: "GET", path: "/jobs/:id", needs: "user_manager", countsAsUse: false },
  { method: "GET", path: "/jobs/:id/items", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/jobs/:id/stop", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/jobs/:id/undo", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/imports", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/imports/:id/text", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/imports/:id/check", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/imports/rows", needs: "user_manager", countsAsUse: true, stepUp: true },
  { method: "GET", path: "/imports/:id", needs: "user_manager", countsAsUse: true },
  { method: "PUT", path: "/imports/:id/rows/:line", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/imports/:id/apply", needs: "user_manager", countsAsUse: true, stepUp: true },
  { method: "DELETE", path: "/imports/:id", needs: "user_manager", countsAsUse: true },
  { method: "GET", path: "/export/users", needs: "user_manager", countsAsUse: true },
  { method: "GET", path: "/export/groups", needs: "user_manager", countsAsUse: true },
  { method: "GET", path: "/clients", needs: "viewer", countsAsUse: true },
  { method: "POST", path: "/clients", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "POST", path: "/clients/heard", needs: "owner", countsAsUse: false },
  { method: "POST", path: "/clients/first-factor", needs: "owner", countsAsUse: true },
  { method: "GET", path: "/clients/:id", needs: "viewer", countsAsUse: true },
  { method: "PUT", path: "/clients/:id", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "DELETE", path: "/clients/:id", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "POST", path: "/clients/:id/secret", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "DELETE", path: "/clients/:id/overlap", needs: "owner", countsAsUse: true },
  { method: "DELETE", path: "/clients/:id/signing", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "GET", path: "/targets", needs: "viewer", countsAsUse: true },
  { method: "GET", path: "/targets/:id", needs: "viewer", countsAsUse: false },
  { method: "POST", path: "/targets/:id/test", needs: "operator", countsAsUse: true },
  { method: "POST", path: "/targets/:id/retry", needs: "user_manager", countsAsUse: true },
  { method: "POST", path: "/targets/:id/refresh", needs: "user_manager", countsAsUse: true },
  { method: "GET", path: "/targets/:id/sample", needs: "viewer", countsAsUse: true },
  { method: "POST", path: "/targets/:id/preview", needs: "viewer", countsAsUse: true },
  { method: "GET", path: "/credentials", needs: "owner", countsAsUse: true },
  { method: "POST", path: "/credentials", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "DELETE", path: "/credentials/:id", needs: "owner", countsAsUse: true, stepUp: true },
  { method: "GET", path: "/health", needs: "viewer", countsAsUse: false },
  { method: "POST", path: "/health/test", needs: "operator", countsAsUse: true },
  { method: "GET", path: "/outbox", needs: "viewer", countsAsUse: false },
  { method: "POST", path: "/outbox/:id/reveal", needs: "owner", countsAsUse: true, stepUp: true },
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
