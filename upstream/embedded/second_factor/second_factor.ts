// The embedded second-factor service: the port of the gateway, the service of the phone page, and the administration for
// the console.

import type { SecondFactorService } from "../../../radius/ports.ts";
import { approvalState, decideApproval } from "./approval_decision.ts";
import { createContext, type SecondFactorDeps } from "./context.ts";
import { EmbeddedDeviceService } from "./device_service.ts";
import type { DeviceService, OwnRequest, PendingApproval, SecondFactorAdmin } from "./interfaces.ts";
import { PairingInvitations } from "./invitations.ts";
import { PairingEvents } from "./pairing_events.ts";
import { PairingPhrases } from "./pairing_phrases.ts";
import { DevicePairings, refusePhone } from "./pairings.ts";
import type { ApprovalRecord } from "./records.ts";
import { ApprovalRequests } from "./requests.ts";
import { createEmbeddedService } from "./second_factor_service.ts";

export interface EmbeddedSecondFactor {
  /** The port of the gateway. */
  readonly service: SecondFactorService;
  readonly phone: DeviceService;
  readonly admin: SecondFactorAdmin;
  /** Reads the store. Call it once, before anything else. */
  load(): Promise<void>;
  /** Stops the timer of expiring requests, and waits for its last commit. */
  close(): Promise<void>;
}

/** @param deps.onBug receives the error of an operation that failed; the caller of the operation receives a fault. */
export function createEmbeddedSecondFactor(
  { onBug = () => undefined, ...deps }: SecondFactorDeps & { onBug?: (fault: unknown) => void },
): EmbeddedSecondFactor {
  const context = createContext(deps);
  const requests = new ApprovalRequests(context);
  const pairings = new DevicePairings(context, requests);
  const phrases = new PairingPhrases(context, pairings);
  const invitations = new PairingInvitations(context, pairings);
  const events = new PairingEvents();
  const { requesterName } = deps.settings;

  return {
    service: createEmbeddedService({ requests, pairings, phrases, onBug }),
    phone: new EmbeddedDeviceService(context, { requests, pairings, phrases, invitations, events }),
    admin: createAdmin({ requests, pairings, invitations, events, requesterName }),
    async load() {
      await context.tables.load();
      requests.resume();
    },
    close: () => requests.stop(),
  };
}

function createAdmin(
  { requests, pairings, invitations, events, requesterName }: {
    requesterName: string;
    requests: ApprovalRequests;
    pairings: DevicePairings;
    invitations: PairingInvitations;
    events: PairingEvents;
  },
): SecondFactorAdmin {
  return {
    invite: (userName, options) => invitations.create(userName, options),
    pendingCount: () => requests.waitingCount(),
    pendingApprovals: (newest) => requests.waiting(newest).map(pendingApproval),
    deny: async (requestId, options) =>
      await requests.decide(requestId, "denied_by_administrator", options) === "won",
    cancel: async (requestId, options) =>
      await requests.decide(requestId, "cancelled_by_administrator", options) === "won",
    request(requestId) {
      const request = requests.find(requestId);
      return request === undefined ? null : ownRequest(request, requesterName);
    },
    async decide(requestId, decision, options) {
      const request = requests.find(requestId);
      return request === undefined
        ? refusePhone("unknown_request")
        : await decideApproval(requests, request, { ...options, decision });
    },
    usePasscode: (pairingId, code) => pairings.usePasscode(pairingId, code),
    revokePairing: async (pairingId) => await pairings.end(pairingId) !== null,
    onChange: (notify) => requests.onChange(notify),
    onPaired: (notify) => events.onPaired(notify),
    onUnpaired: (notify) => events.onUnpaired(notify),
  };
}

function pendingApproval(request: ApprovalRecord): PendingApproval {
  const { id, userName, terminalName, client, place, createdMs, deadlineMs } = request;
  return { requestId: id, userName, terminalName, client, place, createdMs, deadlineMs };
}

function ownRequest(request: ApprovalRecord, requesterName: string): OwnRequest {
  return {
    ...pendingApproval(request),
    pairingId: request.pairingId,
    requesterName,
    asksNumber: request.number !== null,
    state: approvalState(request.decision),
  };
}
