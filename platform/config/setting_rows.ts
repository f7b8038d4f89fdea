// The rows of settings as data: a field (platform/fields.ts) with its key and its sentence in the docs. The browser reads tables of them too.

import type { AnyField, OneText, TextList, ValueOf } from "../fields.ts";
import type { SocketAddress } from "../addresses.ts";
import type { Mailbox } from "../mail/mail_address.ts";

export const MAX_SECRET_CHARACTERS = 1024;
export const MAX_CERTIFICATE_CHARACTERS = 64 * 1024;
/** Of a setting of its own: its record in the store has at most 64 KiB. */
export const MAX_OWN_CERTIFICATE_CHARACTERS = 48 * 1024;

/** The formats of texts, read by setting_values.ts. */
export type TextFormatName =
  | "certificates"
  | "contact"
  | "dn"
  | "extensions"
  | "fingerprint"
  | "host"
  | "ip"
  | "listen"
  | "mailbox"
  | "origin"
  | "own_certificates"
  | "san"
  | "separator"
  | "url"
  | "user_filter"
  | "user_id";
/** The formats of the entries of lists. */
export type ListFormatName =
  | "attribute_lists"
  | "country_codes"
  | "day_numbers"
  | "domains"
  | "host_patterns"
  | "ldap_urls"
  | "listens"
  | "names"
  | "optional_listens"
  | "peers"
  | "ranges"
  | "realms"
  | "reply_names"
  | "texts"
  | "users";
export type FormatName = TextFormatName | ListFormatName;
/** What a value is in the program. "": not set. */
export type FormatValue<N extends FormatName> = N extends "listen" ? SocketAddress
  : N extends "mailbox" ? Mailbox | ""
  : N extends "listens" | "optional_listens" | "peers" ? readonly SocketAddress[]
  : N extends TextFormatName ? string
  : readonly string[];

interface AboutSetting {
  /** In the docs. */
  readonly doc: string;
  /** In the file, if it is not the name of the value in {@link snakeCase}. */
  readonly key?: string;
  /** The key must be set, and not empty. */
  readonly mustBeGiven?: true;
  /** `false`: only the settings file can change it, with a restart. */
  readonly editable?: false;
  /** `false`: the setting protects nothing, so that a change in the console needs no recent factor. */
  readonly security?: false;
  /** docs/configuration.md shows it instead of the default. */
  readonly example?: string | number | readonly string[];
  /** The text is the name of one of these. */
  readonly names?: "directories" | "ldap_connectors";
}

/** A setting. Its default is as in the file. */
export type SettingRow = AnyField & AboutSetting & { readonly format?: FormatName };
/** Rows and tables of rows, by the name of the value. */
export interface SettingTable {
  readonly [name: string]: SettingRow | SettingTable;
}
export type SettingRows = Readonly<Record<string, SettingRow>>;

export type SettingValueOf<R> = R extends { readonly format: infer N extends FormatName } ? FormatValue<N>
  : ValueOf<R>;
/** The values of a table, with times in milliseconds. */
export type TableValues<T> = {
  readonly [K in keyof T]: T[K] extends { readonly doc: string } ? SettingValueOf<T[K]> : TableValues<T[K]>;
};

export function setting<F extends AnyField>(field: F, about: AboutSetting): F & AboutSetting {
  return { ...field, ...about };
}

/** A text that has a format. */
export function textAs<const N extends TextFormatName>(
  format: N,
  preset: string,
  about: AboutSetting,
): OneText & AboutSetting & { readonly format: N } {
  const max = format === "own_certificates" ? MAX_OWN_CERTIFICATE_CHARACTERS : MAX_CERTIFICATE_CHARACTERS;
  return { type: "text", max, default: preset, format, ...about };
}

/** A list of at most 100 entries, if the row does not say otherwise, which have a format. */
export function listAs<const N extends ListFormatName>(
  format: N,
  preset: readonly string[],
  about: AboutSetting & { readonly maxItems?: number },
): TextList & AboutSetting & { readonly format: N } {
  return { type: "list", max: MAX_CERTIFICATE_CHARACTERS, maxItems: 100, default: preset, format, ...about };
}

const isRow = (entry: SettingRow | SettingTable): entry is SettingRow => typeof entry["doc"] === "string";

/** What a time is called in the settings file. */
const UNIT_NAMES = { ms: "ms", s: "s", min: "minutes", h: "hours", days: "days" } as const;

/** The name in the settings file: `lifetimeMs` in seconds is `lifetime_s`. */
export function snakeCase(name: string, row?: SettingRow): string {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const unit = row?.type === "number" ? row.unit : undefined;
  return unit === undefined ? snake : snake.replace(/_ms$/, `_${UNIT_NAMES[unit]}`);
}

/** The values of a table, in its order, by a function of each row and its key. */
export function mapTable<T extends SettingTable>(
  table: T,
  valueOf: (row: SettingRow, key: string) => unknown,
  path = "",
): TableValues<T> {
  return Object.fromEntries(
    Object.entries(table).map(([name, entry]) => [
      name,
      isRow(entry)
        ? valueOf(entry, entry.key ?? path + snakeCase(name, entry))
        : mapTable(entry, valueOf, `${path}${snakeCase(name)}.`),
    ]),
  ) as TableValues<T>;
}

/** The rows of a table by key, in its order. */
export function rowsByKey(table: SettingTable): SettingRows {
  const rows: Record<string, SettingRow> = {};
  mapTable(table, (row, key) => rows[key] = row);
  return rows;
}
