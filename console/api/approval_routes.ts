// What an administrator may do with a login that waits for a phone: deny or cancel it, never approve it.

import { Hono } from "hono";
import type { Log } from "../../log.ts";
import type { Clock, Random } from "../../runtime.ts";
import type { Store } from "../../store.ts";
import type { PendingApproval, SecondFactorDesk } from "../../upstream/embedded/interfaces.ts";
import { auditMutation } from "./audit.ts";
import { type HttpEnv, jsonBody } from "./http_env.ts";
import * as v from "valibot";
import { Refusal } from "./refusal.ts";

export interface ApprovalRouteDeps {
  readonly desk: SecondFactorDesk | null;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The deed takes no further words. */
const NOTHING = v.strictObject({});

export function createApprovalRoutes(deps: ApprovalRouteDeps) {
  const decide = async (
    verb: "deny" | "cancel",
    { id, actor, source }: { id: string; actor: string; source: string },
  ): Promise<{ done: true }> => {
    const { desk } = deps;
    if (desk === null) throw new Refusal("no_approvals");
    const waiting = desk.pendingApprovals().find((approval) => approval.requestId === id);
    const done = waiting !== undefined && await (verb === "deny" ? desk.deny(id) : desk.cancel(id));
    if (!done) throw new Refusal("already_decided");
    await record(deps, { verb, waiting, actor, source });
    return { done: true };
  };
  return new Hono<HttpEnv>()
    .post("/:id/deny", jsonBody(NOTHING), async (c) => c.json(await decide("deny", whoAsks(c))))
    .post("/:id/cancel", jsonBody(NOTHING), async (c) => c.json(await decide("cancel", whoAsks(c))));
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

/** The service owns the decision and its commit; the record of who asked for it follows at once. */
async function record(
  deps: ApprovalRouteDeps,
  { verb, waiting, actor, source }: { verb: string; waiting: PendingApproval; actor: string; source: string },
): Promise<void> {
  const action = `approval.${verb}`;
  deps.log.info("an administrator decided an approval", {
    action,
    admin: actor,
    user: waiting.userName,
    source,
  });
  await deps.store.commit({
    mutations: [
      auditMutation(deps, {
        actor,
        source,
        action,
        object: waiting.requestId,
        before: "waiting",
        after: `${waiting.userName} at ${waiting.client}`,
      }),
    ],
  });
}
