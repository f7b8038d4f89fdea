// Data directories with people for the measurements: seeded, or copied from an earlier run.

import { formatNumber } from "../report.ts";
import type { Seeded } from "./seed.ts";
import { runBeside } from "./servers.ts";

/** On the disk, because /tmp may be memory, where no write is durable. */
const DISK = "/var/tmp";

/** A new directory on the disk, removed afterwards. */
export async function withScratch<T>(body: (scratch: string) => Promise<T>): Promise<T> {
  const scratch = await Deno.makeTempDir({ dir: DISK, prefix: "countersign-bench-" });
  try {
    return await body(scratch);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Users a second, or `null` when an existing seed was used. */
export async function provideSeed(
  users: number,
  { dataDir, seeds, say }: { dataDir: string; seeds: string | null; say: (line: string) => void },
): Promise<number | null> {
  const kept = seeds === null ? null : `${seeds}/${users}`;
  if (kept !== null && await isThere(`${kept}/master.key`)) {
    say(`taking the ${formatNumber(users, 0)} users that were seeded earlier`);
    await copySeed(kept, dataDir);
    return null;
  }
  say(`seeding ${formatNumber(users, 0)} users`);
  const { usersPerSecond } = await runBeside<Seeded>("seed.ts", [dataDir, String(users)]);
  if (kept !== null) await copySeed(dataDir, kept);
  return usersPerSecond;
}

/** The key is written last: if it exists, the store is complete. */
export async function copySeed(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true, mode: 0o700 });
  for (const file of ["countersign.kv", "master.key"]) {
    await Deno.copyFile(`${from}/${file}`, `${to}/${file}`);
    // Otherwise the disk still writes the copy during the measurement.
    using copied = await Deno.open(`${to}/${file}`, { write: true });
    await copied.sync();
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw fault;
  }
}
