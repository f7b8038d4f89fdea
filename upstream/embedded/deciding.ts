// What a person decides about a request, wherever they do it: on the phone's page, or on a page of their own.

import { timingSafeEqual } from "node:crypto";
import type { Alongside, OwnRequest, PersonDecision, PhoneResult } from "./interfaces.ts";
import { refused } from "./pairings.ts";
import type { DecisionOutcome, Requests } from "./requests.ts";
import { type DecisionName, DECISIONS, type RequestRow } from "./rows.ts";

/** Decides once. The caller has made sure that the request is the person's own. `also` is written with what was asked for. */
export async function decideRequest(
  requests: Requests,
  row: RequestRow,
  { decision, also = [] }: Alongside & { decision: PersonDecision },
): Promise<PhoneResult<null>> {
  if (row.decision === "out_of_time") return refused("expired");
  if (row.decision !== null) return refused("already_decided");
  if (!decision.approve) return told(await requests.decide(row.id, "denied", { also }));
  const verdict = judge(row, decision.number);
  if (verdict === "approved") return told(await requests.decide(row.id, "approved", { also }));
  if (verdict === "nothing_typed") return refused("wrong_number");
  const denied = await requests.decide(row.id, "wrong_number");
  return refused(denied === "won" ? "wrong_number" : "already_decided");
}

/** Nothing typed yet is no guess; any guess that is wrong ends the request. */
function judge(row: RequestRow, number: string | null): "approved" | "nothing_typed" | "wrong_number" {
  if (row.number === null) return "approved";
  if (number === null || number.trim() === "") return "nothing_typed";
  return isSame(number.trim(), row.number) ? "approved" : "wrong_number";
}

/** How a request stands, for its person. */
export function stateOf(decision: DecisionName | null): OwnRequest["state"] {
  if (decision === null) return "waiting";
  if (decision === "out_of_time") return "expired";
  const { granted, cancelled } = DECISIONS[decision];
  return granted ? "approved" : cancelled ? "cancelled" : "denied";
}

function told(outcome: DecisionOutcome): PhoneResult<null> {
  if (outcome === "won") return { ok: true, value: null };
  return refused(outcome === "late" ? "already_decided" : "unknown_request");
}

function isSame(typed: string, expected: string): boolean {
  const [left, right] = [new TextEncoder().encode(typed), new TextEncoder().encode(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
