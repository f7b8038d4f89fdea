// Which modules that are fetched later come together in one file: few files repeat less of what they all begin with, and
// each page still fetches no more than its first view needs.

/** What is shared by many rooms, in files of their own: see the file of that name. */
export type Core = "core" | "list_core" | "table_core" | "form_core" | "people_core";

export interface Room {
  /** Paths below `web/`, without their ending. */
  readonly of: RegExp;
  readonly cores: readonly Core[];
}

const FRAME = ["core"] as const;
const READING = ["core", "list_core"] as const;
const TABLES = ["core", "list_core", "table_core"] as const;
const FORMS = ["core", "form_core"] as const;
const PEOPLE = [...TABLES, "people_core"] as const;

/** Tried in order; what no room takes is a file of its own. */
export const ROOMS = {
  live: { of: /^(pages\/live_page|parts\/waiting_panels|models\/shared_channel)$/, cores: FRAME },
  notices: { of: /^parts\/notices$/, cores: FRAME },
  login: { of: /^(pages\/(conversation|dropped)_page|parts\/login_inspector)$/, cores: READING },
  overlays: { of: /^parts\/(palette|help_dialog|look_dialog|toasts)$/, cores: FORMS },
  gate: { of: /^(pages\/(sign_in|set_up)_page|parts\/sign_in_dialog)$/, cores: FORMS },
  access: { of: /^(pages\/access_page|parts\/admin_list)$/, cores: TABLES },
  access_parts: { of: /^parts\/(own_\w+|token_list)$/, cores: [...TABLES, "form_core"] },
  records: { of: /^pages\/(history|audit)_page$/, cores: TABLES },
  connect: { of: /^pages\/(clients|targets|health|credentials)_page$/, cores: TABLES },
  client: {
    of: /^(pages\/client_page|parts\/connect\/edit_client)$/,
    cores: ["core", "list_core", "form_core"],
  },
  target: {
    of: /^(pages\/target_page|parts\/connect\/mapping_editor)$/,
    cores: ["core", "list_core", "form_core"],
  },
  users: { of: /^(pages\/users_page|parts\/groups\/export_button)$/, cores: PEOPLE },
  group: { of: /^pages\/group_page$/, cores: PEOPLE },
  groups: { of: /^pages\/(groups|devices)_page$/, cores: PEOPLE },
  user: {
    of: /^(pages\/user_page|parts\/people\/(user_profile|said_note))$/,
    cores: ["core", "list_core", "form_core", "people_core"],
  },
  user_parts: { of: /^parts\/people\/user_\w+$/, cores: [...PEOPLE, "form_core"] },
  import: { of: /^pages\/import_page$/, cores: TABLES },
  /** Whatever is opened over a page: one file for all, so that it is here when the second one is asked for. */
  dialogs: { of: /^parts\/(\w+\/)?\w+$/, cores: ["core", "list_core", "form_core", "people_core"] },
} as const satisfies Record<string, Room>;

export type RoomName = keyof typeof ROOMS;

/** The room of a module, by its path below `web/`; `null` for what is a file of its own. */
export function roomOf(path: string): RoomName | null {
  const stem = path.replace(/\.tsx?$/, "");
  for (const [name, { of }] of Object.entries(ROOMS)) if (of.test(stem)) return name as RoomName;
  return null;
}
