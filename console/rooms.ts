// Which modules that are fetched later come together in one file: few files repeat less of what they all begin with, and
// each page still fetches no more than its first view needs.

/** What is shared by many rooms, in files of their own: see the file of that name. */
export type Core = "core" | "list_core" | "table_core";

export interface Room {
  /** Paths below `web/`, without their ending. */
  readonly of: RegExp;
  readonly cores: readonly Core[];
}

const FRAME = ["core"] as const;
const LISTS = ["core", "list_core"] as const;
const TABLES = ["core", "list_core", "table_core"] as const;

/** Tried in order; what no room takes is a file of its own. */
export const ROOMS = {
  live: { of: /^(pages\/live_page|parts\/waiting_panels|models\/shared_channel)$/, cores: FRAME },
  notices: { of: /^parts\/notices$/, cores: FRAME },
  login: { of: /^(pages\/(conversation|dropped)_page|parts\/login_inspector)$/, cores: FRAME },
  overlays: { of: /^parts\/(palette|help_dialog|look_dialog|toasts)$/, cores: LISTS },
  gate: { of: /^(pages\/(sign_in|set_up)_page|parts\/sign_in_dialog)$/, cores: LISTS },
  access: { of: /^(pages\/access_page|parts\/admin_list)$/, cores: TABLES },
  access_parts: { of: /^parts\/(admin|own|token|invite)_\w+$/, cores: TABLES },
  records: { of: /^pages\/(history|audit)_page$/, cores: TABLES },
  clients: { of: /^pages\/clients?_page$/, cores: TABLES },
  targets: { of: /^pages\/targets?_page$/, cores: TABLES },
  connect_dialogs: { of: /^parts\/connect\//, cores: LISTS },
  users: { of: /^(pages\/users_page|parts\/groups\/export_button)$/, cores: TABLES },
  groups: { of: /^pages\/(groups|devices)_page$/, cores: TABLES },
  user: { of: /^(pages\/user_page|parts\/people\/user_profile)$/, cores: LISTS },
  user_parts: { of: /^parts\/people\/(user_\w+|said_note)$/, cores: LISTS },
  people_dialogs: { of: /^parts\/(people\/\w+|groups\/\w+|bulk_\w+)$/, cores: LISTS },
  import: { of: /^(pages\/import_page|parts\/import\/\w+)$/, cores: TABLES },
} as const satisfies Record<string, Room>;

export type RoomName = keyof typeof ROOMS;

/** The room of a module, by its path below `web/`; `null` for what is a file of its own. */
export function roomOf(path: string): RoomName | null {
  const stem = path.replace(/\.tsx?$/, "");
  for (const [name, { of }] of Object.entries(ROOMS)) if (of.test(stem)) return name as RoomName;
  return null;
}
