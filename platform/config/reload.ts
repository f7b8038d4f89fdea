// Reads the settings file again while the gateway runs: what changes now, and what needs a restart.

import { isDeepEqual } from "../deep_equal.ts";
import type { Log } from "../log.ts";
import { shownKey } from "../setting_problems.ts";
import type { ServiceManager } from "../service_manager.ts";
import type { Config, ConfigFault } from "./config.ts";
import { ALL_SETTINGS } from "./list_settings.ts";
import type { ConfigOutcome, SettingsFile } from "./load.ts";
import type { SortedTable } from "./parse_settings.ts";

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
