// Times a PUT of the big group with one changed member in this process, by its parts: group_put.ts <data directory> <users> <changes>.

import type { Target } from "../../../scim/ports.ts";
import process from "node:process";
import { openIdentity } from "./open_identity.ts";
import { firstOutsider, GROUP, GROUP_SIZE, groupMembers, personAt } from "./people.ts";
import { quantile } from "./generator.ts";
import { parseJsonObject } from "../../../scim/schema/attributes.ts";
import { parseResource } from "../../../scim/schema/parse_resource.ts";
import { etagOf, renderResource } from "../../../scim/schema/render_resource.ts";

/** Medians of the parts, and of the sum without `decodeMs`: from the parsed request to the answer. */
export interface GroupPutTimes {
  readonly changes: number;
  readonly decodeMs: number;
  readonly validateMs: number;
  readonly writeMs: number;
  readonly renderMs: number;
  /** A tenth of the PUTs is faster: those that nothing else on the host delayed. */
  readonly p10Ms: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the process for one PUT, with the JSON of the request and the threads of the store. */
  readonly cpuMs: number;
}

const ACTOR = { name: "command", source: "" } as const;
const LOCATION = `http://127.0.0.1/idm/scim/default/Groups/${GROUP}`;

/** One PUT; the moments after each part. */
async function put(target: Target, body: Uint8Array<ArrayBuffer>): Promise<number[]> {
  const moments = [performance.now()];
  const parsed = parseJsonObject(body);
  if (!parsed.ok) throw new Error(`Cannot measure: ${parsed.problem}`);
  moments.push(performance.now());
  const options = { mapping: target.mapping, pathName: GROUP, newName: () => GROUP };
  const read = parseResource("group", parsed.value, options);
  if (!read.ok) throw new Error(`Cannot measure: ${read.detail}`);
  moments.push(performance.now());
  const { stored } = await target.replace(read.content, { actor: ACTOR });
  if (stored === null) throw new Error("Cannot measure: the group is gone");
  moments.push(performance.now());
  const text = renderResource(stored, { location: LOCATION, mapping: target.mapping });
  if (etagOf(stored.version) === "" || text.length < GROUP_SIZE) throw new Error("Cannot measure: no answer");
  moments.push(performance.now());
  return moments;
}

if (import.meta.main) {
  const [dataDir = "", userCount = "", changeCount = ""] = Deno.args;
  await using opened = await openIdentity(dataDir);
  const target = opened.identity.targets.get(opened.identity.logins.name) as Target;
  const users = Number(userCount);
  const base = groupMembers(users).map((value) => JSON.stringify({ value })).join(",");
  const outsider = firstOutsider(users);
  const people = Math.max(1, users - outsider);
  const encoder = new TextEncoder();
  const runs: number[][] = [];
  const before = process.cpuUsage();
  for (let turn = 0; turn < Number(changeCount); turn++) {
    // Add, then remove: the group keeps its size.
    const value = personAt(outsider + (turn >> 1) % people).userName;
    const more = turn % 2 === 0 ? `,${JSON.stringify({ value })}` : "";
    const body = encoder.encode(`{"displayName":${JSON.stringify(GROUP)},"members":[${base}${more}]}`);
    runs.push(await put(target, body));
  }
  const used = process.cpuUsage(before);
  const median = (from: number, to: number, share = 0.5) =>
    quantile(Float64Array.from(runs, (moments) => (moments[to] ?? 0) - (moments[from] ?? 0)).sort(), share);
  const times: GroupPutTimes = {
    changes: runs.length,
    decodeMs: median(0, 1),
    validateMs: median(1, 2),
    writeMs: median(2, 3),
    renderMs: median(3, 4),
    p10Ms: median(1, 4, 0.1),
    p50Ms: median(1, 4),
    p99Ms: median(1, 4, 0.99),
    cpuMs: (used.user + used.system) / 1000 / runs.length,
  };
  console.log(JSON.stringify(times));
}
