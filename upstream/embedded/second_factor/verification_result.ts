// The result of a caller verification: for the help desk, and for the audit log.

import { auditEntry } from "../../../platform/audit.ts";
import type { Mutation } from "../../../platform/store.ts";
import type { CallerVerification } from "./interfaces.ts";
import { type ApprovalRecord, type DecisionName, isVerification, requestExpiresMs } from "./records.ts";

const RESULTS: Readonly<Record<DecisionName, Exclude<CallerVerification["state"], "waiting">>> = {
  approved: "verified",
  passcode: "cancelled",
  denied: "denied",
  not_me: "not_me",
  wrong_number: "wrong_number",
  wrong_passcode: "cancelled",
  denied_by_administrator: "cancelled",
  out_of_time: "expired",
  cancelled_by_login: "cancelled",
  cancelled_by_administrator: "cancelled",
  superseded: "cancelled",
  pairing_ended: "cancelled",
};

/** Decisions of the person with the phone. All others are by the gateway, or by the administrator that they name. */
const BY_PERSON: ReadonlySet<DecisionName> = new Set(["approved", "denied", "not_me", "wrong_number"]);

/** The question as the help desk sees it. */
export function verificationView(record: ApprovalRecord): CallerVerification {
  const { id, pairingId, userName, askedBy = "", createdMs, deadlineMs, modifiedMs, decision } = record;
  return {
    ...{ id, pairingId, userName, askedBy, createdMs, deadlineMs },
    state: decision === null ? "waiting" : RESULTS[decision],
    endedMs: decision === null ? null : modifiedMs,
    shownUntilMs: requestExpiresMs(record),
  };
}

/** The audit record of a verification that ended, for the commit of its end. Empty for a login and for a pending request. */
export function verificationAudit(record: ApprovalRecord): Mutation[] {
  const { id, userName, askedBy, decision, decidedBy, pairingId } = record;
  if (!isVerification(record) || decision === null) return [];
  const user = `user:${userName}`;
  return [
    auditEntry({
      action: "caller.answered",
      actor: BY_PERSON.has(decision) ? user : decidedBy ?? "radius",
      object: user,
      after: RESULTS[decision],
      operator: askedBy,
      pairing: pairingId,
      request: id,
    }),
  ];
}
