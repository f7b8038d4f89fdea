// The page of each place, fetched when somebody goes there.

import type { PageModule } from "./page_loader.ts";
import type { PlaceName } from "./places.ts";

export const ROUTES: Readonly<Record<PlaceName, () => Promise<PageModule>>> = {
  live: () => import("./pages/live_page.tsx"),
  users: () => import("./pages/users_page.tsx"),
  import: () => import("./pages/import_page.tsx"),
  groups: () => import("./pages/groups_page.tsx"),
  group: () => import("./pages/group_page.tsx"),
  devices: () => import("./pages/devices_page.tsx"),
  user: () => import("./pages/user_page.tsx"),
  conversation: () => import("./pages/conversation_page.tsx"),
  dropped: () => import("./pages/dropped_page.tsx"),
  history: () => import("./pages/history_page.tsx"),
  charts: () => import("./pages/charts_page.tsx"),
  health: () => import("./pages/health_page.tsx"),
  clients: () => import("./pages/clients_page.tsx"),
  client: () => import("./pages/client_page.tsx"),
  targets: () => import("./pages/targets_page.tsx"),
  target: () => import("./pages/target_page.tsx"),
  credentials: () => import("./pages/credentials_page.tsx"),
  access: () => import("./pages/access_page.tsx"),
  audit: () => import("./pages/audit_page.tsx"),
  settings: () => import("./pages/settings_page.tsx"),
  set_up: () => import("./pages/set_up_page.tsx"),
};
