// What an administrator may do with a login that waits for a phone: deny or cancel it, never approve it.

import { Hono } from "hono";
import * as v from "valibot";
import type { Log } from "../../../platform/log.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { auditEntry } from "../../../platform/audit.ts";
import { type HttpEnv, jsonBody } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";

export interface ApprovalRouteDeps {
  readonly desk: SecondFactorAdmin | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The deed takes no further words. */
const NOTHING = v.strictObject({});

/** By what is asked: how the deed and its outcome are called in the audit. */
const DEEDS = {
  deny: { action: "approval.deny", after: "denied" },
  cancel: { action: "approval.cancel", after: "cancelled" },
} as const;

export function createApprovalRoutes(deps: ApprovalRouteDeps) {
  const decide = async (
    verb: keyof typeof DEEDS,
    { id, actor, source }: { id: string; actor: string; source: string },
  ): Promise<{ done: true }> => {
    const { desk, log } = deps;
    if (desk === null) throw new Refusal("no_approvals");
    const waiting = desk.pendingApprovals().find((approval) => approval.requestId === id);
    if (waiting === undefined) throw new Refusal("already_decided");
    const { userName: user, client } = waiting;
    const told = { ...DEEDS[verb], object: `user:${user}`, client, before: "waiting" };
    const also = [auditEntry({ actor, source, ...told })];
    if (!await desk[verb](id, { also, by: actor })) throw new Refusal("already_decided");
    log.info("an administrator decided an approval", { action: told.action, admin: actor, user, source });
    return { done: true };
  };
  return new Hono<HttpEnv>()
    .post(
      "/:id/deny",
      may("operator"),
      jsonBody(NOTHING),
      async (c) => c.json(await decide("deny", whoAsks(c))),
    )
    .post(
      "/:id/cancel",
      may("operator"),
      jsonBody(NOTHING),
      async (c) => c.json(await decide("cancel", whoAsks(c))),
    );
}

function whoAsks(
  c: {
    req: { param(name: "id"): string };
    var: HttpEnv["Variables"];
    env: HttpEnv["Bindings"];
  },
) {
  return { id: c.req.param("id"), actor: c.var.session.admin.name, source: c.env.remoteAddress };
}
