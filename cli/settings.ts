// `deno task settings`: shows the settings with their sources, and changes those that the console can change.

import { COMMAND } from "../platform/command_name.ts";
import { stringify } from "smol-toml";
import { parseToml } from "../platform/config/parse_settings.ts";
import type { SettingsAnswer, SettingValue, SettingView } from "../console/api/settings/setting_routes.ts";
import type { TargetSettingsAnswer } from "../console/api/target_settings/target_setting_routes.ts";
import { type AdminApi, AdminRefusal, apiValue } from "./admin_connection.ts";
import { type CommandOutcome, printable, quoted, resultText, table } from "./format_result.ts";
import { adminCommand, refusal, runCommand, runMain, success } from "./run_admin_command.ts";
import { parseCommandArgs, readSecretLine, writeNotice } from "./terminal.ts";

const USAGE = `Show and change the settings that are saved in the console.

Usage:
  ${COMMAND} settings list              List all settings with their values and sources.
  ${COMMAND} settings get <key>         Show one setting.
  ${COMMAND} settings set <key> <value> Save a value, for example: set factors.enabled '["device", "totp"]'
  ${COMMAND} settings set <key> -       Read the value from standard input. Use it for secrets.
  ${COMMAND} settings unset <key>       Restore the default, or the value of the settings file.
  ${COMMAND} settings export            Print the saved settings and directories as TOML, without secrets.

A setting of the settings file is locked: change the file, and reload or restart the gateway.
`;

type SettingsPlan =
  | { readonly verb: "list" | "export" }
  | { readonly verb: "get" | "unset"; readonly key: string }
  | { readonly verb: "set"; readonly key: string; readonly text: string };

/** Reads the arguments. A text is the problem with them. */
function planSettings(args: readonly string[]): SettingsPlan | string {
  const parsed = parseCommandArgs(args, {});
  if (!parsed.ok) return parsed.problem;
  const [verb, key, text, more] = parsed.words;
  if (verb === "list" || verb === "export") return key === undefined ? { verb } : "there are too many words";
  if (verb !== "get" && verb !== "set" && verb !== "unset") {
    return "the first word must be list, get, set, unset or export";
  }
  if (key === undefined) return "the key is missing";
  if (verb !== "set") return text === undefined ? { verb, key } : "there are too many words";
  if (text === undefined) return "the value is missing";
  return more === undefined ? { verb, key, text } : "there is more than one value; put it in quotation marks";
}

/** Carries out a plan. */
async function settings(api: AdminApi, plan: SettingsPlan): Promise<CommandOutcome> {
  const answer = await apiValue(api.settings.$get()) as SettingsAnswer;
  switch (plan.verb) {
    case "list":
      return success(
        `${table([["key", "source", "value"], ...answer.settings.map(rowOf)])}${warningsOf(answer)}`,
      );
    case "export":
      return success(
        exportText(answer, await apiValue(api["target-settings"].$get()) as TargetSettingsAnswer),
      );
    case "get":
      return success(oneText(findSetting(answer, plan.key)));
    case "unset":
      return await save(api, answer, findSetting(answer, plan.key), null);
    case "set": {
      const view = findSetting(answer, plan.key);
      const text = plan.text === "-"
        ? (await readSecretLine(Deno.stdin, writeNotice, { label: "Value" })) ?? ""
        : plan.text;
      return await save(api, answer, view, valueOf(view, text));
    }
  }
}

/** @throws AdminRefusal */
function findSetting({ settings }: SettingsAnswer, key: string): SettingView {
  const found = settings.find((view) => view.key === key);
  if (found !== undefined) return found;
  throw new AdminRefusal(
    "not_found",
    `There is no setting ${quoted(key)}. List them: ${COMMAND} settings list`,
  );
}

/** A value as TOML, or else as a text. */
function valueOf({ control }: SettingView, text: string): SettingValue {
  if (control.kind === "text" || control.kind === "secret" || control.kind === "choice") {
    const quotedText = /^"(.*)"$/.exec(text);
    return quotedText?.[1] ?? text;
  }
  const parsed = parseToml(`value = ${text}`);
  return parsed.ok ? parsed.table.value as SettingValue : text;
}

async function save(
  api: AdminApi,
  { version }: SettingsAnswer,
  { key, source, locked, changed }: SettingView,
  value: SettingValue | null,
): Promise<CommandOutcome> {
  // A saved value that cannot be used has no effect, but it is there.
  if (value === null && source !== "console" && locked === null && changed === null) {
    return success(resultText(`${quoted(key)} has no saved value.`));
  }
  const json = { changes: { [key]: value as string | null } };
  const { faults, warnings } = await apiValue(api.settings.check.$post({ json }));
  if (faults.length > 0) return refusal(`Cannot save the setting:\n${listText(faults)}`);
  await apiValue(api.settings.$put({ json: { ...json, version } }));
  const notes = warnings.length === 0 ? "" : `Warnings:\n${listText(warnings)}`;
  return success(
    `${
      resultText(value === null ? `${quoted(key)} has its default again.` : `${quoted(key)} is saved.`)
    }${notes}`,
  );
}

const listText = (entries: readonly { key: string; problem: string }[]): string =>
  entries.map(({ key, problem }) => `  ${printable(`${key}: ${problem}`)}\n`).join("");

const SOURCES: Readonly<Record<SettingView["source"], string>> = {
  default: "default",
  file: "settings file",
  console: "console",
};

function rowOf(view: SettingView): string[] {
  return [view.key, SOURCES[view.source], shownValue(view)];
}

function shownValue({ isSecret, isSet, value }: SettingView): string {
  return isSecret ? (isSet ? "(set)" : "(not set)") : JSON.stringify(value);
}

function oneText(view: SettingView): string {
  const { changed, problem, locked } = view;
  return table([
    ["key", view.key],
    ["value", shownValue(view)],
    ["default", view.isSecret ? "(not set)" : JSON.stringify(view.preset)],
    ["source", SOURCES[view.source]],
    ...(locked === "restart" ? [["change", "only in the settings file, with a restart"]] : []),
    ...(changed === null ? [] : [["changed", `${new Date(changed.atMs).toISOString()} by ${changed.by}`]]),
    ...(problem === null ? [] : [["not used", problem]]),
    ["meaning", view.doc],
  ]);
}

/** Saved values that are not used. */
function warningsOf({ settings }: SettingsAnswer): string {
  const unused = settings.flatMap(({ key, problem }) => problem === null ? [] : [{ key, problem }]);
  return unused.length === 0 ? "" : `\nThese saved values are not used:\n${listText(unused)}`;
}

function exportText({ settings }: SettingsAnswer, { items }: TargetSettingsAnswer): string {
  const tables: Record<string, unknown> = {};
  const secrets: string[] = [];
  for (const { key, source, isSecret, value } of settings) {
    if (source !== "console") continue;
    if (isSecret) secrets.push(key);
    else put(tables, key.split("."), value);
  }
  for (const { name, source, table } of items) {
    if (source === "console") put(tables, ["targets", name], withoutSecrets(table));
  }
  const notes = secrets.map((key) => `# ${key} is set in the console. Secrets are not exported.\n`).join("");
  return `${notes}${stringify(tables)}\n`;
}

function put(tables: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = "", ...rest] = path;
  if (rest.length === 0) tables[first] = value;
  else put((tables[first] ??= {}) as Record<string, unknown>, rest, value);
}

/** Secrets of connectors are `true` or `false`. */
function withoutSecrets(table: TargetSettingsAnswer["items"][number]["table"]): unknown {
  const secrets = ["bind_password", "token", "password"];
  return JSON.parse(JSON.stringify(table, (key, value) => secrets.includes(key) ? undefined : value));
}

export const settingsCommand = adminCommand({
  usage: USAGE,
  plan: planSettings,
  run: (plan) => runCommand((api) => settings(api, plan)),
});

if (import.meta.main) await runMain(settingsCommand);
