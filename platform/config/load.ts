// Loads the settings file: a Config, or all faults at once.

import { resolve } from "node:path";
import type { ConfigFault, ConfigOutcome, ConfigSources, ConfigWarning } from "./config.ts";
import { ownUrl } from "../addresses.ts";
import { buildConfig, type ParsedSettings } from "./build_config.ts";
import { parseToml, type SortedTable, sortTable, type TableShape, type TomlTable } from "./parse_toml.ts";
import { type ConfigView, FAULT_CHECKS } from "./validate.ts";
import { parseRows, readFailure } from "./parse_settings.ts";
import { freezeRedacted, listSettings, readableSecretWarnings } from "./settings_view.ts";
import { ADMIN_ROWS, GENERAL_ROWS } from "./settings.ts";
import { CLIENT_ROWS, POLICY_ROWS } from "./client_rows.ts";
import type { SettingRows } from "./value_types.ts";
import {
  checkStoreToken,
  entryPrefix,
  parseReplyDefault,
  parseReplyGroups,
  parseTableList,
  readTls,
} from "./parse_tables.ts";
import { parseCredentials, parseTargets } from "./targets.ts";
import { TARGET_FAULT_CHECKS, TARGET_WARNING_CHECKS } from "./validate_targets.ts";
import { WARNING_CHECKS } from "./warnings.ts";

const FILE_VARIABLE = "COUNTERSIGN_CONFIG";
const DEFAULT_FILE = "countersign.toml";

const SHAPE: TableShape = {
  keys: new Set([...Object.keys(GENERAL_ROWS), ...Object.keys(POLICY_ROWS).map((key) => `radius.${key}`)]),
  lists: new Set(["radius.client", "scim.credential", "console.admin"]),
  maps: new Set(["radius.reply.default", "radius.reply.group", "targets"]),
};

type FileOutcome = { ok: true; path: string | null; text: string } | { ok: false; fault: ConfigFault };

function readFile({ env, readTextFile, cwd }: ConfigSources): FileOutcome {
  const given = env(FILE_VARIABLE) ?? "";
  const path = resolve(cwd, given === "" ? DEFAULT_FILE : given);
  try {
    return { ok: true, path, text: readTextFile(path) };
  } catch (failure) {
    if (given === "" && failure instanceof Deno.errors.NotFound) return { ok: true, path: null, text: "" };
    const key = given === "" ? DEFAULT_FILE : FILE_VARIABLE;
    return {
      ok: false,
      fault: { key, problem: `the settings file ${JSON.stringify(path)} ${readFailure(failure)}` },
    };
  }
}

/** The keys of the file, those of repeated tables with their index. */
function givenKeys({ values, lists }: SortedTable): Set<string> {
  const keys = new Set(values.keys());
  const add = (table: TomlTable, prefix: string): void => {
    for (const [name, inner] of Object.entries(table)) {
      keys.add(prefix + name);
      if (name === "first_factor_server" && typeof inner === "object" && inner !== null) {
        for (const part of Object.keys(inner)) keys.add(`${prefix}${name}.${part}`);
      }
    }
  };
  for (const [list, tables] of lists) tables.forEach((table, at) => add(table, entryPrefix(list, at)));
  return keys;
}

function readParts(
  found: SortedTable,
  { path, sources, faults }: { path: string | null; sources: ConfigSources; faults: ConfigFault[] },
): ParsedSettings {
  const reading = { sources, faults };
  const general = parseRows(GENERAL_ROWS, reading, { found: found.values });
  const list = <R extends SettingRows>(rows: R, name: string) =>
    parseTableList(rows, name, found.lists.get(name) ?? [], reading);
  const map = (name: string): TomlTable => found.maps.get(name) ?? {};
  const at = { found: found.values, foundPrefix: "radius.", keyPrefix: "radius." };
  const tls = readTls(general, reading);
  checkStoreToken(general, reading);
  const own = ownUrl(general["http.listen"], { tls: tls !== null }) ?? general["http.public_url"];
  return {
    file: path,
    cwd: sources.cwd,
    general,
    anyClient: parseRows(POLICY_ROWS, reading, at),
    clients: list(CLIENT_ROWS, "radius.client"),
    admins: list(ADMIN_ROWS, "console.admin"),
    replyDefault: parseReplyDefault(map("radius.reply.default"), reading),
    replyGroups: parseReplyGroups(map("radius.reply.group"), reading),
    targets: parseTargets(map("targets"), reading),
    credentials: parseCredentials(found.lists.get("scim.credential") ?? [], reading),
    tls,
    publicUrl: found.values.has("http.public_url") ? general["http.public_url"] : own,
    accountingListenIsGiven: found.values.has("radius.accounting_listen"),
  };
}

/** Faults between settings, without keys that already have a fault. */
function crossFaults(view: ConfigView, faults: readonly ConfigFault[]): ConfigFault[] {
  const faulty = new Set(faults.map(({ key }) => key));
  return [...FAULT_CHECKS, ...TARGET_FAULT_CHECKS].flatMap((check) => [...check(view)]).filter(({ key }) =>
    !faulty.has(key)
  );
}

/**
 * Reads the settings: the file that COUNTERSIGN_CONFIG names, else `countersign.toml` in the working directory, else
 * every default. Returns the frozen Config with its warnings, or all faults at once. Content of the file or the
 * environment never makes it throw, and no fault contains a secret.
 */
export function loadConfig(sources: ConfigSources): ConfigOutcome {
  const file = readFile(sources);
  if (!file.ok) return { ok: false, faults: [file.fault] };
  const parsed = parseToml(file.text);
  if (!parsed.ok) return { ok: false, faults: [{ key: file.path ?? DEFAULT_FILE, problem: parsed.problem }] };
  const faults: ConfigFault[] = [];
  const found = sortTable(parsed.table, { shape: SHAPE, faults });
  const parts = readParts(found, { path: file.path, sources, faults });
  const view = { config: buildConfig(parts), parts, given: givenKeys(found) };
  faults.push(...crossFaults(view, faults));
  if (faults.length > 0) return { ok: false, faults };
  const warnings: ConfigWarning[] = [...WARNING_CHECKS, ...TARGET_WARNING_CHECKS].flatMap((check) => [
    ...check(view),
  ]);
  if (file.path !== null) {
    warnings.push(
      ...readableSecretWarnings(parsed.table, {
        path: file.path,
        mode: sources.fileMode?.(file.path) ?? null,
      }),
    );
  }
  return {
    ok: true,
    config: freezeRedacted(view.config),
    warnings,
    settings: listSettings(found, { "http.public_url": view.config.http.publicUrl }),
  };
}
