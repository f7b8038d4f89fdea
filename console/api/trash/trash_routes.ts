// The trash: the list of deleted users, and restoring or purging them.

import * as v from "valibot";
import { Hono } from "hono";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import type { Actor, Target, TrashEntry } from "../../../scim/ports.ts";
import { may } from "../auth/permissions.ts";
import { type People, requireUsers, targetOf } from "../deps.ts";
import { Refusal, withTargetErrors } from "../errors.ts";
import { actorOf, type HttpEnv, jsonBody, queryValues, textUpTo, wholeNumber } from "../hono_env.ts";
import type { RestoreItem, TrashPage, TrashRow } from "./trash_types.ts";

export interface TrashRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
}

/** The users of one request. */
const MAX_IDS = 100;
const TARGET = v.object({ target: v.optional(textUpTo(256)) });
const LIST = v.object({
  ...TARGET.entries,
  q: v.optional(textUpTo(256), ""),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 100, otherwise: 50 }),
});
const IDS = v.strictObject({
  ids: v.pipe(
    v.array(v.pipe(v.string(), v.regex(/^[0-9a-z-]{1,64}$/))),
    v.minLength(1),
    v.maxLength(MAX_IDS),
  ),
});

export function createTrashRoutes(deps: TrashRouteDeps) {
  const people = () => requireUsers(deps.people);
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), async (c) => {
      const query = c.req.valid("query");
      const target = targetOf(people(), query.target);
      return c.json(await readTrashPage(people(), target, query));
    })
    .post(
      "/restore",
      // A restored user can sign in again.
      may("user_manager", { recentFactor: true }),
      queryValues(TARGET),
      jsonBody(IDS),
      async (c) => {
        const target = targetOf(people(), c.req.valid("query").target);
        const items: RestoreItem[] = [];
        for (const id of new Set(c.req.valid("json").ids)) {
          items.push(await restoreOne(target, { id, actor: actorOf(c) }));
        }
        return c.json({ items });
      },
    )
    .post(
      "/purge",
      may("owner", { recentFactor: true }),
      queryValues(TARGET),
      jsonBody(IDS),
      async (c) => {
        const target = targetOf(people(), c.req.valid("query").target);
        let purged = 0;
        for (const id of new Set(c.req.valid("json").ids)) {
          if (await withTargetErrors(target.purgeUser(id, actorOf(c)))) purged++;
        }
        return c.json({ purged });
      },
    );
}

async function readTrashPage(
  people: People,
  target: Target,
  { q, page, size }: { q: string; page: number; size: number },
): Promise<TrashPage> {
  const wanted = canonicalName(q.trim());
  const isWanted = ({ name, displayName }: TrashEntry) =>
    canonicalName(name).includes(wanted) || canonicalName(displayName).includes(wanted);
  const { trash } = target.directory;
  const shown: TrashEntry[] = [];
  let total = 0;
  for await (const entry of trash.list()) {
    if (wanted !== "" && !isWanted(entry)) continue;
    if (total >= (page - 1) * size && shown.length < size) shown.push(entry);
    total++;
  }
  return {
    target: target.name,
    targets: people.targets.names,
    days: trash.days,
    most: trash.maxEntries,
    total,
    page,
    size,
    rows: await Promise.all(shown.map((entry) => trashRow(target, entry))),
  };
}

async function trashRow({ directory }: Target, entry: TrashEntry): Promise<TrashRow> {
  const { id, name, displayName, active, groupCount, deletedMs, actor, source, cause } = entry;
  const isTaken = await directory.read("user", canonicalName(name)) !== null;
  return {
    ...{ id, name, displayName, active, groups: groupCount, deletedMs, source, cause, isTaken },
    actor: actor.replace(/^console:(?=.)/, ""),
    expiresMs: deletedMs + directory.trash.days * DAY_MS,
  };
}

// Restores one user from the trash, with a result that lists can show.

/** A refusal is the result of this user. The other users are restored. */
export async function restoreOne(
  target: Target,
  { id, actor }: { id: string; actor: Actor },
): Promise<RestoreItem> {
  const entry = await target.directory.trash.read(id);
  const name = entry?.content.name ?? "";
  const none = { id, name, groups: [], missingGroups: [], failedGroups: [] };
  try {
    const restored = await withTargetErrors(target.restoreUser(id, { actor }));
    const { groups, missingGroups, failedGroups, receipt, stored } = restored;
    return {
      ...{ id, name: stored?.content.name ?? name, groups, missingGroups, failedGroups, receipt },
      did: "restored",
      problem: null,
      lacksPassword: entry?.password === null,
    };
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    return {
      ...none,
      did: "failed",
      problem: problemOf(fault),
      receipt: fault.receipt,
      lacksPassword: false,
    };
  }
}

function problemOf({ code, receipt, message }: Refusal): string {
  if (code === "unknown_object") return new Refusal("not_in_trash").message;
  // With a receipt, the message names the connector that has the user.
  if (code === "object_exists" && receipt === null) return new Refusal("trash_name_taken").message;
  return message;
}
