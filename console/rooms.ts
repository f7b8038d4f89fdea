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
  /** Paths below `web/`, without their ending. */
  readonly of: RegExp;
  readonly cores: readonly Core[];
}

const LOGINS = ["main", "login_core"] as const;
const LISTS = ["main", "list_core"] as const;
const TABLES = [...LISTS, "table_core"] as const;
const LISTINGS = [...TABLES, "listing_core"] as const;
const DIALOGS = ["main", "field_core", "dialog_core"] as const;
const PEOPLE = [...LISTINGS, "people_core", "people_list_core"] as const;

/** Tried in order; what no room takes is a file of its own. */
export const ROOMS = {
  live: { of: /^pages\/live_page$/, cores: [...LOGINS, "live_core"] },
  dropped: { of: /^pages\/dropped_page$/, cores: [...LISTS, "login_core", "live_core"] },
  login: { of: /^(pages\/conversation_page|parts\/live\/inspector_panel)$/, cores: [...LISTS, "login_core"] },
  /** Comes while the board is drawn and its snapshot is on the way. */
  stream: {
    of:
      /^(parts\/live\/(notices|waiting_panels|sessions_panel|first_steps|reconnect_note|live_keys|live_summary)|models\/(shared_channel|dwell|hidden_tab))$/,
    cores: [...LISTS, "login_core"],
  },
  gate: {
    of: /^(pages\/(sign_in|set_up)_page|parts\/access\/sign_in_dialog)$/,
    cores: DIALOGS,
  },
  access: {
    of: /^(pages\/access_page|parts\/access\/(admin_list|token_list|own_sessions))$/,
    cores: [...TABLES, "access_core"],
  },
  /** What an owner opens seldom. */
  settings: {
    of: /^(pages\/(settings|first_run)_page|parts\/settings\/(?!look)\w+)$/,
    cores: [...TABLES, "field_core"],
  },
  charts: { of: /^pages\/charts_page$/, cores: [...LISTINGS, "login_core"] },
  history: { of: /^pages\/history_page$/, cores: [...LISTINGS, "login_core"] },
  audit: { of: /^pages\/audit_page$/, cores: [...LISTINGS, "login_core"] },
  connect: { of: /^pages\/(clients|targets|credentials)_page$/, cores: [...LISTINGS, "connect_core"] },
  client: {
    of: /^(pages\/client_page|parts\/connect\/edit_client)$/,
    cores: [...LISTS, "field_core", "connect_core"],
  },
  target: {
    of: /^pages\/(target|health)_page$/,
    cores: [...TABLES, "field_core", "connect_core"],
  },
  mapping: { of: /^parts\/connect\/mapping_editor$/, cores: [...TABLES, "field_core", "connect_core"] },
  users: { of: /^pages\/(users|groups)_page$/, cores: PEOPLE },
  group: { of: /^pages\/group_page$/, cores: [...TABLES, "people_list_core", "field_core"] },
  devices: { of: /^pages\/devices_page$/, cores: PEOPLE },
  user: {
    of: /^(pages\/user_page|parts\/people\/user_profile)$/,
    cores: [...LISTS, "field_core", "people_core", "profile_core"],
  },
  user_parts: {
    of: /^parts\/people\/user_\w+$/,
    cores: [...PEOPLE, "field_core", "dialog_core", "profile_core", "login_core"],
  },
  import: { of: /^pages\/import_page$/, cores: [...TABLES, "field_core"] },
  /** Whatever comes on a press: one file for all, so that it is here when the second one is asked for. */
  dialogs: {
    of: /^parts\/(\w+\/)?\w+$/,
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

/** The room of a module, by its path below `web/`; `null` for what is a file of its own. */
export function roomOf(path: string): RoomName | null {
  const stem = path.replace(/\.tsx?$/, "");
  for (const [name, { of }] of Object.entries(ROOMS)) if (of.test(stem)) return name as RoomName;
  return null;
}
