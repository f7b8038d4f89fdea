// Bulk operations over HTTP: preview, start, progress, stop and undo.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { Log } from "../../../platform/log.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Target } from "../../../scim/ports.ts";
import {
  bulkGivesAccess,
  type BulkOperation,
  MAX_SELECTED,
  previewBulk,
  selectedNames,
  type UserSelection,
} from "./bulk.ts";
import { BULK_ACTIONS } from "../api_types.ts";
import { USER_FILTERS } from "./user_list.ts";
import {
  actorOf,
  EMPTY,
  type HttpEnv,
  jsonBody,
  optionalChoice,
  queryValues,
  textUpTo,
  wholeNumber,
} from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { createJobs, type Jobs } from "../jobs/jobs.ts";
import { type People, requireUsers, targetOf } from "../deps.ts";
import { DetailedRefusal } from "../errors.ts";

export interface BulkRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
  readonly watch: GatewayMonitor;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const FILTERS = v.strictObject(USER_FILTERS);
const CHOICE = v.union([
  v.strictObject({ names: v.pipe(v.array(name), v.minLength(1), v.maxLength(MAX_SELECTED)) }),
  v.strictObject({
    filters: FILTERS,
    expected: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000_000)),
  }),
]);
const TARGET = v.optional(textUpTo(256));
const PREVIEW = v.strictObject({ target: TARGET, choice: CHOICE, group: v.optional(name) });
const BULK = v.strictObject({
  target: TARGET,
  choice: CHOICE,
  action: v.picklist(BULK_ACTIONS),
  group: v.optional(name),
  backends: v.optional(v.pipe(v.array(textUpTo(256)), v.minLength(1), v.maxLength(50))),
});
const ITEMS = v.object({
  did: optionalChoice(["changed", "same", "failed"]),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 500, otherwise: 100 }),
});

const ownerOf = (c: Context<HttpEnv>): string => c.var.session.admin.name;

/** Operations (`/bulk`), and their progress (`/jobs`). */
export function createBulkRoutes(deps: BulkRouteDeps, jobs: Jobs = createJobs(deps)) {
  const people = () => requireUsers(deps.people);
  const namesOf = (target: Target, choice: UserSelection) => selectedNames(people(), target, choice);
  const requireFactor = async (c: Context<HttpEnv>, operation: BulkOperation, names: readonly string[]) => {
    const check = { people: people(), clock: deps.clock };
    if (await bulkGivesAccess(check, operation, names)) c.var.requireRecentFactor();
  };
  const bulk = new Hono<HttpEnv>()
    .post("/", may("user_manager"), jsonBody(BULK), async (c) => {
      const { target: targetName, choice, action, group, backends } = c.req.valid("json");
      const target = targetOf(people(), targetName);
      const needsGroup = action === "join" || action === "leave";
      if (needsGroup !== (group !== undefined)) {
        throw new DetailedRefusal("bad_value", {
          message: "Only adding to a group and removing from a group use a group name.",
        });
      }
      const operation: BulkOperation = { target, actor: actorOf(c), action, group: group ?? null, backends };
      const names = await namesOf(target, choice);
      await requireFactor(c, operation, names);
      return c.json(jobs.start(operation, { owner: ownerOf(c), names }));
    })
    .post("/preview", may("user_manager"), jsonBody(PREVIEW), async (c) => {
      const { target: targetName, choice, group } = c.req.valid("json");
      const target = targetOf(people(), targetName);
      const names = await namesOf(target, choice);
      return c.json(await previewBulk({ people: people(), watch: deps.watch }, target, { names, group }));
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
      jsonBody(EMPTY),
      (c) => c.json(jobs.stop(c.req.param("id"), ownerOf(c))),
    )
    .post("/:id/undo", may("user_manager"), jsonBody(EMPTY), async (c) => {
      const options = {
        ...{ owner: ownerOf(c), actor: actorOf(c) },
        permit: (opposite: BulkOperation, names: readonly string[]) => requireFactor(c, opposite, names),
      };
      return c.json(await jobs.undo(c.req.param("id"), options));
    });
  return new Hono<HttpEnv>().route("/bulk", bulk).route("/jobs", under);
}
