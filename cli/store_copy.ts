// What backup, restore and move-store share: checks of a store, and the summary.

import { countTables, type TableCounts } from "../platform/backup/read_store.ts";
import { BackupFault, NODE_PREFIX, RESTORE_MARKER } from "../platform/backup/records.ts";
import { openRestoreTarget, type RestoreTarget } from "../platform/backup/restore_target.ts";
import { faultMessage } from "../platform/log.ts";
import { hasContent, isKvUrl, openKv, StoreFault } from "../platform/open_kv.ts";
import { readFormat, type StoredFormat } from "../platform/upgrade/store_format.ts";
import { type CancelTimer, type Clock, pauseFor, systemClock } from "../platform/runtime.ts";
import { commandClock } from "./admin_connection.ts";
import { type CommandOutcome, firstOf, printable, sizeText } from "./format_result.ts";
import { refusal } from "./run_admin_command.ts";
import { type Progress, writeNotice } from "./terminal.ts";

/** After this time without progress, the store counts as unreachable. The runtime itself retries without an end. */
const STALL_MS = 120_000;

/**
 * Runs `work`, which calls `onProgress` with each batch. Rejects with the reason of `signal` as soon as it is aborted, and with a
 * StoreFault if two minutes pass without progress; `work` may go on then.
 */
export async function supervised<T>(
  work: (onProgress: () => void) => Promise<T>,
  { signal, clock = systemClock }: { signal: AbortSignal; clock?: Pick<Clock, "after"> },
): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  let stopTimer: CancelTimer = () => undefined;
  const onProgress = (): void => {
    stopTimer();
    stopTimer = clock.after(
      STALL_MS,
      () => reject(new StoreFault("The store did not answer for two minutes.")),
    );
  };
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    signal.throwIfAborted();
    onProgress();
    return await Promise.race([work(onProgress), ended]);
  } finally {
    stopTimer();
    signal.removeEventListener("abort", onAbort);
  }
}

/** @throws StoreFault if a restore into the store was interrupted, or a later version has upgraded it. @returns its format */
export async function checkUsable(kv: Deno.Kv, location: string): Promise<StoredFormat> {
  if ((await kv.get(RESTORE_MARKER)).value !== null) {
    throw new StoreFault(
      `Cannot read the store "${location}": a restore or move into it was interrupted, and its content is incomplete. Run that command again with --force.`,
    );
  }
  return await readFormat(kv, location);
}

/** Three beats of a node. */
const WATCH_NODES_MS = 3000;

/** @throws StoreFault if a node uses the endpoint: its record changes every second */
export async function checkNoNodes(
  kv: Deno.Kv,
  { location, clock = commandClock }: { location: string; clock?: Pick<Clock, "after"> },
): Promise<void> {
  const versions = async () =>
    new Map(
      await Array.fromAsync(
        kv.list<{ name?: unknown }>({ prefix: NODE_PREFIX }),
        ({ key, value, versionstamp }) => [String(key[1]), { versionstamp, name: value.name }] as const,
      ),
    );
  const before = await versions();
  if (before.size === 0) return;
  await pauseFor(clock, WATCH_NODES_MS);
  for (const [node, { versionstamp, name }] of await versions()) {
    if (before.get(node)?.versionstamp === versionstamp) continue;
    throw new StoreFault(
      `Cannot use the store "${location}": the node ${
        printable(JSON.stringify(name ?? node))
      } uses it. Stop all nodes first.`,
    );
  }
}

/** A sentence with the entries, the octets and the seconds. */
export function summaryText(
  did: string,
  { entries, octets, seconds }: { entries: number; octets: number; seconds: number },
): string {
  const size = sizeText(octets);
  const all = entries === 1 ? "1 entry" : `${entries.toLocaleString("en-US")} entries`;
  return `${did} ${all} (${size}) in ${seconds.toFixed(1)} s.\n`;
}

/** The tables with the most entries. */
export function tablesText(counts: TableCounts): string {
  const tables = [...counts].sort(([, a], [, b]) => b - a);
  return firstOf(tables.map(([name, count]) => `${printable(name)} ${count.toLocaleString("en-US")}`), 12);
}

/** What a store contains, or `null` if it is empty. An interrupted restore is content, too. */
async function storeContent(kv: Deno.Kv, counts: TableCounts): Promise<string | null> {
  const isIncomplete = (await kv.get(RESTORE_MARKER)).value !== null;
  if (counts.size === 0 && !isIncomplete) return null;
  const entries = totalOf(counts);
  const all = entries === 1 ? "1 entry" : `${entries.toLocaleString("en-US")} entries`;
  return `${isIncomplete ? "an interrupted restore with " : ""}${all} (${tablesText(counts)})`;
}

interface CopyOptions {
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/**
 * The refusal of a copy into a store that is not empty. With `force`, shows what the copy deletes, and returns `null`.
 *
 * @param options.action the copy, such as "copy to"
 */
export async function refuseContent(
  location: string,
  { action, force, progress, signal }: CopyOptions & { readonly action: string; readonly force: boolean },
): Promise<CommandOutcome | null> {
  const content = await contentOf(location, { progress, signal });
  progress.clear();
  if (content === null) return null;
  if (!force) {
    return refusal(
      `Cannot ${action} "${
        printable(location)
      }": it is not empty. It contains ${content}. Use --force to delete that.\n`,
    );
  }
  writeNotice(`Deleting ${content}.\n`);
  return null;
}

/** What a store contains, or `null` if it is empty. Opening a file creates it, so a missing one is not opened. */
async function contentOf(
  location: string,
  { progress, signal }: CopyOptions,
): Promise<string | null> {
  if (!isKvUrl(location) && !await hasContent(location)) return null;
  const kv = await openKv(location).catch((fault: unknown) => {
    // A damaged file is a reason for a restore.
    if (isKvUrl(location) || !(fault instanceof StoreFault)) throw fault;
    return null;
  });
  if (kv === null) return "a file that cannot be opened as a store";
  try {
    return await supervised(async (onProgress) => {
      await checkNoNodes(kv, { location });
      const onCount = (done: number) => {
        onProgress();
        progress.update("Reading the store", { done, total: null });
      };
      return await storeContent(kv, await countTables(kv, { signal, onCount }));
    }, { signal });
  } finally {
    kv.close();
  }
}

/** Opens the store at `location` for a copy that replaces its content. @throws BackupFault with the state of the store */
export async function openCopyTarget(
  location: string,
  { progress, signal }: CopyOptions,
): Promise<RestoreTarget> {
  try {
    return await supervised((onProgress) =>
      openRestoreTarget(location, {
        open: openKv,
        nowMs: Date.now,
        signal,
        onDeleted(done) {
          onProgress();
          progress.update("Deleting", { done, total: null });
        },
      }), { signal });
  } catch (fault) {
    if (!isKvUrl(location)) throw fault;
    throw new BackupFault(
      `${
        sentenceOf(fault)
      } The store "${location}" can be incomplete; no node starts on it then. Run the command again with --force.`,
      { cause: fault },
    );
  }
}

function sentenceOf(fault: unknown): string {
  return faultMessage(fault).replace(/[.]?$/, ".");
}

/** Ends an incomplete copy. @throws BackupFault with the reason, and the state of the target */
export async function abandonCopy(target: RestoreTarget, fault: unknown): Promise<never> {
  const state = await target.abandon();
  throw new BackupFault(`${sentenceOf(fault)} ${state}`, { cause: fault });
}

export function totalOf(counts: TableCounts): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
