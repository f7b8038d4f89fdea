// The keys of [[radius.client]], and of the policy in [radius] for any client address, from the rows of platform/client_settings.ts.

import { CLIENT_SETTINGS, type ClientSettingRow, type SettingTypes } from "../client_settings.ts";
import {
  type ClientPolicy,
  type ClientSetting,
  clientSetting,
  type ClientSettings,
  POLICY_SETTINGS,
  settingsObject,
} from "../client_values.ts";
import { CLIENT_SETTING_DOCS, type FileSetting } from "./client_setting_docs.ts";
import type { SettingRow, SettingRows, SettingValues } from "./value_types.ts";
import * as value from "./value_types.ts";

const KINDS: { readonly [T in keyof SettingTypes]: (row: ClientSettingRow) => value.ValueType<unknown> } = {
  boolean: () => value.boolean,
  choice: ({ choices = [] }) => value.settingChoice(choices),
  domains: () => value.domains,
  ip: () => value.ip,
  milliseconds: ({ min = 0, max = Infinity }) => value.milliseconds({ min, max }),
  peer: () => value.peer,
  port: ({ min = 0, max = 65_535 }) => value.integer({ min, max }),
  ranges: () => value.ranges,
  realms: () => value.realms,
  seconds: ({ min = 0, max = Infinity }) => value.seconds({ min, max }),
  secret: () => value.settingSecret(),
  separator: () => value.separator,
  text: ({ max = Infinity }) => value.settingLine({ max }),
  users: () => value.users,
};

/** The settings that the file can have, in its order. */
const FILE_SETTINGS = Object.entries<ClientSettingRow>(CLIENT_SETTINGS).flatMap(([name, row]) =>
  row.key === undefined ? [] : [{ name: name as FileSetting, key: row.key, row }]
);

function rowsOf(settings: typeof FILE_SETTINGS): SettingRows {
  return Object.fromEntries(
    settings.map(({ name, key, row }) => [key, rowOf(row, CLIENT_SETTING_DOCS[name])]),
  );
}

function rowOf(row: ClientSettingRow, doc: string): SettingRow<unknown> {
  const { type, default: preset, example, isRequired } = row;
  return {
    kind: KINDS[type](row),
    preset,
    doc,
    ...(example === undefined ? {} : { example }),
    ...(isRequired ? { required: true } : {}),
  };
}

/** How requests of a client are treated: keys of [[radius.client]], and of [radius] for any client address. */
export const POLICY_ROWS: SettingRows = rowsOf(FILE_SETTINGS.filter(({ row }) => row.isPolicy));
/** Each [[radius.client]]. */
export const CLIENT_ROWS: SettingRows = rowsOf(FILE_SETTINGS);

/** The policy of parsed values, without settings of another first factor. */
export function toClientPolicy(values: SettingValues<SettingRows>): ClientPolicy {
  return withOneFirstFactor(toSettings(POLICY_SETTINGS, values) as ClientPolicy);
}

/** The client of parsed values. */
export function toClientSettings(values: SettingValues<SettingRows>): ClientSettings {
  return withOneFirstFactor(toSettings(FILE_SETTINGS.map(({ name }) => name), values) as ClientSettings);
}

function toSettings(names: readonly ClientSetting[], values: SettingValues<SettingRows>): unknown {
  return settingsObject(names, (name) => values[clientSetting(name).key ?? name]);
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
