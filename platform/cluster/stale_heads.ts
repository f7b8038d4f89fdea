// Removes the heads of change logs whose node ended long ago. Each run of a process leaves its heads behind.

import { HEAD_PREFIX, type LogHead } from "./change_log.ts";

/** Every running node has read the entries of a log that is older. */
const MAX_AGE_MS = 24 * 3600_000;

/** Call it at the start of a node. A head that changes meanwhile stays. */
export async function removeStaleHeads(kv: Deno.Kv, { nowMs }: { nowMs: number }): Promise<void> {
  const running = new Set<string>();
  for await (const { key } of kv.list({ prefix: ["node"] }, { batchSize: 500 })) running.add(String(key[1]));
  const heads = await Array.fromAsync(kv.list<LogHead>({ prefix: HEAD_PREFIX }, { batchSize: 500 }));
  // One log of a quiet node may be old. Each beat moves the other one.
  for (const { key, value } of heads) if (value.writtenMs > nowMs - MAX_AGE_MS) running.add(nodeOf(key));
  for (const { key, versionstamp } of heads) {
    if (running.has(nodeOf(key))) continue;
    await kv.atomic().check({ key, versionstamp }).delete(key).commit();
  }
}

function nodeOf([, lane]: Deno.KvKey): string {
  return String(lane).split(".")[0] ?? "";
}
