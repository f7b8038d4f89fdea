// One's own sessions: when each began, from where and with what, and their end.

import { Hono } from "hono";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { HttpEnv } from "../hono_env.ts";
import { may } from "./permissions.ts";
import { Refusal } from "../errors.ts";
import type { Sessions } from "./sessions.ts";

export interface SessionListDeps {
  readonly sessions: Sessions;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

export function createSessionListRoutes(deps: SessionListDeps) {
  const { sessions, store, clock } = deps;
  return new Hono<HttpEnv>()
    .get("/", may("viewer", { browserOnly: true }), async (c) => {
      const { id: ownId, admin } = c.var.session;
      const items = (await sessions.list(admin)).map((row) => ({ ...row, current: row.id === ownId }));
      return c.json({ nowMs: clock.nowMs(), items });
    })
    .delete("/:id", may("viewer", { browserOnly: true }), async (c) => {
      const { admin } = c.var.session;
      const row = (await sessions.list(admin)).find(({ id }) => id === c.req.param("id"));
      if (row === undefined) throw new Refusal("unknown_session");
      await store.commit({
        mutations: [
          ...sessions.ending([row.id]),
          auditEntry({
            actor: admin.name,
            source: c.env.remoteAddress,
            action: "session.end",
            object: `administrator:${admin.name}`,
            after: row.source,
          }),
        ],
      });
      return c.json({ done: true });
    });
}
