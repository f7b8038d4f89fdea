// Keys that no backup contains: markers of backups and restores, and the records of running nodes.

/** The key of the marker of an incomplete restore. Its value is the time of the restore. */
export const RESTORE_MARKER: Deno.KvKey = ["restore"];
/** The key of a value whose versionstamp orders the changes during a backup. It expires. */
export const BACKUP_MARKER: Deno.KvKey = ["backup"];
/** The records of running nodes, rewritten every second. */
export const NODE_PREFIX: Deno.KvKey = ["node"];

/** First parts of keys. Change logs and leases belong to runs of nodes, which a restore does not continue. */
const TRANSIENT: ReadonlySet<unknown> = new Set([
  ...RESTORE_MARKER,
  ...BACKUP_MARKER,
  ...NODE_PREFIX,
  "change",
  "change_head",
  "lease",
  "lease_wanted",
]);

export function isTransient([table]: Deno.KvKey): boolean {
  return TRANSIENT.has(table);
}
