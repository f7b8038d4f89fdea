// From the settings file to a Config, or to all faults at once.

import { resolve } from "node:path";
import type { ConfigFault, ConfigOutcome, ConfigSources, ConfigWarning } from "./config.ts";
import { ownUrl } from "./addresses.ts";
import { assemble, type Parts } from "./build_config.ts";
import { type Found, parseToml, type Shape, sortTable, type Table } from "./parse_toml.ts";
import { FAULT_CHECKS, type View } from "./validate.ts";
import { readRows } from "./parse_settings.ts";
import { readFailure } from "./secret_refs.ts";
import { readableSecrets } from "./readable_secrets.ts";
import { sealed } from "./redact.ts";
import { GENERAL_ROWS } from "./settings.ts";
import { POLICY_ROWS } from "./client_rows.ts";
import { shownSettings } from "./settings_view.ts";
import {
  entryPrefix,
  readAdmins,
  readClients,
  readReplyDefault,
  readReplyGroups,
  readTls,
} from "./parse_tables.ts";
import { readCredentials, readTargets } from "./targets.ts";
import { TARGET_FAULT_CHECKS, TARGET_WARNING_CHECKS } from "./validate_targets.ts";
import { WARNING_CHECKS } from "./warnings.ts";

const FILE_VARIABLE = "COUNTERSIGN_CONFIG";
const DEFAULT_FILE = "countersign.toml";

const SHAPE: Shape = {
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

/** The keys that the file has, those of repeated tables with their place. */
function givenKeys({ values, lists }: Found): Set<string> {
  const keys = new Set(values.keys());
  const add = (table: Table, prefix: string): void => {
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
  found: Found,
  { path, sources, faults }: { path: string | null; sources: ConfigSources; faults: ConfigFault[] },
): Parts {
  const reading = { sources, faults };
  const general = readRows(GENERAL_ROWS, reading, { found: found.values });
  const map = (name: string): Table => found.maps.get(name) ?? {};
  const at = { found: found.values, foundPrefix: "radius.", keyPrefix: "radius." };
  const tls = readTls(general, reading);
  const own = ownUrl(general["http.listen"], { tls: tls !== null }) ?? general["http.public_url"];
  return {
    file: path,
    cwd: sources.cwd,
    general,
    anyClient: readRows(POLICY_ROWS, reading, at),
    clients: readClients(found.lists.get("radius.client") ?? [], reading),
    admins: readAdmins(found.lists.get("console.admin") ?? [], reading),
    replyDefault: readReplyDefault(map("radius.reply.default"), reading),
    replyGroups: readReplyGroups(map("radius.reply.group"), reading),
    targets: readTargets(map("targets"), reading),
    credentials: readCredentials(found.lists.get("scim.credential") ?? [], reading),
    tls,
    publicUrl: found.values.has("http.public_url") ? general["http.public_url"] : own,
    accountingListenIsGiven: found.values.has("radius.accounting_listen"),
  };
}

/** What checks between settings find; a key that has a fault of its own gets no second one. */
function crossFaults(view: View, faults: readonly ConfigFault[]): ConfigFault[] {
  const faulty = new Set(faults.map(({ key }) => key));
  return [...FAULT_CHECKS, ...TARGET_FAULT_CHECKS].flatMap((check) => [...check(view)]).filter(({ key }) =>
    !faulty.has(key)
  );
}

/**
 * Reads the settings: the file that COUNTERSIGN_CONFIG names, else `countersign.toml` in the working directory, else
 * every preset. Answers with the frozen Config and what should be known about it, or with all faults at once.
 * Never throws for what a file or the environment holds, and no fault shows a secret.
 */
export function loadConfig(sources: ConfigSources): ConfigOutcome {
  const file = readFile(sources);
  if (!file.ok) return { ok: false, faults: [file.fault] };
  const parsed = parseToml(file.text);
  if (!parsed.ok) return { ok: false, faults: [{ key: file.path ?? DEFAULT_FILE, problem: parsed.problem }] };
  const faults: ConfigFault[] = [];
  const found = sortTable(parsed.table, { shape: SHAPE, faults });
  const parts = readParts(found, { path: file.path, sources, faults });
  const view = { config: assemble(parts), parts, given: givenKeys(found) };
  faults.push(...crossFaults(view, faults));
  if (faults.length > 0) return { ok: false, faults };
  const warnings: ConfigWarning[] = [...WARNING_CHECKS, ...TARGET_WARNING_CHECKS].flatMap((check) => [
    ...check(view),
  ]);
  if (file.path !== null) {
    warnings.push(
      ...readableSecrets(parsed.table, { path: file.path, mode: sources.fileMode?.(file.path) ?? null }),
    );
  }
  return {
    ok: true,
    config: sealed(view.config),
    warnings,
    settings: shownSettings(found, { "http.public_url": view.config.http.publicUrl }),
  };
}
