// Requests and pairings of the embedded service as the port of the gateway has them.

import { parseDeviceLabel } from "../../../platform/device_label.ts";
import type { ApprovalRequest, DevicePairing } from "../../../radius/ports.ts";
import {
  type ApprovalRecord,
  DECISIONS,
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
    ...(record.passcodeOf === undefined ? {} : { passcodeOf: record.passcodeOf }),
  };
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
