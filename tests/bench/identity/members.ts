// Times Target.changeMembers in this process, one change after another: members.ts <data directory> <users> <changes>.

import type { Target } from "../../../scim/ports.ts";
import { openIdentity } from "./open_identity.ts";
import { firstOutsider, GROUP, GROUP_SIZE, personAt } from "./people.ts";
import { quantile } from "./generator.ts";

export interface MemberTimes {
  readonly changes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const ACTOR = { name: "command", source: "" } as const;

if (import.meta.main) {
  const [dataDir = "", userCount = "", changeCount = ""] = Deno.args;
  await using opened = await openIdentity(dataDir);
  const target = opened.identity.targets.get(opened.identity.logins.name) as Target;
  const outsider = firstOutsider(Number(userCount));
  const people = Math.max(1, Number(userCount) - outsider);
  const timesMs: number[] = [];
  for (let turn = 0; turn < Number(changeCount); turn++) {
    const { userName } = personAt(outsider + (turn >> 1) % people);
    // Add, then remove: the group keeps its size.
    const change = turn % 2 === 0 ? { add: [userName], remove: [] } : { add: [], remove: [userName] };
    const startedMs = performance.now();
    const { stored } = await target.changeMembers(GROUP, change, { actor: ACTOR });
    timesMs.push(performance.now() - startedMs);
    const size = stored?.content.kind === "group" ? stored.content.members.length : 0;
    if (size < GROUP_SIZE) throw new Error(`Cannot measure: the group has ${size} members`);
  }
  const sorted = Float64Array.from(timesMs).sort();
  const times: MemberTimes = {
    changes: sorted.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  };
  console.log(JSON.stringify(times));
}
