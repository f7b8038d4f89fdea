// The keys of [[radius.client]], and of the policy in [radius] for any client address, from the rows of platform/client_settings.ts.

import { type AnyField, choice, flag, list, number, secret, text } from "../fields.ts";
import { CLIENT_SETTINGS, type ClientSettingRow } from "../client_settings.ts";
import { type ClientPolicy, type ClientSettings, POLICY_SETTINGS, settingsObject } from "../client_values.ts";
import { CLIENT_SETTING_DOCS, type FileSetting } from "./client_setting_docs.ts";
import { MAX_SECRET_CHARACTERS, rowsByKey, type SettingRow, type SettingTable } from "./setting_values.ts";

/** The settings that the file can have, in its order. */
const FILE_SETTINGS = Object.entries<ClientSettingRow>(CLIENT_SETTINGS).flatMap(([name, row]) =>
  row.key === undefined ? [] : [{ name: name as FileSetting, key: row.key, row }]
);

function tableOf(settings: typeof FILE_SETTINGS): SettingTable {
  return Object.fromEntries(
    settings.map(({ name, key, row }) => [name, rowOf({ ...row, key }, CLIENT_SETTING_DOCS[name])]),
  );
}

function rowOf({ key, example, isRequired, ...row }: ClientSettingRow, doc: string): SettingRow {
  const format = FORMATS[row.type];
  return {
    ...fieldOf(row),
    ...{ key, doc },
    ...(format === undefined ? {} : { format }),
    ...(example === undefined ? {} : { example }),
    ...(isRequired ? { mustBeGiven: true } : {}),
    ...(key === "first_factor_backend" ? { names: "ldap_connectors" } : {}),
  } as SettingRow;
}

const FORMATS: Readonly<Record<string, string>> = Object.fromEntries(
  ["domains", "ip", "peer", "ranges", "realms", "separator", "users"].map((type) => [type, type]),
);

function fieldOf(row: ClientSettingRow): AnyField {
  const { type, min = 0, max = 65_536 } = row;
  const preset = row.default as never;
  if (type === "boolean") return flag({ default: preset });
  if (type === "choice") return choice(row.choices ?? [], { default: preset });
  if (type === "secret") return secret({ max: MAX_SECRET_CHARACTERS });
  if (type === "ranges" || type === "domains" || type === "realms" || type === "users") {
    return list({ max, maxItems: type === "ranges" ? 1000 : 100, default: preset });
  }
  if (type === "milliseconds" || type === "seconds") {
    return number({ min, max, default: preset, unit: type === "seconds" ? "s" : "ms" });
  }
  return type === "port" ? number({ min, max, default: preset }) : text({ max, default: preset });
}

/** How requests of a client are treated: keys of [[radius.client]], and of [radius] for any client address. */
export const POLICY_TABLE = tableOf(FILE_SETTINGS.filter(({ row }) => row.isPolicy));
export const POLICY_ROWS = rowsByKey(POLICY_TABLE);
/** Each [[radius.client]]. */
export const CLIENT_TABLE = tableOf(FILE_SETTINGS);

/** The policy of parsed values, without settings of another first factor. */
export function toClientPolicy(values: Readonly<Record<string, unknown>>): ClientPolicy {
  return withOneFirstFactor(
    settingsObject(POLICY_SETTINGS, (name) => values[name]) as unknown as ClientPolicy,
  );
}

/** The client of parsed values. */
export function toClientSettings(values: Readonly<Record<string, unknown>>): ClientSettings {
  const names = FILE_SETTINGS.map(({ name }) => name);
  return withOneFirstFactor(settingsObject(names, (name) => values[name]) as unknown as ClientSettings);
}

function withOneFirstFactor<T extends ClientPolicy>(of: T): T {
  const hasServer = of.firstFactor === "radius" && isAddress(of.firstFactorServer?.address);
  return {
    ...of,
    firstFactorBackend: of.firstFactor === "ldap" ? of.firstFactorBackend : "",
    firstFactorServer: hasServer ? of.firstFactorServer : null,
  };
}

/** The parsed value of a missing address is "". */
function isAddress(parsed: unknown): boolean {
  return parsed !== "" && parsed !== undefined;
}
