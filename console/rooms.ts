// Which modules that are fetched later come together in one file: few files repeat less of what they all begin with, and
// each page still fetches no more than its first view needs.

/** What is shared by many rooms, in files of their own: `main` is the frame, the others stand in `web/cores/`. */
export type Core =
  | "main"
  | "list_core"
  | "table_core"
  | "listing_core"
  | "field_core"
  | "dialog_core"
  | "people_core"
  | "people_list_core"
  | "profile_core"
  | "connect_core"
  | "access_core"
  | "live_core"
  | "login_core"
  | "gate_core";

export interface Room {
  /** Paths below `web/`, without their ending. A module is in one room. */
  readonly of: readonly string[];
  readonly cores: readonly Core[];
}

const LOGINS = ["main", "login_core"] as const;
const LISTS = ["main", "list_core"] as const;
const TABLES = [...LISTS, "table_core"] as const;
const LISTINGS = [...TABLES, "listing_core"] as const;
const DIALOGS = ["main", "field_core", "dialog_core"] as const;
const PEOPLE = [...LISTINGS, "people_core", "people_list_core"] as const;

/** A page that no room names is a file of its own. The build fails for any other module that is fetched later and that no room names. */
export const ROOMS = {
  live: { of: ["pages/live_page"], cores: [...LOGINS, "live_core"] },
  dropped: { of: ["pages/dropped_page"], cores: [...LISTS, "login_core", "live_core"] },
  login: { of: ["pages/conversation_page", "parts/live/inspector_panel"], cores: [...LISTS, "login_core"] },
  /** Comes while the board is drawn and its snapshot is on the way. */
  stream: {
    of: [
      "parts/live/notices",
      "parts/live/waiting_panels",
      "parts/live/sessions_panel",
      "parts/live/first_steps",
      "parts/live/reconnect_note",
      "parts/live/live_keys",
      "parts/live/live_summary",
      "models/shared_channel",
      "models/dwell",
      "models/hidden_tab",
    ],
    cores: [...LISTS, "login_core"],
  },
  gate: {
    of: ["pages/sign_in_page", "pages/set_up_page", "parts/access/sign_in_dialog"],
    cores: DIALOGS,
  },
  access: {
    of: [
      "pages/access_page",
      "parts/access/admin_list",
      "parts/access/token_list",
      "parts/access/own_sessions",
    ],
    cores: [...TABLES, "access_core"],
  },
  /** What an owner opens seldom. */
  settings: {
    of: [
      "pages/settings_page",
      "pages/first_run_page",
      "parts/settings/about",
      "parts/settings/radius_policy",
      "parts/settings/retention",
      "parts/settings/sign_in_rules",
    ],
    cores: [...TABLES, "field_core"],
  },
  charts: { of: ["pages/charts_page"], cores: [...LISTINGS, "login_core"] },
  history: { of: ["pages/history_page"], cores: [...LISTINGS, "login_core"] },
  audit: { of: ["pages/audit_page"], cores: [...LISTINGS, "login_core"] },
  connect: {
    of: ["pages/clients_page", "pages/targets_page", "pages/credentials_page"],
    cores: [...LISTINGS, "connect_core"],
  },
  client: {
    of: ["pages/client_page", "parts/connect/edit_client"],
    cores: [...LISTS, "field_core", "connect_core"],
  },
  target: {
    of: ["pages/target_page", "pages/health_page"],
    cores: [...TABLES, "field_core", "connect_core"],
  },
  mapping: { of: ["parts/connect/mapping_editor"], cores: [...TABLES, "field_core", "connect_core"] },
  users: { of: ["pages/users_page", "pages/groups_page"], cores: PEOPLE },
  group: { of: ["pages/group_page"], cores: [...TABLES, "people_list_core", "field_core"] },
  devices: { of: ["pages/devices_page"], cores: PEOPLE },
  user: {
    of: ["pages/user_page", "parts/people/user_profile"],
    cores: [...LISTS, "field_core", "people_core", "profile_core"],
  },
  user_parts: {
    of: [
      "parts/people/user_backends",
      "parts/people/user_factors",
      "parts/people/user_groups",
      "parts/people/user_sessions",
      "parts/people/user_timeline",
    ],
    cores: [...PEOPLE, "field_core", "dialog_core", "profile_core", "login_core"],
  },
  import: { of: ["pages/import_page"], cores: [...TABLES, "field_core"] },
  /** What opens on a press: one file for all, so that the second dialog is there at once. */
  dialogs: {
    of: [
      "parts/access/admin_dialog",
      "parts/access/invite_dialog",
      "parts/access/own_factors",
      "parts/access/token_dialog",
      "parts/confirm_dialog",
      "parts/connect/add_client_dialog",
      "parts/connect/client_dialogs",
      "parts/connect/client_review",
      "parts/connect/credential_dialog",
      "parts/first_run/client_step",
      "parts/first_run/target_step",
      "parts/frame/help_dialog",
      "parts/frame/look_dialog",
      "parts/frame/palette",
      "parts/groups/create_group_dialog",
      "parts/groups/delete_group_dialog",
      "parts/groups/replies_dialog",
      "parts/import/row_dialog",
      "parts/people/bulk_bar",
      "parts/people/bulk_dialogs",
      "parts/people/create_this_user",
      "parts/people/create_user_dialog",
      "parts/people/deactivate_user_dialog",
      "parts/people/delete_user_dialog",
      "parts/people/factor_dialogs",
      "parts/people/group_picker",
      "parts/people/me_link_dialog",
      "parts/people/password_dialog",
      "parts/people/profile_review",
      "parts/people/said_note",
      "parts/people/trial_dialog",
      "parts/settings/look",
    ],
    cores: [
      ...PEOPLE,
      "field_core",
      "dialog_core",
      "profile_core",
      "connect_core",
      "access_core",
      "login_core",
      "gate_core",
    ],
  },
} as const satisfies Record<string, Room>;

export type RoomName = keyof typeof ROOMS;

const ROOM_BY_MODULE: ReadonlyMap<string, RoomName> = new Map(
  Object.entries<Room>(ROOMS).flatMap(([name, { of }]) => of.map((module) => [module, name as RoomName])),
);

/** The room of a module, by its path below `web/`; `null` for what is a file of its own. */
export function roomOf(path: string): RoomName | null {
  return ROOM_BY_MODULE.get(path.replace(/\.tsx?$/, "")) ?? null;
}
