// The table of pages: address, sidebar entry, and required role. Data only, because the server reads the addresses, too.

import type { Role } from "../../api/auth/admin_records.ts";
import type { SpriteIcon } from "../components/icons.tsx";
import type { MessageKey } from "../i18n/catalogue.ts";

export type SidebarGroup = "watch" | "manage" | "connect" | "govern";

/** The sidebar entry of a route. */
interface SidebarEntry {
  readonly group: SidebarGroup;
  readonly icon: SpriteIcon;
  /** `l`: the keys `g l` open the page. */
  readonly key?: string;
  /** Whether the page is one of the four in the bottom bar of small screens. */
  readonly isInBottomBar?: boolean;
  /** A shorter title for the bottom bar. */
  readonly shortTitle?: MessageKey;
}

export interface PageRoute {
  /** `/users/:id`: a segment that starts with `:` matches any segment and names it. */
  readonly pattern: string;
  /** The required role; `anyone`: without a session and the sidebar. */
  readonly needs: Role | "anyone";
  readonly title: MessageKey;
  /** Without a sidebar entry, the page is opened from another page. */
  readonly sidebar?: SidebarEntry;
  /** The route whose sidebar link is current here. Default: this one. */
  readonly parent?: string;
}

export const PAGE_ROUTES = {
  live: {
    pattern: "/live",
    needs: "viewer",
    title: "shell.live",
    sidebar: { group: "watch", icon: "activity", key: "l", isInBottomBar: true },
  },
  users: {
    pattern: "/users",
    needs: "viewer",
    title: "shell.users",
    sidebar: { group: "manage", icon: "users", key: "u", isInBottomBar: true },
  },
  import: {
    pattern: "/users/import",
    needs: "user_manager",
    title: "shell.import",
    parent: "users",
  },
  groups: {
    pattern: "/groups",
    needs: "viewer",
    title: "shell.groups",
    sidebar: { group: "manage", icon: "users-round", key: "g" },
  },
  group: {
    pattern: "/groups/:id",
    needs: "viewer",
    title: "shell.group",
    parent: "groups",
  },
  devices: {
    pattern: "/devices",
    needs: "viewer",
    title: "shell.devices",
    sidebar: { group: "manage", icon: "smartphone" },
  },
  user: {
    pattern: "/users/:id",
    needs: "viewer",
    title: "shell.user",
    parent: "users",
  },
  conversation: {
    pattern: "/live/c/:id",
    needs: "viewer",
    title: "shell.conversation",
    parent: "live",
  },
  dropped: {
    pattern: "/live/dropped",
    needs: "viewer",
    title: "shell.dropped",
    parent: "live",
  },
  history: {
    pattern: "/history",
    needs: "viewer",
    title: "shell.history",
    sidebar: { group: "watch", icon: "history", key: "h", isInBottomBar: true },
  },
  charts: {
    pattern: "/charts",
    needs: "viewer",
    title: "shell.charts",
    sidebar: { group: "watch", icon: "chart-line", key: "m" },
  },
  health: {
    pattern: "/health",
    needs: "viewer",
    title: "shell.health",
    sidebar: { group: "watch", icon: "heart-pulse" },
  },
  nodes: {
    pattern: "/nodes",
    needs: "viewer",
    title: "shell.nodes",
    parent: "health",
  },
  clients: {
    pattern: "/clients",
    needs: "viewer",
    title: "shell.clients",
    sidebar: {
      group: "connect",
      icon: "network",
      key: "c",
      isInBottomBar: true,
      shortTitle: "shell.clients_short",
    },
  },
  client: { pattern: "/clients/:id", needs: "viewer", title: "shell.client", parent: "clients" },
  targets: {
    pattern: "/targets",
    needs: "viewer",
    title: "shell.targets",
    sidebar: { group: "connect", icon: "target", key: "t" },
  },
  target: { pattern: "/targets/:id", needs: "viewer", title: "shell.target", parent: "targets" },
  credentials: {
    pattern: "/credentials",
    needs: "viewer",
    title: "shell.credentials",
    sidebar: { group: "connect", icon: "key-round" },
  },
  access: {
    pattern: "/access",
    needs: "viewer",
    title: "shell.access",
    sidebar: { group: "govern", icon: "shield", key: "s" },
  },
  audit: {
    pattern: "/audit",
    needs: "viewer",
    title: "shell.audit",
    sidebar: { group: "govern", icon: "scroll-text", key: "a" },
  },
  settings: {
    pattern: "/settings",
    needs: "viewer",
    title: "shell.settings",
    sidebar: { group: "govern", icon: "settings", key: "," },
  },
  first_run: {
    pattern: "/first-run",
    needs: "viewer",
    title: "shell.first_run",
    parent: "live",
  },
  set_up: { pattern: "/setup", needs: "anyone", title: "shell.set_up" },
} as const satisfies Record<string, PageRoute>;

export type RouteName = keyof typeof PAGE_ROUTES;
const ROWS = Object.entries(PAGE_ROUTES) as [RouteName, PageRoute][];
const HOME: RouteName = "live";

/** The route of an address. */
export interface RouteMatch {
  readonly name: RouteName;
  readonly route: PageRoute;
  /** The named segments, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** The page of a path, or `null`. Rows are tried in order, exact segments before named ones. `/` is the home page. */
export function matchRoute(path: string): RouteMatch | null {
  if (path === "/") return { name: HOME, route: PAGE_ROUTES[HOME], params: {} };
  const segments = path.split("/");
  let found: RouteMatch | null = null;
  for (const [name, route] of ROWS) {
    const params = matchParams(route.pattern, segments);
    if (params === null) continue;
    if (Object.keys(params).length === 0) return { name, route, params };
    found ??= { name, route, params };
  }
  return found;
}

function matchParams(pattern: string, segments: readonly string[]): Record<string, string> | null {
  const parts = pattern.split("/");
  if (parts.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    const segment = segments[at] ?? "";
    if (!part.startsWith(":")) {
      if (part !== segment) return null;
    } else if (segment === "") return null;
    else params[part.slice(1)] = decodeSegment(segment);
  }
  return params;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (_notWellFormed) {
    return segment;
  }
}

/** The rows of the sidebar, in order. */
export function sidebarRoutes(): readonly (readonly [
  RouteName,
  PageRoute & { sidebar: NonNullable<PageRoute["sidebar"]> },
])[] {
  return ROWS.flatMap(([name, route]) =>
    route.sidebar === undefined ? [] : [[name, { ...route, sidebar: route.sidebar }] as const]
  );
}

/** The page of a user. */
export function userHref(name: string, target = ""): string {
  return `/users/${encodeURIComponent(name)}${target === "" ? "" : `?target=${encodeURIComponent(target)}`}`;
}

/** The page of an audited object, by its kind. Other kinds have no page. */
const OBJECT_PAGES: Readonly<Record<string, (name: string) => string>> = {
  user: (name) => `/users/${encodeURIComponent(name)}`,
  group: (name) => `/groups/${encodeURIComponent(name)}`,
  client: (name) => `/clients/${encodeURIComponent(name)}`,
  target: (name) => `/targets/${encodeURIComponent(name)}`,
  administrator: () => "/access",
  token: () => "/access#tokens",
  credential: () => "/credentials",
  /** A credential as the actor. */
  scim: () => "/credentials",
};

/** The address of the page of `user:ada`; `null` if there is none. */
export function auditObjectHref(object: string): string | null {
  const colon = object.indexOf(":");
  const [kind, name] = [object.slice(0, Math.max(0, colon)), object.slice(colon + 1)];
  if (name === "" || !Object.hasOwn(OBJECT_PAGES, kind)) return null;
  return OBJECT_PAGES[kind]?.(name) ?? null;
}
