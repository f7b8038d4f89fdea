// `deno task move-store`: copies a store between a file and a KV Connect server, and compares both.

import { COMMAND } from "../platform/command_name.ts";
import { dirname, resolve } from "node:path";
import { readLifetimes } from "../platform/config/live_settings.ts";
import { BackupFault, tableOf } from "../platform/backup/records.ts";
import { countTables, readStore, type TableCounts } from "../platform/backup/read_store.ts";
import type { RestoreTarget } from "../platform/backup/restore_target.ts";
import type { Config } from "../platform/config/config.ts";
import type { SettingsFile } from "../platform/config/load.ts";
import { lockDataDir } from "../platform/data_dir.ts";
import { isKvUrl, openKv } from "../platform/open_kv.ts";
import { type CommandOutcome, printable } from "./format_result.ts";
import { adminCommand, runMain, runWithSettings } from "./run_admin_command.ts";
import {
  abandonCopy,
  checkNoNodes,
  checkUsable,
  openCopyTarget,
  refuseContent,
  summaryText,
  supervised,
  totalOf,
} from "./store_copy.ts";
import { interruptSignal, parseCommandArgs, type Progress, terminalProgress } from "./terminal.ts";

const USAGE = `Copy a store between a file and a KV Connect server.

Usage:
  ${COMMAND} move-store <from> <to>          Copy all entries, and compare the counts of both stores.
  ${COMMAND} move-store <from> <to> --force  Delete the content of <to> first, after showing what it is.

<from> and <to> are the path of a store file (<data_dir>/countersign.kv) or the http or https URL of a KV Connect
endpoint, whose access token is in DENO_KV_ACCESS_TOKEN. Without --force, <to> must be empty. <from> stays as it is.
Stop the server first; with a KV Connect server, stop all nodes. Afterwards, change store.kv and start the server. Every
node needs the same master.key in its data directory.
`;

interface MovePlan {
  readonly from: string;
  readonly to: string;
  readonly force: boolean;
}

/** Reads the arguments. A text is the problem with them. */
export function planMove(args: readonly string[]): MovePlan | string {
  const parsed = parseCommandArgs(args, { force: { type: "boolean" } });
  if (!parsed.ok) return parsed.problem;
  const { words: [from = "", to = "", third], values: { force = false } } = parsed;
  if (from === "" || to === "") return "the stores are missing: <from> <to>";
  const foreign = [from, to].find((one) => /^[a-z][a-z0-9+.-]*:\/\//i.test(one) && !isKvUrl(one));
  if (foreign !== undefined) return `"${foreign}" is neither a path nor an http or https URL`;
  if (from === to) return "<from> and <to> are the same store";
  return third === undefined ? { from, to, force } : "there are more than two stores";
}

interface MoveRun extends MovePlan {
  readonly config: Config;
  readonly settingsFile: SettingsFile;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function run(plan: MovePlan): Promise<CommandOutcome> {
  const progress = terminalProgress();
  try {
    return await runWithSettings((config, { settingsFile }) =>
      move({ ...plan, config, settingsFile, progress, signal: interruptSignal() })
    );
  } finally {
    progress.clear();
  }
}

async function move(options: MoveRun): Promise<CommandOutcome> {
  const { from, to, force, progress, signal } = options;
  const locks = await lockFiles(options);
  try {
    const source = await openKv(from, { mustExist: true });
    try {
      await supervised(async () => {
        await checkUsable(source, from);
        await checkNoNodes(source, { location: from });
      }, { signal });
      const refused = await refuseContent(to, { action: "copy to", force, progress, signal });
      if (refused !== null) return refused;
      const target = await openCopyTarget(to, { progress, signal });
      const outcome = await supervised((onProgress) => copy(options, { source, target, onProgress }), {
        signal,
      })
        .catch((fault) => abandonCopy(target, fault));
      await target.finish();
      return outcome;
    } finally {
      source.close();
    }
  } finally {
    progress.clear();
    for (const lock of locks) lock.close();
  }
}

/** Locks the data directories of store files, so that no server uses them. Other directories stay as they are. */
async function lockFiles({ from, to, config }: MoveRun): Promise<Deno.FsFile[]> {
  const files = [from, to].filter((one) => !isKvUrl(one));
  const locks: Deno.FsFile[] = [];
  try {
    for (const directory of new Set(files.map((file) => dirname(resolve(file))))) {
      const isDataDir = directory === config.server.dataDir || await isFile(`${directory}/lock`);
      if (isDataDir) locks.push(await lockDataDir(directory));
    }
    return locks;
  } catch (fault) {
    for (const lock of locks) lock.close();
    throw fault;
  }
}

async function isFile(path: string): Promise<boolean> {
  return await Deno.stat(path).then(({ isFile }) => isFile, () => false);
}

/** Entries that expire within this time of the copy can be missing in the comparison. */
const SOON_MS = 3_600_000;

/** The entries that were copied, and how many of them expire soon, by table. */
interface Copied {
  readonly copied: Map<string, number>;
  readonly soon: Map<string, number>;
}

async function copy(
  { settingsFile, progress, signal }: MoveRun,
  { source, target, onProgress }: {
    source: Deno.Kv;
    target: RestoreTarget;
    onProgress: () => void;
  },
): Promise<CommandOutcome> {
  const startedMs = performance.now();
  const { writer, kv } = target;
  const counts: Copied = { copied: new Map(), soon: new Map() };
  // The store removes expired entries late. They are neither copied nor compared.
  const unexpired = { nowMs: Date.now, settings: await readLifetimes(source, settingsFile) };
  for await (const batch of readStore(source, { ...unexpired, signal })) {
    for (const record of batch) {
      const table = tableOf(record.key);
      counts.copied.set(table, (counts.copied.get(table) ?? 0) + 1);
      const isSoon = record.kind === "set" && record.expiresAtMs !== null &&
        record.expiresAtMs <= Date.now() + SOON_MS;
      if (isSoon) counts.soon.set(table, (counts.soon.get(table) ?? 0) + 1);
      await writer.add(record);
    }
    onProgress();
    progress.update("Copying", { done: totalOf(counts.copied), total: null });
  }
  await writer.flush();
  const compared = (what: string) => (done: number) => {
    onProgress();
    progress.update(`Comparing ${what}`, { done, total: totalOf(counts.copied) });
  };
  const after = await countTables(source, { signal, unexpired, onCount: compared("<from>") });
  const there = await countTables(kv, { signal, unexpired, onCount: compared("<to>") });
  const differences = differencesOf(counts, { after, there });
  if (differences !== "") throw new BackupFault(`The stores differ:\n${differences}${DIFFER}`);
  const seconds = (performance.now() - startedMs) / 1000;
  const octets = writer.octets;
  const rows = [...counts.copied].sort().map(([table, count]) =>
    `  ${printable(table)} ${count.toLocaleString("en-US")}\n`
  );
  return {
    out: `${rows.join("")}${
      summaryText("Copied", { entries: totalOf(counts.copied), octets, seconds })
    }The counts of both stores are equal.\n`,
    err: "",
    exitCode: 0,
  };
}

const DIFFER = "A process writes to one of them. Stop the server or all nodes, and run the command again";

/** The tables whose counts differ, a line each. Entries that expire soon can be missing. */
export function differencesOf(
  { copied, soon }: Copied,
  { after, there }: { after: TableCounts; there: TableCounts },
): string {
  const lines: string[] = [];
  for (const table of new Set([...copied.keys(), ...after.keys(), ...there.keys()])) {
    const count = copied.get(table) ?? 0;
    const least = count - (soon.get(table) ?? 0);
    const [from, to] = [after.get(table) ?? 0, there.get(table) ?? 0];
    if ([from, to].some((one) => one < least || one > count)) {
      lines.push(`  ${printable(table)}: ${from} in <from>, ${to} in <to>\n`);
    }
  }
  return lines.join("");
}

export const moveStoreCommand = adminCommand({ usage: USAGE, plan: planMove, run, needsStop: true });

if (import.meta.main) await runMain(moveStoreCommand);
