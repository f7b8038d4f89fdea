// Groups: the list, one with its members a page at a time, and what may be done to them.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { ReplyRegister } from "../../../radius/factors/reply_attribute_registry.ts";
import type { Written } from "../../../scim/ports.ts";
import type { Store } from "../../../platform/store.ts";
import type { GroupChange } from "./group_types.ts";
import {
  changeMembers,
  createGroup,
  type GroupDeed,
  type GroupDeps,
  groupView,
  listGroups,
  listMembers,
  readGroup,
  removeGroup,
} from "./group_writes.ts";
import { actorOf, type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { withLastChange } from "../audit/last_change.ts";
import { type People, required, targetOf } from "../users/user_deps.ts";
import { queryValues, wholeNumber } from "../query_values.ts";
import { DetailedRefusal } from "../targets/target_errors.ts";

export interface GroupRouteDeps {
  /** Absent: this console runs without a directory. */
  readonly people?: People;
  /** What logins of members are answered with. */
  readonly replies?: ReplyRegister;
  readonly store: Store;
}

const MOST_NAMES = 1000;
const text = (maxCharacters: number) => v.pipe(v.string(), v.maxLength(maxCharacters));
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1024));
const names = v.pipe(v.array(name), v.maxLength(MOST_NAMES));
const backends = v.optional(v.pipe(v.array(text(256)), v.minLength(1), v.maxLength(50)));
const TARGET = v.object({ target: v.optional(text(256)) });
const LIST = v.object({
  ...TARGET.entries,
  q: v.optional(text(2048), ""),
  page: wholeNumber({ least: 1, most: 1_000_000, otherwise: 1 }),
  size: wholeNumber({ least: 1, most: 100, otherwise: 50 }),
});
const CREATE = v.strictObject({ name, members: v.optional(names), backends });
const MEMBERS = v.strictObject({ add: names, remove: names, backends });
const REMOVE = v.strictObject({ backends, version: v.optional(text(256)) });

export function createGroupRoutes({ people, replies, store }: GroupRouteDeps) {
  const parts = (): GroupDeps => ({ people: required(people), replies });
  const deedOf = (
    c: Context<HttpEnv>,
    { target, ...asked }: {
      target?: string | undefined;
      name: string;
      backends?: readonly string[] | undefined;
    },
  ): GroupDeed => ({
    ...asked,
    target: targetOf(parts().people, target),
    actor: actorOf(c),
  });
  const changeOf = async (
    { target, name }: GroupDeed,
    { stored, receipt }: Pick<Written, "receipt"> & { stored: unknown },
  ): Promise<GroupChange> => ({
    receipt,
    group: stored === null ? null : groupView(parts(), target, await readGroup(target, name)),
  });

  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), async (c) => {
      const query = c.req.valid("query");
      return c.json(await listGroups(parts(), targetOf(parts().people, query.target), query));
    })
    .post("/", may("user_manager"), queryValues(TARGET), jsonBody(CREATE), async (c) => {
      const { members = [], ...given } = c.req.valid("json");
      const wanted = given.name.normalize("NFC").trim();
      if (wanted === "") throw new DetailedRefusal("bad_value", { message: "A group needs a name." });
      const deed = deedOf(c, { ...given, name: wanted, target: c.req.valid("query").target });
      return c.json(await changeOf(deed, await createGroup(parts().people, deed, members)));
    })
    .get("/:id", may("viewer"), queryValues(TARGET), async (c) => {
      const target = targetOf(parts().people, c.req.valid("query").target);
      return c.json(groupView(parts(), target, await readGroup(target, c.req.param("id"))));
    })
    .delete("/:id", may("user_manager"), queryValues(TARGET), jsonBody(REMOVE), async (c) => {
      const { backends, version } = c.req.valid("json");
      const { target } = c.req.valid("query");
      const deed = deedOf(c, { target, name: c.req.param("id"), backends });
      const changed = {
        object: `group:${deed.name}`,
        changes: "group",
        target: deed.target.name,
        admin: c.var.session.admin.name,
      } as const;
      const written = await withLastChange(store, changed, () => removeGroup(deed, { version }));
      return c.json(await changeOf(deed, written));
    })
    .get("/:id/members", may("viewer"), queryValues(LIST), async (c) => {
      const query = c.req.valid("query");
      const target = targetOf(parts().people, query.target);
      return c.json(await listMembers(parts(), { target, name: c.req.param("id") }, query));
    })
    .put("/:id/members", may("user_manager"), queryValues(TARGET), jsonBody(MEMBERS), async (c) => {
      const { backends, ...change } = c.req.valid("json");
      const { target } = c.req.valid("query");
      const deed = deedOf(c, { target, name: c.req.param("id"), backends });
      return c.json(await changeOf(deed, { receipt: await changeMembers(deed, change), stored: true }));
    });
}
