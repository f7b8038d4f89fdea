// Requests and pairings of the embedded service as the port of the gateway has them.

import { parseDeviceLabel } from "../../../platform/device_label.ts";
import type { ApprovalRequest, DeniedRequest, DevicePairing } from "../../../radius/ports.ts";
import {
  type ApprovalRecord,
  DECISIONS,
  isVerification,
  type PairingRecord,
  PASSCODE_DIGITS,
  requestDenial,
} from "./records.ts";

export function portApproval(record: ApprovalRecord): ApprovalRequest {
  const decision = record.decision === null ? null : DECISIONS[record.decision];
  const denial = requestDenial(record);
  return {
    id: record.id,
    pending: decision === null,
    granted: decision?.granted ?? false,
    cancelled: decision?.cancelled ?? false,
    reason: decision?.reason ?? "",
    reasonCode: decision?.reasonCode ?? 0,
    ...(decision === null && record.number !== null ? { numberToMatch: record.number } : {}),
    ...(denial === undefined ? {} : { denial }),
    ...(decision === null ? {} : { decidedMs: record.modifiedMs }),
    ...(record.passcodeOf === undefined ? {} : { passcodeOf: record.passcodeOf }),
  };
}

/** The request, if it was denied. A login ends by itself when its time is over or when it cancels its own request. */
export function deniedRequest(record: ApprovalRecord): DeniedRequest | undefined {
  const { id, userName, decision, modifiedMs } = record;
  const denial = requestDenial(record);
  if (denial === undefined || decision === "out_of_time" || decision === "cancelled_by_login") {
    return undefined;
  }
  return isVerification(record) ? undefined : { id, userName, denial, decidedMs: modifiedMs };
}

/** The pairing, if the phone denied it. */
export function deniedPairing({ id, userName, state, modifiedMs }: PairingRecord): DeniedRequest | undefined {
  return state === "denied" ? { id, userName, denial: null, decidedMs: modifiedMs } : undefined;
}

export function portPairing(record: PairingRecord): DevicePairing {
  const name = parseDeviceLabel(record.name ?? "");
  return {
    id: record.id,
    enabled: record.state === "enabled",
    pending: record.state === "asks_approval",
    deactivated: record.state === "ended" || record.state === "denied",
    userName: record.userName,
    totpLength: PASSCODE_DIGITS,
    ...(name === null ? {} : { name }),
  };
}
