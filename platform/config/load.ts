// Loads the settings file: a Config, or all faults at once.

import { resolve } from "node:path";
import type { Config, ConfigFault, ConfigSources, ConfigWarning } from "./config.ts";
import {
  ALL_SETTINGS,
  CLIENT_TABLE,
  freezeRedacted,
  listSettings,
  RADIUS_ROWS,
  RADIUS_TABLE,
  readableSecretWarnings,
  REPLY_DEFAULT_KEY,
  type SettingView,
  toClientSettings,
  toRequestSettings,
} from "./list_settings.ts";
import { ownUrl } from "../addresses.ts";
import { DAY_MS } from "../durations.ts";
import {
  isTable,
  parseTable,
  parseToml,
  readFailure,
  type SortedTable,
  sortTable,
  type TableShape,
  type TomlTable,
} from "./parse_settings.ts";
import { type ConfigView, FAULT_CHECKS, TARGET_FAULT_CHECKS, TARGET_WARNING_CHECKS } from "./validate.ts";
import { ADMIN_SETTINGS, GENERAL_ROWS, SETTINGS } from "./settings.ts";
import type { SettingTable } from "./setting_rows.ts";
import { parseTargets } from "./targets.ts";
import { CREDENTIAL_SETTINGS } from "./target_settings.ts";
import {
  checkRadiusTls,
  checkStoreToken,
  entryPrefix,
  parseReplyDefault,
  parseReplyGroups,
  parseReplySources,
  parseReplyUsers,
  parseTableList,
  readCertificates,
  readTls,
} from "./parse_tables.ts";
import { WARNING_CHECKS } from "./warnings.ts";
import { isDeepEqual } from "../deep_equal.ts";
import type { Log } from "../log.ts";
import { shownKey } from "../setting_problems.ts";
import type { ServiceManager } from "../service_manager.ts";

const FILE_VARIABLE = "COUNTERSIGN_CONFIG";
const DEFAULT_FILE = "countersign.toml";

const SHAPE: TableShape = {
  keys: new Set([...Object.keys(GENERAL_ROWS), ...Object.keys(RADIUS_ROWS).map((key) => `radius.${key}`)]),
  lists: new Set(["radius.client", "scim.credential", "console.admin"]),
  maps: new Set([
    "radius.reply.default",
    "radius.reply.group",
    "radius.reply.user",
    "radius.reply.from_directory",
    "targets",
  ]),
};

export type ConfigOutcome =
  | {
    ok: true;
    config: Config;
    warnings: ConfigWarning[];
    settings: readonly SettingView[];
    settingsFile: SettingsFile;
  }
  | { ok: false; faults: ConfigFault[] };

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
      if (isTable(inner)) {
        for (const part of Object.keys(inner)) keys.add(`${prefix}${name}.${part}`);
      }
    }
  };
  for (const [list, tables] of lists) tables.forEach((table, at) => add(table, entryPrefix(list, at)));
  return keys;
}

const MAX_ENTRY_NAME = 64;

/** Adds the name or the address of the repeated table that a key is in. */
function nameEntries(faults: readonly ConfigFault[], lists: SortedTable["lists"]): ConfigFault[] {
  return faults.map((fault) => {
    const [, list = "", at] = /^([a-z.]+)\[(\d+)\]/.exec(fault.key) ?? [];
    const { name, address } = lists.get(list)?.[Number(at)] ?? {};
    const entry = [name, ...[address].flat()].find((one) => typeof one === "string" && one !== "");
    return typeof entry === "string" ? { ...fault, entry: entry.slice(0, MAX_ENTRY_NAME) } : fault;
  });
}

/** The Config, without the checks between settings. */
function readConfig(
  found: SortedTable,
  { path, sources, faults }: { path: string | null; sources: ConfigSources; faults: ConfigFault[] },
): Config {
  const reading = { sources, faults };
  const values = parseTable(SETTINGS, reading, { found: found.values });
  const list = <T extends SettingTable>(table: T, name: string) =>
    parseTableList(table, name, found.lists.get(name) ?? [], reading);
  const map = (name: string): TomlTable => found.maps.get(name) ?? {};
  const tls = readTls(values, reading);
  checkRadiusTls(values, reading);
  checkStoreToken(values, reading);
  const { server, http: { tlsCert: _cert, tlsKey: _key, ...http }, radius, mail, geoip } = values;
  const { auditDays, oidc, ...console } = values.console;
  const ownAddress = ownUrl(http.listen, { tls: tls !== null }) ?? http.publicUrl;
  const absolute = (file: string) => file === "" ? "" : resolve(sources.cwd, file);
  const at = { found: found.values, foundPrefix: "radius.", keyPrefix: "radius." };
  const { ca, from, replyTo, ...mailServer } = mail;
  return {
    ...values,
    file: path,
    server: { ...server, dataDir: resolve(sources.cwd, server.dataDir) },
    http: { ...http, publicUrl: found.values.has("http.public_url") ? http.publicUrl : ownAddress, tls },
    radius: {
      ...radius,
      accounting: { ...radius.accounting, isGiven: found.values.has("radius.accounting_listen") },
      tls: {
        ...radius.tls,
        cert: absolute(radius.tls.cert),
        key: absolute(radius.tls.key),
        ca: absolute(radius.tls.ca),
      },
      anyClient: toRequestSettings(parseTable(RADIUS_TABLE, reading, at)),
      clients: list(CLIENT_TABLE, "radius.client").map(toClientSettings),
      replyDefault: parseReplyDefault(map("radius.reply.default"), reading),
      replyGroups: parseReplyGroups(map("radius.reply.group"), reading),
      replyUsers: parseReplyUsers(map("radius.reply.user"), reading),
      replyFromDirectory: parseReplySources(map("radius.reply.from_directory"), reading),
    },
    targets: parseTargets(map("targets"), reading),
    scim: { credentials: list(CREDENTIAL_SETTINGS, "scim.credential") },
    mail: {
      ...mailServer,
      caPem: ca === "" ? "" : readCertificates("mail.ca", ca, reading),
      from: from || null,
      replyTo: replyTo || null,
    },
    geoip: { database: absolute(geoip.database), asnDatabase: absolute(geoip.asnDatabase) },
    console: {
      ...console,
      auditRetentionMs: auditDays * DAY_MS,
      admins: list(ADMIN_SETTINGS, "console.admin"),
      oidc: oidc.issuer === "" ? null : { ...oidc, name: oidc.name || new URL(oidc.issuer).hostname },
    },
  };
}

/** Faults between settings, without keys that already have a fault. */
function crossFaults(view: ConfigView, faults: readonly ConfigFault[]): ConfigFault[] {
  const faulty = new Set(faults.map(({ key }) => key));
  return [...FAULT_CHECKS, ...TARGET_FAULT_CHECKS].flatMap((check) => [...check(view)]).filter(({ key }) =>
    !faulty.has(key)
  );
}

/** The settings file as it was read once. A later change of the file has no effect before a reload or a restart. */
export interface SettingsFile {
  readonly path: string | null;
  readonly found: SortedTable;
  readonly sources: ConfigSources;
  /** About the file itself. */
  readonly warnings: readonly ConfigWarning[];
}

/** Values that the console stored, as TOML has them. */
export interface StoredValues {
  /** By key: `factors.enabled`. */
  readonly values: ReadonlyMap<string, unknown>;
  /** Tables `[targets.<name>]`, by name. */
  readonly targets: ReadonlyMap<string, TomlTable>;
}

export const NO_STORED_VALUES: StoredValues = { values: new Map(), targets: new Map() };

type SettingsFileOutcome =
  | { ok: true; settingsFile: SettingsFile; faults: readonly ConfigFault[] }
  | { ok: false; faults: ConfigFault[] };

/**
 * Reads the settings file that COUNTERSIGN_CONFIG names, else `countersign.toml` in the working directory. Without a file, every setting
 * has its default. Unknown keys are in `faults`.
 */
function readSettingsFile(sources: ConfigSources): SettingsFileOutcome {
  const file = readFile(sources);
  if (!file.ok) return { ok: false, faults: [file.fault] };
  const { path } = file;
  const parsed = parseToml(file.text);
  if (!parsed.ok) return { ok: false, faults: [{ key: path ?? DEFAULT_FILE, problem: parsed.problem }] };
  const faults: ConfigFault[] = [];
  const found = sortTable(parsed.table, { shape: SHAPE, faults });
  const warnings = path === null
    ? []
    : readableSecretWarnings(parsed.table, { path, mode: sources.fileMode?.(path) ?? null });
  return {
    ok: true,
    settingsFile: { path, found, sources: readOnce(sources), warnings },
    faults: nameEntries(faults, found.lists),
  };
}

/** Sources whose answers stay the same, so that only a reload or a restart reads another value of `file:` and `env:`. */
function readOnce(sources: ConfigSources): ConfigSources {
  const texts = new Map<string, () => string>();
  return {
    ...sources,
    readTextFile(path) {
      let read = texts.get(path);
      if (read === undefined) {
        try {
          const text = sources.readTextFile(path);
          read = () => text;
        } catch (failure) {
          read = () => {
            throw failure;
          };
        }
        texts.set(path, read);
      }
      return read();
    },
  };
}

export interface Evaluation {
  readonly config: Config;
  readonly faults: readonly ConfigFault[];
  readonly warnings: readonly ConfigWarning[];
  /** The raw values in effect, by key. */
  readonly found: SortedTable;
}

/** Settings of the file, else of the console, else defaults, checked together. Values of the console must contain no references. */
export function evaluateSettings(
  { path, found: ofFile, sources, warnings: ofPath }: SettingsFile,
  stored: StoredValues,
): Evaluation {
  const faults: ConfigFault[] = [];
  const found = merge(ofFile, stored);
  const view = { config: readConfig(found, { path, sources, faults }), given: givenKeys(found) };
  faults.push(...crossFaults(view, faults));
  const warnings = [...WARNING_CHECKS, ...TARGET_WARNING_CHECKS].flatMap((check) => [...check(view)]);
  return {
    config: view.config,
    faults: nameEntries(faults, found.lists),
    warnings: [...nameEntries(warnings, found.lists), ...ofPath],
    found,
  };
}

function merge(file: SortedTable, { values, targets }: StoredValues): SortedTable {
  const maps = new Map(file.maps);
  const ownReply = values.get(REPLY_DEFAULT_KEY);
  if (isTable(ownReply) && !maps.has(REPLY_DEFAULT_KEY)) maps.set(REPLY_DEFAULT_KEY, ownReply);
  if (targets.size > 0) {
    const ofFile = file.maps.get("targets") ?? {};
    const others = [...targets].filter(([name]) => !Object.hasOwn(ofFile, name));
    maps.set("targets", { ...ofFile, ...Object.fromEntries(others) });
  }
  const general = [...values].filter(([key]) => key !== REPLY_DEFAULT_KEY);
  return { values: new Map([...general, ...file.values]), lists: file.lists, maps };
}

/**
 * Reads the settings of the file. Returns the frozen Config with its warnings, or all faults at once. Content of the file or the
 * environment never makes it throw, and no fault contains a secret.
 */
export function loadConfig(sources: ConfigSources): ConfigOutcome {
  const read = readSettingsFile(sources);
  if (!read.ok) return read;
  const { settingsFile } = read;
  const { config, faults, warnings } = evaluateSettings(settingsFile, NO_STORED_VALUES);
  const all = [...read.faults, ...faults.filter(({ key }) => !read.faults.some((one) => one.key === key))];
  if (all.length > 0) return { ok: false, faults: all };
  return {
    ok: true,
    config: freezeRedacted(config),
    warnings: [...warnings],
    settings: listSettings(settingsFile.found, { "http.public_url": config.http.publicUrl }),
    settingsFile,
  };
}

// Reads the settings file again while the gateway runs: what changes now, and what needs a restart.

/** Repeated tables that services read at the start only. */
const READ_AT_START = [
  "scim.credential",
  "console.admin",
  "radius.reply.group",
  "radius.reply.user",
  "radius.reply.from_directory",
];
const CLIENTS = "radius.client";

interface ReloadPlan {
  /** The new file, with the values in effect of what needs a restart. */
  readonly file: SettingsFile;
  /** Keys and tables that differ and need a restart. */
  readonly needsRestart: readonly string[];
}

/** Combines the file in effect with the file as it is now. */
export function planReload(current: SettingsFile, next: SettingsFile): ReloadPlan {
  const found = {
    values: new Map(next.found.values),
    lists: new Map(next.found.lists),
    maps: new Map(next.found.maps),
  };
  const needsRestart: string[] = [];
  const keep = <K extends keyof SortedTable>(part: K, key: string): void => {
    const before = current.found[part].get(key);
    if (isDeepEqual(before ?? null, found[part].get(key) ?? null)) return;
    needsRestart.push(key);
    if (before === undefined) found[part].delete(key);
    else (found[part] as Map<string, unknown>).set(key, before);
  };
  for (const [key, row] of ALL_SETTINGS) if (row.editable === false) keep("values", key);
  for (const key of READ_AT_START) {
    keep("lists", key);
    keep("maps", key);
  }
  // Without clients, every address is accepted with the secret that a start generates.
  const countOf = ({ found }: SettingsFile): number => found.lists.get(CLIENTS)?.length ?? 0;
  if (countOf(current) > 0 && countOf(next) === 0) keep("lists", CLIENTS);
  return { file: { ...next, found }, needsRestart };
}

interface RunningSettings {
  readonly config: Pick<Config, "http">;
  replaceFile(next: SettingsFile): {
    readonly faults: readonly ConfigFault[];
    readonly needsRestart: readonly string[];
  };
}

interface ReloadDeps {
  readonly settings: RunningSettings;
  readonly log: Log;
  readonly load: () => ConfigOutcome;
  readonly manager: Pick<ServiceManager, "reloading" | "ready">;
  /** What the service manager shows if all is well. */
  readonly status: string;
  readonly http: { useCertificate(certificate: Config["http"]["tls"]): string | null };
  /** RADIUS over TLS. */
  readonly tls: { reload(): Promise<string | null> } | null;
}

/** Applies the settings file and the certificates as they are now. What cannot be used is logged, and the service manager shows it. */
export async function reload({ settings, log, load, manager, status, http, tls }: ReloadDeps): Promise<void> {
  await manager.reloading();
  const problems = [
    reloadSettings({ settings, log, load }),
    http.useCertificate(settings.config.http.tls),
    await tls?.reload() ?? null,
  ].filter((problem) => problem !== null);
  await manager.ready(problems.length === 0 ? status : problems.join("; "));
}

/** If the file has a fault, the settings in effect stay. Returns what is not in effect as a sentence, or `null`. */
function reloadSettings(
  { settings, log, load }: Pick<ReloadDeps, "settings" | "log" | "load">,
): string | null {
  const loaded = load();
  const { faults, needsRestart } = loaded.ok
    ? settings.replaceFile(loaded.settingsFile)
    : { faults: loaded.faults, needsRestart: [] };
  for (const fault of faults.slice(0, MAX_LOGGED)) {
    log.error("the settings file cannot be used, so the previous settings stay in effect", {
      setting: shownKey(fault),
      problem: fault.problem,
    });
  }
  const [first] = faults;
  if (first !== undefined) return faultText(first, faults.length - 1);
  const restart = needsRestart.join(", ");
  log.info("the settings file was read again", restart === "" ? {} : { needs_restart: restart });
  return restart === "" ? null : `Changes that need a restart: ${restart}`;
}

const MAX_LOGGED = 20;

function faultText(fault: ConfigFault, others: number): string {
  const more = others === 0 ? "" : ` (and ${others} more)`;
  return `The previous settings are in effect, because the file cannot be used: ${
    shownKey(fault)
  }: ${fault.problem}${more}`;
}
