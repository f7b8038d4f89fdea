// Pending approvals of phones: the newest ones, and the routes with which an administrator denies or cancels one.

import { Hono } from "hono";
import { auditEntry } from "../../../platform/audit.ts";
import type { Log } from "../../../platform/log.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { ApprovalList } from "../api_types.ts";
import { may } from "../auth/permissions.ts";
import { Refusal } from "../errors.ts";
import { type Caller, callerOf, EMPTY, type HttpEnv, jsonBody } from "../hono_env.ts";

const APPROVALS_SHOWN = 200;

/** The newest pending approvals; `null` with an external service. */
export function approvalList(secondFactorAdmin: SecondFactorAdmin | null): ApprovalList | null {
  if (secondFactorAdmin === null) return null;
  // There may be 100,000 approvals, and RADIUS packets wait during this call.
  const newest = secondFactorAdmin.pendingApprovals(APPROVALS_SHOWN);
  const items = newest.toSorted((a, b) => b.createdMs - a.createdMs).slice(0, APPROVALS_SHOWN);
  return { total: secondFactorAdmin.pendingCount(), items };
}

export interface ApprovalRouteDeps {
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly log: Log;
}

/** The audit action and result of each decision. */
const DECISIONS = {
  deny: { action: "approval.deny", after: "denied" },
  cancel: { action: "approval.cancel", after: "cancelled" },
} as const;

/** An administrator can deny or cancel a login that waits for a phone, but never approve it. */
export function createApprovalRoutes({ secondFactorAdmin, log }: ApprovalRouteDeps) {
  const decide = async (
    verb: keyof typeof DECISIONS,
    { id, actor, source }: Caller & { id: string },
  ): Promise<{ done: true }> => {
    const admin = secondFactorAdmin();
    if (admin === null) throw new Refusal("no_approvals");
    const waiting = admin.pendingApprovals().find((approval) => approval.requestId === id);
    if (waiting === undefined) throw new Refusal("already_decided");
    const { userName: user, client } = waiting;
    const event = { ...DECISIONS[verb], object: `user:${user}`, client, before: "waiting" };
    const also = [auditEntry({ actor, source, ...event })];
    if (!await admin[verb](id, { also, by: actor })) throw new Refusal("already_decided");
    log.info("an administrator decided an approval", { action: event.action, admin: actor, user, source });
    return { done: true };
  };
  return new Hono<HttpEnv>()
    .post(
      "/:id/deny",
      may("operator"),
      jsonBody(EMPTY),
      async (c) => c.json(await decide("deny", { ...callerOf(c), id: c.req.param("id") })),
    )
    .post(
      "/:id/cancel",
      may("operator"),
      jsonBody(EMPTY),
      async (c) => c.json(await decide("cancel", { ...callerOf(c), id: c.req.param("id") })),
    );
}
