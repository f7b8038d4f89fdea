// Names of groups for pickers: twenty that match what is typed.

import { Hono } from "hono";
import * as v from "valibot";
import type { HttpEnv } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { type People, required, targetOf } from "../users/user_deps.ts";
import { queryValues } from "../query_values.ts";
import { DetailedRefusal } from "../targets/target_errors.ts";

const MOST = 20;
const QUERY = v.object({
  target: v.optional(v.pipe(v.string(), v.maxLength(256))),
  q: v.optional(v.pipe(v.string(), v.maxLength(200)), ""),
});

export function createGroupNameRoutes(deps: { readonly people?: People }) {
  return new Hono<HttpEnv>().get("/", may("viewer"), queryValues(QUERY), async (c) => {
    const { target, q } = c.req.valid("query");
    const { directory } = targetOf(required(deps.people), target);
    const options = { page: 1, size: MOST };
    const found = q.trim() === ""
      ? { ok: true as const, page: await directory.page("group", options) }
      : await directory.search("group", q, options);
    if (!found.ok) throw new DetailedRefusal("bad_filter", { message: found.problem.detail });
    const { total, resources } = found.page;
    return c.json({ total, names: resources.map(({ content }) => content.name) });
  });
}
