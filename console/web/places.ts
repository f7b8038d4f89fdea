// Every page of the console as a row: its address, where the rail has it, who may open it. Data alone: the server reads
// the addresses from here, the page loads what a row names.

import type { Role } from "../api/auth/permissions.ts";
import type { SpriteIcon } from "./icons.ts";
import type { MessageKey } from "./i18n/catalogue.ts";

export type RailGroup = "watch" | "manage" | "connect" | "govern";

/** How the rail shows a place. */
export interface RailRow {
  readonly group: RailGroup;
  readonly icon: SpriteIcon;
  /** `l`: the keys `g l` go there. */
  readonly key?: string;
  /** One of the four that small screens have at the bottom. */
  readonly inBar?: boolean;
  /** A shorter title for there. */
  readonly barTitle?: MessageKey;
}

export interface Place {
  /** `/users/:id`: a segment that starts with `:` stands for any one segment and is named so. */
  readonly pattern: string;
  /** The least role; `anyone`: without a session, and without the rail. */
  readonly needs: Role | "anyone";
  readonly title: MessageKey;
  /** Where the rail shows it; without, the page is reached from another. */
  readonly rail?: RailRow;
  /** The place whose rail link is lit here; its own unless given. */
  readonly under?: string;
}

/** By the name of the page: the row `users` is drawn by `pages/users_page.tsx`. */
export const PLACES = {
  live: {
    pattern: "/live",
    needs: "viewer",
    title: "frame.live",
    rail: { group: "watch", icon: "activity", key: "l", inBar: true },
  },
  users: {
    pattern: "/users",
    needs: "viewer",
    title: "frame.users",
    rail: { group: "manage", icon: "users", key: "u", inBar: true },
  },
  import: {
    pattern: "/users/import",
    needs: "user_manager",
    title: "frame.import",
    under: "users",
  },
  groups: {
    pattern: "/groups",
    needs: "viewer",
    title: "frame.groups",
    rail: { group: "manage", icon: "users-round", key: "g" },
  },
  group: {
    pattern: "/groups/:id",
    needs: "viewer",
    title: "frame.group",
    under: "groups",
  },
  devices: {
    pattern: "/devices",
    needs: "viewer",
    title: "frame.devices",
    rail: { group: "manage", icon: "smartphone" },
  },
  user: {
    pattern: "/users/:id",
    needs: "viewer",
    title: "frame.user",
    under: "users",
  },
  conversation: {
    pattern: "/live/c/:id",
    needs: "viewer",
    title: "frame.conversation",
    under: "live",
  },
  dropped: {
    pattern: "/live/dropped",
    needs: "viewer",
    title: "frame.dropped",
    under: "live",
  },
  history: {
    pattern: "/history",
    needs: "viewer",
    title: "frame.history",
    rail: { group: "watch", icon: "history", key: "h", inBar: true },
  },
  charts: {
    pattern: "/charts",
    needs: "viewer",
    title: "frame.charts",
    rail: { group: "watch", icon: "chart-line", key: "m" },
  },
  health: {
    pattern: "/health",
    needs: "viewer",
    title: "frame.health",
    rail: { group: "watch", icon: "heart-pulse" },
  },
  clients: {
    pattern: "/clients",
    needs: "viewer",
    title: "frame.clients",
    rail: { group: "connect", icon: "network", key: "c", inBar: true, barTitle: "frame.clients_short" },
  },
  client: { pattern: "/clients/:id", needs: "viewer", title: "frame.client", under: "clients" },
  targets: {
    pattern: "/targets",
    needs: "viewer",
    title: "frame.targets",
    rail: { group: "connect", icon: "target", key: "t" },
  },
  target: { pattern: "/targets/:id", needs: "viewer", title: "frame.target", under: "targets" },
  credentials: {
    pattern: "/credentials",
    needs: "viewer",
    title: "frame.credentials",
    rail: { group: "connect", icon: "key-round" },
  },
  access: {
    pattern: "/access",
    needs: "viewer",
    title: "frame.access",
    rail: { group: "govern", icon: "shield", key: "s" },
  },
  audit: {
    pattern: "/audit",
    needs: "viewer",
    title: "frame.audit",
    rail: { group: "govern", icon: "scroll-text", key: "a" },
  },
  settings: {
    pattern: "/settings",
    needs: "viewer",
    title: "frame.settings",
    rail: { group: "govern", icon: "settings", key: "," },
  },
  first_run: {
    pattern: "/first-run",
    needs: "viewer",
    title: "frame.first_run",
    under: "live",
  },
  set_up: { pattern: "/setup", needs: "anyone", title: "frame.set_up" },
} as const satisfies Record<string, Place>;

export type PlaceName = keyof typeof PLACES;
const ROWS = Object.entries(PLACES) as [PlaceName, Place][];
const HOME: PlaceName = "live";

/** Where an address leads. */
export interface Visit {
  readonly name: PlaceName;
  readonly place: Place;
  /** The named segments, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** The page of a path, or `null`. Rows are tried in order, exact segments before named ones. `/` is the home page. */
export function visitOf(path: string): Visit | null {
  if (path === "/") return { name: HOME, place: PLACES[HOME], params: {} };
  const segments = path.split("/");
  let found: Visit | null = null;
  for (const [name, place] of ROWS) {
    const params = paramsOf(place.pattern, segments);
    if (params === null) continue;
    if (Object.keys(params).length === 0) return { name, place, params };
    found ??= { name, place, params };
  }
  return found;
}

function paramsOf(pattern: string, segments: readonly string[]): Record<string, string> | null {
  const parts = pattern.split("/");
  if (parts.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    const segment = segments[at] ?? "";
    if (!part.startsWith(":")) {
      if (part !== segment) return null;
    } else if (segment === "") return null;
    else params[part.slice(1)] = decoded(segment);
  }
  return params;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (_notWellFormed) {
    return segment;
  }
}

/** The rows that the rail shows, in order. */
export function railRows(): readonly (readonly [PlaceName, Place & { rail: NonNullable<Place["rail"]> }])[] {
  return ROWS.flatMap(([name, place]) =>
    place.rail === undefined ? [] : [[name, { ...place, rail: place.rail }] as const]
  );
}
