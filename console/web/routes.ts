// The page of each place, loaded on demand.

import type { PageView } from "./page_loader.ts";
import type { PlaceName } from "./places.ts";

export const ROUTES: Readonly<Record<PlaceName, () => Promise<PageView>>> = {
  live: async () => (await import("./pages/live_page.tsx")).default,
  users: async () => (await import("./pages/users_page.tsx")).default,
  import: async () => (await import("./pages/import_page.tsx")).default,
  groups: async () => (await import("./pages/groups_page.tsx")).default,
  group: async () => (await import("./pages/group_page.tsx")).default,
  devices: async () => (await import("./pages/devices_page.tsx")).default,
  user: async () => (await import("./pages/user_page.tsx")).default,
  conversation: async () => (await import("./pages/conversation_page.tsx")).default,
  dropped: async () => (await import("./pages/dropped_page.tsx")).default,
  history: async () => (await import("./pages/history_page.tsx")).default,
  charts: async () => (await import("./pages/charts_page.tsx")).default,
  health: async () => (await import("./pages/health_page.tsx")).default,
  clients: async () => (await import("./pages/clients_page.tsx")).default,
  client: async () => (await import("./pages/client_page.tsx")).default,
  targets: async () => (await import("./pages/targets_page.tsx")).default,
  target: async () => (await import("./pages/target_page.tsx")).default,
  credentials: async () => (await import("./pages/credentials_page.tsx")).default,
  access: async () => (await import("./pages/access_page.tsx")).default,
  audit: async () => (await import("./pages/audit_page.tsx")).default,
  settings: async () => (await import("./pages/settings_page.tsx")).default,
  first_run: async () => (await import("./pages/first_run_page.tsx")).default,
  set_up: async () => (await import("./pages/set_up_page.tsx")).default,
};
