// The settings as the console and commands show them: each row with its value, its source, and what a form needs. Of a secret, they
// show only whether it is set.

import type { ConfigFault } from "./config.ts";
import { GENERAL_ROWS } from "./settings.ts";
import { RADIUS_ROWS } from "./client_rows.ts";
import type { SortedTable } from "./parse_settings.ts";
import { controlOf, defaultOf, type SettingControl } from "./setting_values.ts";
import { type SettingRow } from "./setting_rows.ts";

/** A value as in the settings file. A table contains reply attributes. */
export type SettingValue =
  | string
  | number
  | boolean
  | readonly string[]
  | Readonly<Record<string, string | number>>;

/** The pages of the settings form. */
const SETTING_TOPICS = [
  "sign_in",
  "factors",
  "limits",
  "enrolment",
  "alerts",
  "telephony",
  "second_factor",
  "mail",
  "radius",
  "console",
  "system",
] as const;
type SettingTopic = typeof SETTING_TOPICS[number];

/** Who changed a setting in the console, and when (milliseconds since the epoch). */
export interface SettingChange {
  readonly atMs: number;
  readonly by: string;
}

/** One setting, without secrets. */
export interface SettingView {
  /** `radius.state` */
  readonly key: string;
  readonly topic: SettingTopic;
  readonly doc: string;
  readonly control: SettingControl;
  readonly isSecret: boolean;
  /** Whether the value in effect is not empty. */
  readonly isSet: boolean;
  /** In effect; `null` for a secret. */
  readonly value: SettingValue | null;
  /** The default; `null` for a secret. */
  readonly preset: SettingValue | null;
  readonly source: "default" | "file" | "console";
  /** Why the console cannot change it. */
  readonly locked: "file" | "restart" | null;
  /** The last change in the console. */
  readonly changed: SettingChange | null;
  /** Why the stored value is not used. */
  readonly problem: string | null;
  /** The fault behind `problem`, with the key that has it. */
  readonly cause: ConfigFault | null;
}

/** A setting whose value is a table of reply attributes. */
interface AttributesRow {
  readonly type: "attributes";
  readonly doc: string;
  readonly editable?: undefined;
  readonly security?: undefined;
}
type ListedRow = SettingRow | AttributesRow;

/** The setting whose value is a table of attributes. */
export const REPLY_DEFAULT_KEY = "radius.reply.default";
const REPLY_DEFAULT: AttributesRow = { type: "attributes", doc: "attributes of every Access-Accept" };

/** Every setting that is not in a repeated table, by key, in the order of the tables of the file. */
export const ALL_SETTINGS: ReadonlyMap<string, ListedRow> = new Map<string, ListedRow>(
  [
    ...Object.entries<ListedRow>(GENERAL_ROWS),
    ...Object.entries(RADIUS_ROWS).map(([name, row]) => [`radius.${name}`, row] as const),
    [REPLY_DEFAULT_KEY, REPLY_DEFAULT] as const,
  ].map(([key, row], at) => ({ key, row, at, table: tableOf(key) }))
    .toSorted((a, b) => firstAt(a.table) - firstAt(b.table) || a.at - b.at)
    .map(({ key, row }) => [key, row]),
);

function tableOf(key: string): string {
  return key.slice(0, key.indexOf("."));
}

function firstAt(table: string): number {
  return Object.keys(GENERAL_ROWS).findIndex((key) => tableOf(key) === table);
}

/** The topic of keys that start with a text; the first match counts. */
const TOPIC_OF: readonly (readonly [start: string, topic: SettingTopic])[] = [
  ["factors.lockout.", "limits"],
  ["factors.pushes.", "limits"],
  ["factors.sends.", "limits"],
  ["factors.", "factors"],
  ["enrolment.", "enrolment"],
  ["alerts.", "alerts"],
  ["help_desk.", "limits"],
  ["second_factor.", "second_factor"],
  ["push.", "second_factor"],
  ["telephony.", "telephony"],
  ["mail.", "mail"],
  ["radius.conversation_ttl_s", "sign_in"],
  ["radius.login_join_window_s", "sign_in"],
  ["radius.directory", "sign_in"],
  ["radius.", "radius"],
  ["console.audit_days", "system"],
  ["console.", "console"],
  ["http.", "console"],
];

function topicOf(key: string): SettingTopic {
  return TOPIC_OF.find(([start]) => key.startsWith(start))?.[1] ?? "system";
}

/** What the console stored about a setting. */
interface StoredSettingState {
  readonly changed: SettingChange | null;
  readonly problem: string | null;
  readonly cause: ConfigFault | null;
  /** Whether the stored value is in effect, unless the file has the key. */
  readonly isUsed: boolean;
}

const NOT_STORED: StoredSettingState = { changed: null, problem: null, cause: null, isUsed: false };

/**
 * Every setting that is not in a repeated table.
 *
 * @param effective the file merged with what the console stored.
 * @param derived defaults that depend on another key.
 */
export function listSettings(
  effective: SortedTable,
  derived: Readonly<Record<string, string>> = {},
  stateOf: (key: string) => StoredSettingState & { readonly isInFile: boolean } = (key) => ({
    ...NOT_STORED,
    isInFile: effective.values.has(key) || effective.maps.has(key),
  }),
): SettingView[] {
  return [...ALL_SETTINGS].map(([key, row]): SettingView => {
    const isSecret = row.type === "secret";
    const raw = effective.values.get(key) ?? effective.maps.get(key);
    const { isInFile, isUsed, changed, problem, cause } = stateOf(key);
    const shown = (value: unknown) => isSecret ? null : value as SettingValue;
    const fallback = row.type === "attributes" ? {} : derived[key] ?? defaultOf(row);
    return {
      key,
      topic: topicOf(key),
      doc: row.doc,
      control: row.type === "attributes" ? { kind: "attributes" } : controlOf(row),
      isSecret,
      isSet: raw !== undefined && raw !== "",
      value: shown(raw ?? fallback),
      preset: shown(fallback),
      source: isInFile ? "file" : isUsed ? "console" : "default",
      locked: row.editable === false ? "restart" : isInFile ? "file" : null,
      changed,
      problem,
      cause,
    };
  });
}

/** Why a stored value is not used. Names the setting that has the fault, if that is another one. */
export function unusedText(key: string, { key: other, problem }: ConfigFault): string {
  return key === other ? problem : `${other}: ${problem}`;
}
