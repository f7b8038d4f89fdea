// Times Target.create in this process, with 16 calls in progress: create.ts <data directory> <first new person> <creates>.

import type { Target } from "../../../scim/ports.ts";
import process from "node:process";
import { quantile } from "./generator.ts";
import { openIdentity } from "./open_identity.ts";
import { personAt, userContent } from "./people.ts";

export interface CreateTimes {
  readonly stored: number;
  readonly created: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
  /** CPU time of the process for one user, with the threads of the store. */
  readonly cpuMs: number;
}

const IN_PROGRESS = 16;
const ACTOR = { name: "command", source: "" } as const;

if (import.meta.main) {
  const [dataDir = "", first = "", count = ""] = Deno.args;
  await using opened = await openIdentity(dataDir);
  const target = opened.identity.targets.get(opened.identity.logins.name) as Target;
  // The word indexes load after the start. A write waits for them, so one user is not measured.
  await target.create(userContent(personAt(Number(first))), { actor: ACTOR });
  const stored = target.directory.count("user");
  const timesMs: number[] = [];
  let next = 1;
  const work = async (): Promise<void> => {
    while (next < Number(count)) {
      const content = userContent(personAt(Number(first) + next++));
      const startedMs = performance.now();
      await target.create(content, { actor: ACTOR });
      timesMs.push(performance.now() - startedMs);
    }
  };
  const startedMs = performance.now();
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: IN_PROGRESS }, work));
  const used = process.cpuUsage(before);
  const seconds = (performance.now() - startedMs) / 1000;
  const sorted = Float64Array.from(timesMs).sort();
  const times: CreateTimes = {
    stored,
    created: sorted.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    perSecond: sorted.length / seconds,
    cpuMs: (used.user + used.system) / 1000 / sorted.length,
  };
  console.log(JSON.stringify(times));
}
