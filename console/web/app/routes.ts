// The table of pages: address, sidebar entry, and required role. Data only, because the server reads the addresses, too.

import type { Role } from "../../api/auth/admin_records.ts";
import type { SpriteIcon } from "../components/icons.tsx";
import type { MessageKey } from "../i18n/catalogue.ts";

export const SIDEBAR_GROUPS = ["monitor", "directory", "integrations", "administration"] as const;

/** The sidebar entry of a route. */
interface SidebarEntry {
  readonly group: typeof SIDEBAR_GROUPS[number];
  readonly icon: SpriteIcon;
  /** The text of the entry. Default: the title of the route. */
  readonly title?: MessageKey;
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
  /** The name of the page's module, without `_page.tsx`. Default: the name of the route. */
  readonly module?: string;
  /** `l`: the keys `g l` open the page. */
  readonly key?: string;
  /** Without a sidebar entry, the page is opened from another page. */
  readonly sidebar?: SidebarEntry;
  /** The route whose sidebar link is current here. Default: this one. */
  readonly parent?: string;
}

/** The rows with a sidebar entry are in the order of the sidebar. */
export const PAGE_ROUTES = {
  // Monitor
  overview: {
    pattern: "/overview",
    needs: "viewer",
    title: "shell.overview",
    key: "o",
    sidebar: { group: "monitor", icon: "layout-dashboard", isInBottomBar: true },
  },
  live: {
    pattern: "/live",
    needs: "viewer",
    title: "shell.live",
    key: "l",
    sidebar: {
      group: "monitor",
      icon: "activity",
      title: "shell.sign_in_log",
      isInBottomBar: true,
      shortTitle: "shell.sign_in_log_short",
    },
  },
  history: { pattern: "/history", needs: "viewer", title: "shell.history", key: "h", parent: "live" },
  conversation: {
    pattern: "/live/c/:id",
    needs: "viewer",
    title: "shell.conversation",
    parent: "live",
  },
  dropped: { pattern: "/live/dropped", needs: "viewer", title: "shell.dropped", parent: "live" },
  charts: {
    pattern: "/charts",
    needs: "viewer",
    title: "shell.charts",
    module: "reports",
    key: "m",
    sidebar: { group: "monitor", icon: "chart-line" },
  },
  health: {
    pattern: "/health",
    needs: "viewer",
    title: "shell.health",
    sidebar: { group: "monitor", icon: "heart-pulse" },
  },
  nodes: { pattern: "/nodes", needs: "viewer", title: "shell.nodes", parent: "health" },
  test_inbox: {
    pattern: "/test-inbox",
    needs: "viewer",
    title: "shell.test_inbox",
    sidebar: { group: "monitor", icon: "inbox" },
  },
  first_run: {
    pattern: "/first-run",
    needs: "viewer",
    title: "shell.first_run",
  },
  // Directory
  users: {
    pattern: "/users",
    needs: "viewer",
    title: "shell.users",
    key: "u",
    sidebar: { group: "directory", icon: "users", isInBottomBar: true },
  },
  import: {
    pattern: "/users/import",
    needs: "user_manager",
    title: "shell.import",
    parent: "users",
  },
  deleted_users: {
    pattern: "/deleted-users",
    needs: "viewer",
    title: "shell.deleted_users",
    parent: "users",
  },
  user: { pattern: "/users/:id", needs: "viewer", title: "common.user", parent: "users" },
  groups: {
    pattern: "/groups",
    needs: "viewer",
    title: "shell.groups",
    key: "g",
    sidebar: { group: "directory", icon: "users-round" },
  },
  group: { pattern: "/groups/:id", needs: "viewer", title: "common.group", parent: "groups" },
  devices: {
    pattern: "/devices",
    needs: "viewer",
    title: "shell.devices",
    sidebar: { group: "directory", icon: "smartphone" },
  },
  tokens: {
    pattern: "/tokens",
    needs: "viewer",
    title: "common.hardware_tokens",
    sidebar: { group: "directory", icon: "calculator" },
  },
  enrolment: {
    pattern: "/enrolment",
    needs: "viewer",
    title: "shell.enrolment",
    key: "e",
    sidebar: { group: "directory", icon: "send" },
  },
  campaigns: {
    pattern: "/enrolment/campaigns",
    needs: "viewer",
    title: "shell.campaigns",
    parent: "enrolment",
  },
  // Integrations
  clients: {
    pattern: "/clients",
    needs: "viewer",
    title: "shell.clients",
    key: "c",
    sidebar: {
      group: "integrations",
      icon: "network",
      isInBottomBar: true,
      shortTitle: "shell.clients_short",
    },
  },
  shadow: { pattern: "/shadow", needs: "viewer", title: "shell.shadow", parent: "clients" },
  client: { pattern: "/clients/:id", needs: "viewer", title: "shell.client", parent: "clients" },
  targets: {
    pattern: "/targets",
    needs: "viewer",
    title: "shell.targets",
    key: "t",
    sidebar: { group: "integrations", icon: "layers" },
  },
  target: { pattern: "/targets/:id", needs: "viewer", title: "common.target", parent: "targets" },
  credentials: {
    pattern: "/credentials",
    needs: "viewer",
    title: "shell.credentials",
    sidebar: { group: "integrations", icon: "key-round" },
  },
  connections: {
    pattern: "/connections",
    needs: "viewer",
    title: "shell.connections",
    sidebar: { group: "integrations", icon: "link" },
  },
  connection: {
    pattern: "/connections/:id",
    needs: "viewer",
    title: "shell.connection",
    parent: "connections",
  },
  // Administration
  access: {
    pattern: "/access",
    needs: "viewer",
    title: "shell.access",
    key: "s",
    sidebar: { group: "administration", icon: "shield" },
  },
  mail: {
    pattern: "/mail",
    needs: "viewer",
    title: "shell.mail",
    sidebar: { group: "administration", icon: "mail" },
  },
  policies: {
    pattern: "/policies",
    needs: "user_manager",
    title: "shell.policies",
    key: "p",
    sidebar: { group: "administration", icon: "list-checks" },
  },
  audit: {
    pattern: "/audit",
    needs: "viewer",
    title: "shell.audit",
    key: "a",
    sidebar: { group: "administration", icon: "scroll-text" },
  },
  log_export: {
    pattern: "/log-export",
    needs: "viewer",
    title: "shell.log_export",
    sidebar: { group: "administration", icon: "upload" },
  },
  alerts: {
    pattern: "/alerts",
    needs: "viewer",
    title: "shell.alerts",
    sidebar: { group: "administration", icon: "bell" },
  },
  settings: {
    pattern: "/settings",
    needs: "viewer",
    title: "shell.settings",
    key: ",",
    sidebar: { group: "administration", icon: "settings" },
  },
  settings_topic: {
    pattern: "/settings/:topic",
    needs: "viewer",
    title: "shell.settings",
    module: "settings",
    parent: "settings",
  },
  set_up: { pattern: "/setup", needs: "anyone", title: "shell.set_up" },
} as const satisfies Record<string, PageRoute>;

/** The page of the address `/`. */
const HOME: RouteName = "overview";
export const HOME_PATH = PAGE_ROUTES[HOME].pattern;
/** The page after the sign-in. The help desk works with users. */
export function startPath(role: Role | undefined): string {
  return role === "help_desk" ? PAGE_ROUTES.users.pattern : HOME_PATH;
}

export type RouteName = keyof typeof PAGE_ROUTES;
const ROWS = Object.entries(PAGE_ROUTES) as [RouteName, PageRoute][];

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

/** The rows of the sidebar, in order. */
export function sidebarRoutes(): readonly (readonly [
  RouteName,
  PageRoute & { sidebar: NonNullable<PageRoute["sidebar"]> },
])[] {
  return ROWS.flatMap(([name, route]) =>
    route.sidebar === undefined ? [] : [[name, { ...route, sidebar: route.sidebar }] as const]
  );
}

/** The pages that a key or the palette opens: those of the sidebar, and those with a key. */
export function openableRoutes(): readonly (readonly [RouteName, PageRoute])[] {
  return ROWS.filter(([, { sidebar, key }]) => sidebar !== undefined || key !== undefined);
}

/** The page of a user. */
export function userHref(name: string, target = ""): string {
  return `/users/${encodeURIComponent(name)}${target === "" ? "" : `?target=${encodeURIComponent(target)}`}`;
}

// Compares paths with patterns such as `/users/:id`.

/** The named segments of a path, decoded; `null` if the path does not have this pattern. */
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

// Addresses that redirect to the address of a page. The server answers them.

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
