// The page of each route, loaded on demand.

import type { PageView } from "./app_context.ts";
import type { RouteName } from "./routes.ts";

export const PAGE_IMPORTS: Readonly<Record<RouteName, () => Promise<PageView>>> = {
  overview: async () => (await import("../pages/overview/overview_page.tsx")).default,
  live: async () => (await import("../pages/live/live_page.tsx")).default,
  users: async () => (await import("../pages/users/users_page.tsx")).default,
  import: async () => (await import("../pages/import/import_page.tsx")).default,
  deleted_users: async () => (await import("../pages/users/deleted_users_page.tsx")).default,
  groups: async () => (await import("../pages/groups/groups_page.tsx")).default,
  group: async () => (await import("../pages/groups/group_page.tsx")).default,
  devices: async () => (await import("../pages/devices/devices_page.tsx")).default,
  user: async () => (await import("../pages/users/user_page.tsx")).default,
  conversation: async () => (await import("../pages/live/conversation_page.tsx")).default,
  dropped: async () => (await import("../pages/dropped/dropped_page.tsx")).default,
  test_inbox: async () => (await import("../pages/test_inbox/test_inbox_page.tsx")).default,
  history: async () => (await import("../pages/history/history_page.tsx")).default,
  charts: async () => (await import("../pages/reports/reports_page.tsx")).default,
  health: async () => (await import("../pages/health/health_page.tsx")).default,
  nodes: async () => (await import("../pages/nodes/nodes_page.tsx")).default,
  clients: async () => (await import("../pages/clients/clients_page.tsx")).default,
  client: async () => (await import("../pages/clients/client_page.tsx")).default,
  targets: async () => (await import("../pages/targets/targets_page.tsx")).default,
  target: async () => (await import("../pages/targets/target_page.tsx")).default,
  credentials: async () => (await import("../pages/credentials/credentials_page.tsx")).default,
  connections: async () => (await import("../pages/connections/connections_page.tsx")).default,
  connection: async () => (await import("../pages/connections/connection_page.tsx")).default,
  access: async () => (await import("../pages/access/access_page.tsx")).default,
  policies: async () => (await import("../pages/policies/policies_page.tsx")).default,
  audit: async () => (await import("../pages/audit/audit_page.tsx")).default,
  settings: async () => (await import("../pages/settings/settings_page.tsx")).default,
  settings_topic: async () => (await import("../pages/settings/settings_page.tsx")).default,
  first_run: async () => (await import("../pages/first_run/first_run_page.tsx")).default,
  set_up: async () => (await import("../pages/sign_in/set_up_page.tsx")).default,
};
