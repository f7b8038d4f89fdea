// Administrators over HTTP: who there is, links for new ones, roles, and the end of their sessions.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { may, ROLES } from "./permissions.ts";
import type { Administrators, Deed } from "./admin_commands.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import type { Sessions } from "./sessions.ts";

export interface AdministratorRouteDeps {
  readonly administrators: Administrators;
  readonly sessions: Sessions;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const ROLE = v.picklist(ROLES);
const INVITE = v.strictObject({ name: v.pipe(v.string(), v.maxLength(256)), role: ROLE });
const CHANGE = v.strictObject({ role: v.optional(ROLE), disabled: v.optional(v.boolean()) });
const NOTHING = v.strictObject({});

/** Who does it, for the audit record. */
export function deedOf(c: Context<HttpEnv>): Deed {
  return { actor: c.var.session.admin.name, source: c.env.remoteAddress };
}

export function createAdministratorRoutes(deps: AdministratorRouteDeps) {
  const { administrators, sessions, store, clock } = deps;
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), async (c) => c.json({ nowMs: clock.nowMs(), ...await administrators.list() }))
    .post(
      "/",
      may("owner", { stepUp: true }),
      jsonBody(INVITE),
      async (c) => c.json(await administrators.invite(c.req.valid("json"), deedOf(c))),
    )
    .patch(
      "/:id",
      may("owner", { stepUp: true }),
      jsonBody(CHANGE),
      async (c) => c.json(await administrators.change(c.req.param("id"), c.req.valid("json"), deedOf(c))),
    )
    .delete("/:id", may("owner", { stepUp: true }), async (c) => {
      await administrators.remove(c.req.param("id"), deedOf(c));
      return c.json({ done: true });
    })
    .post(
      "/:id/link",
      may("owner", { stepUp: true }),
      jsonBody(NOTHING),
      async (c) => c.json(await administrators.renew(c.req.param("id"), deedOf(c))),
    )
    .get("/:id/sessions", may("owner"), async (c) => {
      const { admin } = await administrators.known(c.req.param("id"));
      return c.json({ nowMs: clock.nowMs(), items: await sessions.list(admin) });
    })
    .delete("/:id/sessions", may("owner"), async (c) => {
      const { admin } = await administrators.known(c.req.param("id"));
      // One's own present session stays: ending it is what "Sign out" is for.
      const rows = (await sessions.list(admin)).filter(({ id }) => id !== c.var.session.id).slice(0, 400);
      const told = {
        action: "session.end_all" as const,
        object: `administrator:${admin.name}`,
        after: String(rows.length),
      };
      await store.commit({
        mutations: [
          ...sessions.ending(rows.map(({ id }) => id)),
          auditEntry({ ...deedOf(c), ...told }),
        ],
      });
      return c.json({ ended: rows.length });
    });
}

export function createInvitationRoutes({ administrators }: AdministratorRouteDeps) {
  return new Hono<HttpEnv>().delete("/:id", may("owner", { stepUp: true }), async (c) => {
    await administrators.withdraw(c.req.param("id"), deedOf(c));
    return c.json({ done: true });
  });
}
