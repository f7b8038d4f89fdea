// The settings of a RADIUS client as values: their types and access to them, derived from the rows of CLIENT_SETTINGS.

import { CLIENT_SETTINGS, type ClientSettingRow, type SettingTypes } from "./client_settings.ts";

type Table = typeof CLIENT_SETTINGS;

export type ClientSetting = keyof Table;

/** Settings whose row matches `Part`. */
type SettingWith<Part> = { [K in ClientSetting]: Table[K] extends Part ? K : never }[ClientSetting];

/** Settings that `[radius]` also has, for any client address. */
export type PolicySetting = SettingWith<{ isPolicy: true }>;
/** Settings that the console can change. */
export type ConsoleSetting = SettingWith<{ console: object }>;

/** Settings that are neither stored in the content of a client nor returned. */
export type SecretSetting = SettingWith<{ type: "secret" }>;

/** Settings that callers of the console's API may leave out. */
export type OptionalSetting = SettingWith<{ console: { isOptional: true } }>;

type TypedValue<K extends ClientSetting> = Table[K] extends
  { type: "choice"; choices: readonly (infer Choice)[] } ? Choice : SettingTypes[Table[K]["type"]];

/** The value of a setting in the console, where some settings have one more choice. */
export type ConsoleValue<K extends ConsoleSetting> = Table[K] extends
  { type: "choice"; console: { choices: readonly (infer Choice)[] } } ? Choice : TypedValue<K>;

/** The settings of the server that checks passwords, with `firstFactor: "radius"`. */
export type ServerSetting = ClientSetting & `firstFactorServer.${string}`;
export type ServerPart<K> = K extends `firstFactorServer.${infer Part}` ? Part : never;
export type FirstFactorServer = { readonly [K in ServerSetting as ServerPart<K>]: TypedValue<K> };

/** How requests of a client are treated. */
export type ClientPolicy =
  & { readonly [K in Exclude<PolicySetting, ServerSetting>]: TypedValue<K> }
  & { readonly firstFactorServer: FirstFactorServer | null };

/** A client of the settings file. */
export type ClientSettings =
  & { readonly [K in Exclude<SettingWith<{ key: string }>, ServerSetting>]: TypedValue<K> }
  & { readonly firstFactorServer: FirstFactorServer | null };

/** A client of the console, without its secrets. `firstFactor: "settings"` means the first factor of [radius]. */
export type ClientContent =
  & { readonly name: string }
  & { readonly [K in Exclude<ConsoleSetting, ServerSetting | SecretSetting>]: ConsoleValue<K> }
  & { readonly firstFactorServer: Omit<FirstFactorServer, "secret"> | null };

const NAMES = Object.keys(CLIENT_SETTINGS) as ClientSetting[];

/** The settings of [radius]. */
export const POLICY_SETTINGS = NAMES.filter((name): name is PolicySetting =>
  clientSetting(name).isPolicy === true
);
/** The settings of the console, with the secret of the first-factor server. */
export const CONSOLE_SETTINGS = NAMES.filter((name): name is ConsoleSetting =>
  clientSetting(name).console !== undefined
);
/** The settings that a stored record and the API's answers have. */
export const CONTENT_SETTINGS = CONSOLE_SETTINGS.filter((name) => clientSetting(name).type !== "secret");

/** The row of a setting, for code that handles all settings. */
export function clientSetting(name: ClientSetting): ClientSettingRow {
  return CLIENT_SETTINGS[name];
}

/** The value of a setting; `undefined` where there is no first-factor server. */
export function settingOf(values: object, name: ClientSetting): unknown {
  return name.split(".").reduce(
    (value: unknown, part) => (value as Readonly<Record<string, unknown>> | null)?.[part],
    values,
  );
}

/** The setting with this name in the audit log, or `null`. */
export function findAuditedSetting(auditName: string): ConsoleSetting | null {
  return CONSOLE_SETTINGS.find((name) => (clientSetting(name).console?.auditName ?? name) === auditName) ??
    null;
}

/** An object with some settings. The first-factor server is `null` if `valueOf` returns `undefined` for its settings. */
export function settingsObject<K extends ClientSetting>(
  names: readonly K[],
  valueOf: (name: K) => unknown,
): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const name of names) {
    const [parent = name, part] = name.split(".");
    const value = valueOf(name);
    if (part === undefined) object[parent] = value;
    else if (value === undefined) object[parent] ??= null;
    else object[parent] = { ...object[parent] as object | null, [part]: value };
  }
  return object;
}

/** Whether the setting has an effect, given the values of the others. */
export function isSettingUsed(name: ClientSetting, valueOf: (name: ClientSetting) => unknown): boolean {
  const { usedWhen } = clientSetting(name);
  if (usedWhen === undefined) return true;
  const value = valueOf(usedWhen.setting);
  // A form has the text of a number.
  return "is" in usedWhen ? value === usedWhen.is : Number(value ?? usedWhen.isNot) !== usedWhen.isNot;
}
