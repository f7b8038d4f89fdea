// The form of the settings: drafts of typed values, the changes that they make, and the search. Pure functions.

import {
  type ClientSetting,
  clientSetting,
  isSettingUsed,
  REQUEST_SETTINGS,
} from "../../../../platform/client_settings.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { findMessage, t } from "../../i18n/translate.ts";
import { optionLabel, settingName, slugOf } from "./setting_problems.ts";
import type {
  DirectoryNames,
  SettingCheck,
  SettingValue,
  SettingView,
} from "../../../api/settings/setting_routes.ts";

/** What a control holds: text, the state of a switch, chosen words, or `null` for "reset to the default". */
export type DraftValue = string | boolean | readonly string[] | null;
/** The edited settings by key. A setting that is not edited is absent. */
export type FormDraft = ReadonlyMap<string, DraftValue>;

/** The changes of a request; `null` removes the console's value. */
export type FormChanges = Readonly<Record<string, SettingValue | null>>;

export const NO_DRAFT: FormDraft = new Map();

const isFromConsole = ({ source }: Setting) => source === "console";
const isChoice = ({ control: { kind, names } }: Setting) =>
  kind === "switch" || kind === "choice" || kind === "choices" || names !== undefined;
/** Whether the console stored a value, in use or not. */
export const isStored = (setting: Setting) => isFromConsole(setting) || setting.cause !== null;

/** The value that a control shows when nothing is typed. An empty text field has its default as the placeholder. */
export function savedDraft(setting: Setting): DraftValue {
  if (setting.isSecret) return "";
  if (isChoice(setting)) return toDraft(setting.value);
  return isFromConsole(setting) ? toDraft(setting.value) : "";
}

/** What the control of a setting shows: the typed value, the saved one, or the default. */
export function shownDraft(setting: Setting, draft: FormDraft): DraftValue {
  const typed = draft.get(setting.key);
  if (typed === undefined) return savedDraft(setting);
  return typed === null && isChoice(setting) ? toDraft(setting.preset) : typed ?? "";
}

function toDraft(value: SettingValue | null): DraftValue {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  return isTable(value) ? Object.entries(value).map(([name, one]) => `${name} = ${one}`) : value;
}

function isTable(value: SettingValue): value is Readonly<Record<string, string | number>> {
  return typeof value === "object" && !Array.isArray(value);
}

/** The text of a field with one entry a line, or one value. */
export function draftText(value: DraftValue): string {
  if (value === null) return "";
  return typeof value === "object" ? value.join("\n") : String(value);
}

/** The draft with one typed value. Exactly the saved text ends the edit; a blank more must stay in the field. */
export function editDraft(
  draft: FormDraft,
  { setting, value }: { setting: Setting; value: DraftValue },
): FormDraft {
  const next = new Map(draft);
  const isSaved = value === null ? !isStored(setting) : isSameText(value, savedDraft(setting));
  if (isSaved) next.delete(setting.key);
  else next.set(setting.key, value);
  return next;
}

const isSameText = (a: DraftValue, b: DraftValue) => draftText(a) === draftText(b);

/** Whether saving the draft would change a setting. */
export function isEdited(setting: Setting, draft: FormDraft): boolean {
  const value = draft.get(setting.key);
  if (value === undefined) return false;
  if (setting.isSecret || value === null) return true;
  return comparable(setting, value) !== comparable(setting, savedDraft(setting));
}

/** The settings that saving the draft would change. */
export function editedSettings(settings: readonly Setting[], draft: FormDraft): readonly Setting[] {
  return settings.filter((setting) => isEdited(setting, draft));
}

/** Lists are equal if their entries are, whatever the blank lines. */
function comparable({ control: { kind } }: Setting, value: DraftValue): string {
  const text = draftText(value);
  if (kind === "list") return entriesOf(text).join("\n");
  return kind === "attributes" ? linesOf(text).join("\n") : text.trim();
}

const isFilled = (entry: string) => entry !== "";
const linesOf = (text: string) => text.split("\n").map((line) => line.trim()).filter(isFilled);

/** The entries of a list: one a line, or separated by commas. */
function entriesOf(text: string): string[] {
  return text.split(/[\n,]/).map((entry) => entry.trim()).filter(isFilled);
}

type ReadValue =
  | { readonly ok: true; readonly value: SettingValue | null }
  | { readonly ok: false; readonly problem: string };

/** The value of a typed text, or why it cannot be one. The server checks everything else. */
export function readDraft({ control, isSecret }: Setting, draft: DraftValue): ReadValue {
  const ok = (value: SettingValue | null): ReadValue => ({ ok: true, value });
  if (draft === null || typeof draft === "boolean") return ok(draft);
  if (control.kind === "choices") return ok(typeof draft === "string" ? entriesOf(draft) : draft);
  const text = draftText(draft);
  if (isSecret) return ok(text);
  if (control.kind === "list") {
    const entries = entriesOf(text);
    return ok(entries.length === 0 ? null : entries);
  }
  if (text.trim() === "") return ok(null);
  if (control.kind === "attributes") return readAttributes(linesOf(text));
  return control.kind === "number" ? readNumber(control, text.trim()) : ok(text.trim());
}

/** Reply attributes, each as `Name = value`. A number is a number for an attribute that has one. */
function readAttributes(lines: readonly string[]): ReadValue {
  const value: Record<string, string | number> = {};
  for (const line of lines) {
    const [, name, text] = /^([A-Za-z][\w-]*)\s*=\s*(.+)$/.exec(line) ?? [];
    if (name === undefined || text === undefined) {
      return { ok: false, problem: t("settings.not_attribute", { line }) };
    }
    value[name] = /^\d{1,10}$/.test(text) ? Number(text) : text;
  }
  return { ok: true, value };
}

function readNumber({ min, max }: Setting["control"], text: string): ReadValue {
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : NaN;
  const isAllowed = Number.isInteger(value) && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  if (isAllowed) return { ok: true, value };
  const problem = min === undefined || max === undefined
    ? t("common.not_whole")
    : t("common.not_in_range", { min, max });
  return { ok: false, problem };
}

/** The changes of a draft, and the values that are none. */
export function changesOfDraft(settings: readonly Setting[], draft: FormDraft): {
  readonly changes: FormChanges;
  readonly problems: ReadonlyMap<string, string>;
} {
  const changes: Record<string, SettingValue | null> = {};
  const problems = new Map<string, string>();
  for (const setting of editedSettings(settings, draft)) {
    const read = readDraft(setting, draft.get(setting.key) ?? null);
    if (read.ok) changes[setting.key] = read.value;
    else problems.set(setting.key, read.problem);
  }
  return { changes, problems };
}

/** The help text. A setting of a newer server has the server's English text. */
export function settingHelp({ key, doc }: Pick<Setting, "key" | "doc">): string {
  return findMessage(`settings.help_${slugOf(key)}`) ?? doc;
}

/** The heading above the settings of one table of the file, such as `factors.lockout`; `null` without one. */
export function groupLabel({ topic, key }: Pick<Setting, "topic" | "key">): string | null {
  const table = slugOf(key.slice(0, key.lastIndexOf(".")));
  return findMessage(`settings.group_${topic}_${table}`) ?? findMessage(`settings.group_${table}`);
}

/** "300 seconds", "Push to a phone, Text message", "On"; `null` for an empty value. */
export function settingValueText(setting: Setting, value: SettingValue | null | undefined): string | null {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value === "boolean") return t(value ? "settings.on" : "common.off");
  if (typeof value === "number") {
    const { unit } = setting.control;
    return unit === undefined ? String(value) : `${value} ${unitText(unit)}`;
  }
  if (isTable(value)) return draftText(toDraft(value)).replaceAll("\n", ", ") || null;
  if (typeof value === "object") {
    return value.length === 0 ? null : value.map((one) => optionLabel(setting, one)).join(", ");
  }
  return setting.control.kind === "choice" ? optionLabel(setting, value) : value;
}

/** "Default: 300"; `null` if the default is empty. The unit is behind the control. */
export function defaultText(setting: Setting): string | null {
  const { preset } = setting;
  const value = typeof preset === "number" ? String(preset) : settingValueText(setting, preset);
  return value === null ? null : t("common.default_value", { value });
}

export function unitText(unit: NonNullable<Setting["control"]["unit"]>): string {
  return t(`settings.unit_${unit}` as MessageKey);
}

/** Settings of [radius] that have no effect without a value of another one, by key: those of any client. */
const CONDITIONS: ReadonlyMap<string, { readonly name: ClientSetting; readonly by: string }> = new Map(
  REQUEST_SETTINGS.flatMap((name) => {
    const { key, when = {} } = clientSetting(name);
    const [by] = Object.keys(when) as ClientSetting[];
    return by === undefined ? [] : [[`radius.${key}`, { name, by: `radius.${clientSetting(by).key}` }]];
  }),
);

/** Whether a setting has an effect with the values of the form. A setting that is not the default is shown in any case. */
export function isUsed(
  setting: Setting,
  { settings, draft }: { settings: readonly Setting[]; draft: FormDraft },
): boolean {
  const condition = CONDITIONS.get(setting.key);
  const other = settings.find(({ key }) => key === condition?.by);
  if (condition === undefined || other === undefined) return true;
  if (setting.source !== "default" || setting.problem !== null || draft.has(setting.key)) return true;
  const value = other.locked === null ? shownDraft(other, draft) : other.value;
  return isSettingUsed(condition.name, () => value);
}

/** Whether a search finds a setting: every word is in its label, key, help or value. */
export function isSettingFound(setting: Setting, search: string): boolean {
  const text = [
    settingName(setting),
    setting.key,
    settingHelp(setting),
    settingValueText(setting, setting.value) ?? "",
  ].join(" ").toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** What a setting can name with the values of the form, in order; `null` for other settings. */
export function namesFor(
  { control: { names } }: Setting,
  { settings, directories, draft }: {
    readonly settings: readonly Setting[];
    readonly directories: readonly DirectoryNames[];
    readonly draft: FormDraft;
  },
): readonly string[] | null {
  if (names === undefined) return null;
  if (names === "directories") return directories.map(({ name }) => name);
  const login = settings.find(({ key }) => key === "radius.directory");
  const chosen = login === undefined ? "" : draftText(shownDraft(login, draft));
  return directories.find(({ name }) => name === chosen)?.ldap ?? [];
}

export type {
  ConfigFault as SettingProblem,
  DirectoryNames,
  SettingValue,
} from "../../../api/settings/setting_routes.ts";
export type Setting = SettingView;
export type CheckedSettings = SettingCheck;
