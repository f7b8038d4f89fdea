// Decides an approval request for its person, on the phone page and on the approval page.

import { timingSafeEqual } from "node:crypto";
import type { CommitOptions, OwnRequest, PersonDecision, PhoneResult } from "./interfaces.ts";
import { type ApprovalRecord, type DecisionName, DECISIONS } from "./records.ts";
import { refusePhone } from "./pairings.ts";
import type { ApprovalRequests, DecisionOutcome } from "./requests.ts";

/**
 * Decides once. The caller has checked that the request belongs to the person.
 *
 * @param options.also is committed together with the decision, unless a wrong number denies the request.
 */
export async function decideApproval(
  requests: ApprovalRequests,
  request: ApprovalRecord,
  { decision, also = [] }: CommitOptions & { decision: PersonDecision },
): Promise<PhoneResult<null>> {
  if (request.decision === "out_of_time") return refusePhone("expired");
  if (request.decision !== null) return refusePhone("already_decided");
  if (!decision.approve) return toResult(await requests.decide(request.id, "denied", { also }));
  const verdict = checkNumber(request, decision.number);
  if (verdict === "right") return toResult(await requests.decide(request.id, "approved", { also }));
  if (verdict === "missing") return refusePhone("wrong_number");
  const denied = await requests.decide(request.id, "wrong_number");
  return refusePhone(denied === "won" ? "wrong_number" : "already_decided");
}

/** An empty field is no guess. Any wrong guess ends the request. */
function checkNumber({ number }: ApprovalRecord, typed: string | null): "right" | "missing" | "wrong" {
  if (number === null) return "right";
  if (typed === null || typed.trim() === "") return "missing";
  return isSame(typed.trim(), number) ? "right" : "wrong";
}

/** The state of a request, as its person sees it. */
export function approvalState(decision: DecisionName | null): OwnRequest["state"] {
  if (decision === null) return "waiting";
  if (decision === "out_of_time") return "expired";
  const { granted, cancelled } = DECISIONS[decision];
  return granted ? "approved" : cancelled ? "cancelled" : "denied";
}

function toResult(outcome: DecisionOutcome): PhoneResult<null> {
  if (outcome === "won") return { ok: true, value: null };
  return refusePhone(outcome === "late" ? "already_decided" : "unknown_request");
}

function isSame(typed: string, expected: string): boolean {
  const [left, right] = [new TextEncoder().encode(typed), new TextEncoder().encode(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
