// Fills a data directory with people and one big group, in its own process: seed.ts <data directory> <users>.

import type { DirectoryWrite, TargetDirectory } from "../../../scim/ports.ts";
import { systemClock } from "../../../platform/runtime.ts";
import { openIdentity } from "./open_identity.ts";
import { GROUP, groupMembers, personAt, userContent } from "./people.ts";

/** Simultaneous writes; the directory needs as few commits as possible for them. */
const AT_ONCE = 2000;
const PROGRESS_EVERY_MS = 2000;

export interface Seeded {
  readonly users: number;
  readonly usersPerSecond: number;
}

/**
 * Writes people 0 to `users` - 1, and the group; continues after an interruption. Throws when the directory refuses
 * one.
 */
export async function seedDirectory(
  directory: TargetDirectory,
  { users, say }: { users: number; say: (line: string) => void },
): Promise<Seeded> {
  const startedMs = performance.now();
  // They are written in order, so the count gives the existing ones.
  const already = directory.count("user");
  const rate = (done: number) => (done - already) / Math.max(0.001, (performance.now() - startedMs) / 1000);
  let saidMs = startedMs;
  for (let from = already; from < users; from += AT_ONCE) {
    const until = Math.min(from + AT_ONCE, users);
    const writes = Array.from({ length: until - from }, (_, at) => writeOf(userContent(personAt(from + at))));
    const results = await directory.writeMany(writes);
    if (results.some(({ ok }) => !ok)) throw new Error(`Cannot seed person ${from} and after: refused`);
    if (performance.now() - saidMs < PROGRESS_EVERY_MS) continue;
    saidMs = performance.now();
    say(
      `  ${until.toLocaleString("en-US")} of ${users.toLocaleString("en-US")}, ${Math.round(rate(until))}/s`,
    );
  }
  const usersPerSecond = rate(users);
  const group = { kind: "group", name: GROUP, attributes: {}, members: groupMembers(users) } as const;
  const [written] = await directory.writeMany([writeOf(group)]);
  if (written?.ok !== true) throw new Error(`Cannot seed the group "${GROUP}": refused`);
  return { users, usersPerSecond };
}

function writeOf(content: NonNullable<DirectoryWrite["next"]>["content"]): DirectoryWrite {
  const present = { state: "present", sinceMs: systemClock.nowMs() } as const;
  return {
    kind: content.kind,
    name: content.name,
    expected: null,
    next: { content, backends: { local: present } },
  };
}

if (import.meta.main) {
  const [dataDir = "", users = ""] = Deno.args;
  await using opened = await openIdentity(dataDir);
  const seeded = await seedDirectory(opened.identity.logins.directory, {
    users: Number(users),
    say: (line) => console.error(line),
  });
  console.log(JSON.stringify(seeded));
}
