// Notices of people to the administrators: read by all who look at the console, dismissed by operators.

import { Hono } from "hono";
import * as v from "valibot";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { createNotices, type NoticesDeps } from "./notices.ts";
import { queryValues } from "../query_values.ts";

export type NoticeRouteDeps = NoticesDeps;

const LIST = v.object({ user: v.optional(v.pipe(v.string(), v.maxLength(1024)), "") });
const NOTHING = v.strictObject({});

export function createNoticeRoutes(deps: NoticeRouteDeps) {
  const notices = createNotices(deps);
  return new Hono<HttpEnv>()
    .get(
      "/",
      may("viewer", { countsAsUse: false }),
      queryValues(LIST),
      async (c) => c.json(await notices.list(c.req.valid("query"))),
    )
    .delete("/:id", may("operator"), jsonBody(NOTHING), async (c) => {
      const deed = { actor: c.var.session.admin.name, source: c.env.remoteAddress };
      await notices.dismiss(c.req.param("id"), deed);
      return c.json({ dismissed: c.req.param("id") });
    });
}
