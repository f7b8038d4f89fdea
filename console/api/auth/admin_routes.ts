// Administrators over HTTP: the list, invitations, roles, and their sessions.

import { Hono } from "hono";
import * as v from "valibot";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { ROLES } from "./admin_records.ts";
import { may } from "./permissions.ts";
import type { AdminCommands } from "./admin_commands.ts";

import { auditEntry } from "../../../platform/audit.ts";
import { callerOf, EMPTY, type HttpEnv, jsonBody } from "../hono_env.ts";
import { Refusal } from "../errors.ts";
import type { Sessions } from "./sessions.ts";

export interface AdminRouteDeps {
  readonly administrators: AdminCommands;
  readonly sessions: Sessions;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const ROLE = v.picklist(ROLES);
const INVITE = v.strictObject({ name: v.pipe(v.string(), v.maxLength(256)), role: ROLE });
const CHANGE = v.strictObject({ role: v.optional(ROLE), disabled: v.optional(v.boolean()) });

export function createAdminRoutes(deps: AdminRouteDeps) {
  const { administrators, sessions, store, clock } = deps;
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), async (c) => c.json({ nowMs: clock.nowMs(), ...await administrators.list() }))
    .post(
      "/",
      may("owner", { recentFactor: true }),
      jsonBody(INVITE),
      async (c) => c.json(await administrators.invite(c.req.valid("json"), callerOf(c))),
    )
    .patch(
      "/:id",
      may("owner", { recentFactor: true }),
      jsonBody(CHANGE),
      async (c) => c.json(await administrators.change(c.req.param("id"), c.req.valid("json"), callerOf(c))),
    )
    .delete("/:id", may("owner", { recentFactor: true }), async (c) => {
      await administrators.remove(c.req.param("id"), callerOf(c));
      return c.json({ done: true });
    })
    .post(
      "/:id/link",
      may("owner", { recentFactor: true }),
      jsonBody(EMPTY),
      async (c) => c.json(await administrators.renew(c.req.param("id"), callerOf(c))),
    )
    .post(
      "/:id/unlock",
      may("owner", { recentFactor: true }),
      jsonBody(EMPTY),
      async (c) => c.json(await administrators.unlock(c.req.param("id"), callerOf(c))),
    )
    .get("/:id/sessions", may("owner"), async (c) => {
      const { admin } = await administrators.known(c.req.param("id"));
      return c.json({ nowMs: clock.nowMs(), items: await sessions.list(admin) });
    })
    .delete("/:id/sessions", may("owner"), async (c) => {
      const { admin } = await administrators.known(c.req.param("id"));
      // The caller's current session stays; "Sign out" ends it.
      const rows = (await sessions.list(admin)).filter(({ id }) => id !== c.var.session.id);
      const ending = await sessions.prepareEndAll(admin, { exceptId: c.var.session.id });
      const told = {
        action: "session.end_all" as const,
        object: `administrator:${admin.name}`,
        after: String(rows.length),
      };
      const done = await store.commit({
        checks: ending.checks,
        mutations: [...ending.mutations, auditEntry({ ...callerOf(c), ...told })],
      });
      if (!done.ok) throw new Refusal("changed_meanwhile");
      return c.json({ ended: rows.length });
    });
}

export function createInvitationRoutes({ administrators }: AdminRouteDeps) {
  return new Hono<HttpEnv>().delete("/:id", may("owner", { recentFactor: true }), async (c) => {
    await administrators.withdraw(c.req.param("id"), callerOf(c));
    return c.json({ done: true });
  });
}
