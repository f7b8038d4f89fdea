// Deeds on many users, over HTTP: what one would touch, doing it, how far it is, taking it back.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { Log } from "../../../platform/log.ts";
import type { GatewayWatch } from "../../../radius/ports.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Target } from "../../../scim/ports.ts";
import { type BulkDeed, type Choice, chosenNames, MOST_CHOSEN, previewBulk } from "./bulk.ts";
import { BULK_ACTIONS } from "./bulk_types.ts";
import { actorOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { createJobs, type Jobs } from "../jobs/jobs.ts";
import { type People, required, targetOf } from "./user_deps.ts";
import { queryValues, wholeNumber } from "../query_values.ts";
import { DetailedRefusal } from "../targets/target_errors.ts";

export interface BulkRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
  readonly watch: GatewayWatch;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const choice = <const T extends readonly string[]>(values: T) =>
  v.optional(v.picklist(["", ...values] as ["", ...T]), "");
const FILTERS = v.strictObject({
  q: v.optional(text(2048), ""),
  status: choice(["active", "inactive", "locked"]),
  enrolled: choice(["yes", "no"]),
  backend: v.optional(text(256), ""),
  sync: choice(["present", "pending", "failed", "vanished", "differs", "absent"]),
});
const CHOICE = v.union([
  v.strictObject({ names: v.pipe(v.array(name), v.minLength(1), v.maxLength(MOST_CHOSEN)) }),
  v.strictObject({
    filters: FILTERS,
    expected: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000_000)),
  }),
]);
const TARGET = v.optional(text(256));
const PREVIEW = v.strictObject({ target: TARGET, choice: CHOICE });
const BULK = v.strictObject({
  target: TARGET,
  choice: CHOICE,
  action: v.picklist(BULK_ACTIONS),
  group: v.optional(name),
  backends: v.optional(v.pipe(v.array(text(256)), v.minLength(1), v.maxLength(50))),
});
const NOTHING = v.strictObject({});
const ITEMS = v.object({
  did: choice(["changed", "same", "failed"]),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 500, otherwise: 100 }),
});

const ownerOf = (c: Context<HttpEnv>): string => c.var.session.admin.name;

/** The deeds themselves (`/bulk`) and those under way (`/jobs`). */
export function createBulkRoutes(deps: BulkRouteDeps, jobs: Jobs = createJobs(deps)) {
  const people = () => required(deps.people);
  const namesOf = (target: Target, choice: Choice) => chosenNames(people(), target, choice);
  const bulk = new Hono<HttpEnv>()
    .post("/", may("user_manager"), jsonBody(BULK), async (c) => {
      const { target: targetName, choice, action, group, backends } = c.req.valid("json");
      if (action === "activate") c.var.requireFreshFactor();
      const target = targetOf(people(), targetName);
      const needsGroup = action === "join" || action === "leave";
      if (needsGroup !== (group !== undefined)) {
        throw new DetailedRefusal("bad_value", { message: "Only joining and leaving name a group." });
      }
      const deed: BulkDeed = { target, actor: actorOf(c), action, group: group ?? null, backends };
      return c.json(jobs.start(deed, { owner: ownerOf(c), names: await namesOf(target, choice) }));
    })
    .post("/preview", may("user_manager"), jsonBody(PREVIEW), async (c) => {
      const { target: targetName, choice } = c.req.valid("json");
      const target = targetOf(people(), targetName);
      const names = await namesOf(target, choice);
      return c.json(await previewBulk({ people: people(), watch: deps.watch }, target, names));
    });
  const under = new Hono<HttpEnv>()
    .get(
      "/:id",
      may("user_manager", { countsAsUse: false }),
      (c) => c.json(jobs.view(c.req.param("id"), ownerOf(c))),
    )
    .get(
      "/:id/items",
      may("user_manager"),
      queryValues(ITEMS),
      (c) => c.json(jobs.items(c.req.param("id"), { ...c.req.valid("query"), owner: ownerOf(c) })),
    )
    .post(
      "/:id/stop",
      may("user_manager"),
      jsonBody(NOTHING),
      (c) => c.json(jobs.stop(c.req.param("id"), ownerOf(c))),
    )
    .post("/:id/undo", may("user_manager"), jsonBody(NOTHING), (c) => {
      const deed = (opposite: BulkDeed): BulkDeed => {
        if (opposite.action === "activate") c.var.requireFreshFactor();
        return { ...opposite, actor: actorOf(c) };
      };
      return c.json(jobs.undo(c.req.param("id"), { owner: ownerOf(c), deed }));
    });
  return new Hono<HttpEnv>().route("/bulk", bulk).route("/jobs", under);
}
