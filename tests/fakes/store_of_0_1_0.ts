// The store that version 0.1.0 wrote, for tests of an upgrade. Its times are moved to the present, so that the login in it is still in progress.
//
// Content: the users ada, bea, cleo, dora, emma, fay (with a password) and idle (not active), person0 to person59, the group staff (ada, bea,
// person7), the deleted user gone; TOTP pairings of ada to dora and fay, and a number of emma; dora is locked; cleo and emma have a challenge.
// The settings were a client "vpn" at 127.0.0.1, the target "default", and the master key of startCluster().

import { readBackup } from "../../platform/backup/backup_format.ts";
import { readRecords } from "../../platform/backup/records.ts";

/** The seed of all its TOTP pairings. */
export const SEED_OF_0_1_0 = new TextEncoder().encode("12345678901234567890");
const FILE = new URL("../vectors/store_0.1.0.backup", import.meta.url);
const HOUR_MS = 3_600_000;

/** Writes all entries to a store. */
export async function writeStoreOf010(kv: Deno.Kv): Promise<void> {
  let createdMs = 0;
  const file = await Deno.open(FILE);
  let atomic = kv.atomic();
  let count = 0;
  for await (const part of readBackup(file.readable)) {
    if (part.kind === "header") createdMs = part.header.createdMs;
    if (part.kind !== "records") continue;
    for (const record of readRecords(part.octets)) {
      if (record.kind === "delete") continue;
      atomic.set(record.key, moveTimes(record.value, createdMs));
      if (++count % 100 !== 0) continue;
      await atomic.commit();
      atomic = kv.atomic();
    }
  }
  await atomic.commit();
}

/** Replaces each time within an hour of the backup by the same distance from now. */
function moveTimes(value: unknown, createdMs: number): unknown {
  const byMs = Date.now() - createdMs;
  const moved = (number: number) => Math.abs(number - createdMs) < HOUR_MS ? number + byMs : number;
  const movedText = (text: string) => text.replace(/\b\d{13}\b/g, (digits) => String(moved(Number(digits))));
  if (typeof value === "number") return moved(value);
  // Conversations and history are JSON, as texts or as their octets.
  if (typeof value === "string") return movedText(value);
  if (value instanceof Uint8Array) {
    const text = new TextDecoder().decode(value);
    return text.startsWith("[") ? new TextEncoder().encode(movedText(text)) : value;
  }
  if (Array.isArray(value)) return value.map((one) => moveTimes(one, createdMs));
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, moveTimes(one, createdMs)]));
}
