// Routes of groups: the list, one group with pages of members, changes, reply attributes, and names for pickers.

import { MAX_FILTER_CHARACTERS } from "../../../scim/filter/filter.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { ReplyAttributeRegistry } from "../../../radius/factors/reply_attribute_registry.ts";
import type { Written } from "../../../scim/ports.ts";
import type { Store } from "../../../platform/store.ts";
import type { GroupChangeResult } from "./group_types.ts";
import {
  changeMembers,
  createGroup,
  type GroupDeps,
  type GroupRequest,
  groupView,
  listMembers,
  newGroup,
  readGroup,
  readGroupPage,
  removeGroup,
} from "./group_writes.ts";
import {
  actorOf,
  type HttpEnv,
  jsonBody,
  optionalChoice,
  queryValues,
  textUpTo,
  wholeNumber,
} from "../hono_env.ts";
import {
  type AccessCheckDeps,
  membersGiveAccess,
  removalGivesAccess,
  writeGivesAccess,
} from "../access/access_check.ts";
import { may } from "../auth/permissions.ts";
import { withLastChange } from "../audit/last_change.ts";
import { type People, requireUsers, targetOf } from "../deps.ts";
import { DetailedRefusal } from "../errors.ts";
import type { Clock } from "../../../platform/runtime.ts";

export interface GroupRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
  /** The reply attributes of members. */
  readonly replies?: ReplyAttributeRegistry;
  readonly store: Store;
  readonly clock: Clock;
}

const MAX_NAMES = 1000;
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const names = v.pipe(v.array(name), v.maxLength(MAX_NAMES));
const backends = v.optional(v.pipe(v.array(textUpTo(256)), v.minLength(1), v.maxLength(50)));
const TARGET = v.object({ target: v.optional(textUpTo(256)) });
const LIST = v.object({
  ...TARGET.entries,
  q: v.optional(textUpTo(MAX_FILTER_CHARACTERS), ""),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 100, otherwise: 50 }),
});
const GROUP_LIST = v.object({ ...LIST.entries, sort: optionalChoice(["name", "-name"]) });
const CREATE = v.strictObject({ name, members: v.optional(names), backends });
const MEMBERS = v.strictObject({ add: names, remove: names, backends });
const REMOVE = v.strictObject({ backends, version: v.optional(textUpTo(256)) });

export function createGroupRoutes({ people, replies, store, clock }: GroupRouteDeps) {
  const parts = (): GroupDeps => ({ people: requireUsers(people), replies });
  const check = (): AccessCheckDeps => ({ people: parts().people, clock });
  const requestOf = (
    c: Context<HttpEnv>,
    { target, ...asked }: {
      target?: string | undefined;
      name: string;
      backends?: readonly string[] | undefined;
    },
  ): GroupRequest => ({
    ...asked,
    target: targetOf(parts().people, target),
    actor: actorOf(c),
  });
  const changeOf = async (
    { target, name }: GroupRequest,
    { stored, receipt }: Pick<Written, "receipt"> & { stored: unknown },
  ): Promise<GroupChangeResult> => ({
    receipt,
    group: stored === null ? null : groupView(parts(), target, await readGroup(target, name)),
  });

  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(GROUP_LIST), async (c) => {
      const query = c.req.valid("query");
      return c.json(await readGroupPage(parts(), targetOf(parts().people, query.target), query));
    })
    .post("/", may("user_manager"), queryValues(TARGET), jsonBody(CREATE), async (c) => {
      const { members = [], ...given } = c.req.valid("json");
      const wanted = given.name.normalize("NFC").trim();
      if (wanted === "") throw new DetailedRefusal("bad_value", { message: "A group needs a name." });
      const request = requestOf(c, { ...given, name: wanted, target: c.req.valid("query").target });
      const content = newGroup(parts().people, request, members);
      if (await writeGivesAccess(check(), request.target, { content })) c.var.requireRecentFactor();
      return c.json(await changeOf(request, await createGroup(request, content)));
    })
    .get("/:id", may("viewer"), queryValues(TARGET), async (c) => {
      const target = targetOf(parts().people, c.req.valid("query").target);
      return c.json(groupView(parts(), target, await readGroup(target, c.req.param("id"))));
    })
    .delete("/:id", may("user_manager"), queryValues(TARGET), jsonBody(REMOVE), async (c) => {
      const { backends, version } = c.req.valid("json");
      const { target } = c.req.valid("query");
      const request = requestOf(c, { target, name: c.req.param("id"), backends });
      const removed = { kind: "group", name: request.name } as const;
      if (await removalGivesAccess(check(), request.target, removed)) c.var.requireRecentFactor();
      const changed = {
        object: `group:${request.name}`,
        changes: "group",
        target: request.target.name,
        admin: c.var.session.admin.name,
      } as const;
      const written = await withLastChange(store, changed, () => removeGroup(request, { version }));
      return c.json(await changeOf(request, written));
    })
    .get("/:id/members", may("viewer"), queryValues(LIST), async (c) => {
      const query = c.req.valid("query");
      const target = targetOf(parts().people, query.target);
      return c.json(await listMembers(parts(), { target, name: c.req.param("id") }, query));
    })
    .put("/:id/members", may("user_manager"), queryValues(TARGET), jsonBody(MEMBERS), async (c) => {
      const { backends, ...change } = c.req.valid("json");
      const { target } = c.req.valid("query");
      const request = requestOf(c, { target, name: c.req.param("id"), backends });
      const changes = [{ group: request.name, ...change }];
      if (await membersGiveAccess(check(), request.target, changes)) c.var.requireRecentFactor();
      return c.json(await changeOf(request, { receipt: await changeMembers(request, change), stored: true }));
    });
}

const MAX_PICKER_NAMES = 20;
const QUERY = v.object({
  target: v.optional(v.pipe(v.string(), v.maxLength(256))),
  q: v.optional(v.pipe(v.string(), v.maxLength(200)), ""),
});

export function createGroupNameRoutes(deps: { readonly people?: People }) {
  return new Hono<HttpEnv>().get("/", may("viewer"), queryValues(QUERY), async (c) => {
    const { target, q } = c.req.valid("query");
    const { directory } = targetOf(requireUsers(deps.people), target);
    const options = { page: 1, size: MAX_PICKER_NAMES };
    const found = q.trim() === ""
      ? { ok: true as const, page: await directory.page("group", options) }
      : await directory.search("group", q, options);
    if (!found.ok) throw new DetailedRefusal("bad_filter", { message: found.problem.detail });
    const { total, resources } = found.page;
    return c.json({ total, names: resources.map(({ content }) => content.name) });
  });
}
