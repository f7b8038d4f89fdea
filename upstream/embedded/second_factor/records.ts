// The records of the embedded second-factor service: pairings, requests, phones, phrases and invitations, with their
// tables, and with their state at a given time. The deadlines are in the records, because the store sweeps late.

import { type DeviceKind, parseDeviceLabel } from "../../../platform/device_label.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { HOUR_MS, MINUTE_MS } from "../../../platform/durations.ts";
import type { TableKind } from "../../../platform/table.ts";
import type { ApprovalRequest, DeniedRequest, DevicePairing } from "../../../radius/ports.ts";
import { auditEntry } from "../../../platform/audit.ts";
import type { Mutation } from "../../../platform/store.ts";
import type {
  CallerVerification,
  InvitingPhone,
  OwnRequest,
  PendingApproval,
  PhoneRefusal,
  PhoneRequest,
  PhoneResult,
} from "./interfaces.ts";

/** Why a request was not granted. */
type RequestDenial = NonNullable<ApprovalRequest["denial"]>;

/** How a request ended. The codes are those of this service. The history shows `cause`. */
interface Decision {
  readonly granted: boolean;
  readonly cancelled: boolean;
  readonly reasonCode: number;
  readonly reason: string;
  readonly cause: RequestDenial["cause"] | null;
}

const DECISIONS = {
  approved: { granted: true, cancelled: false, reasonCode: 0, reason: "", cause: null },
  passcode: { granted: true, cancelled: false, reasonCode: 0, reason: "", cause: null },
  denied: { granted: false, cancelled: false, reasonCode: 1, reason: "Denied on the phone", cause: "phone" },
  not_me: {
    granted: false,
    cancelled: false,
    reasonCode: 10,
    reason: "Reported by the user",
    cause: "phone",
  },
  wrong_number: {
    granted: false,
    cancelled: false,
    reasonCode: 2,
    reason: "A wrong number was entered",
    cause: "wrong_number",
  },
  wrong_passcode: {
    granted: false,
    cancelled: false,
    reasonCode: 3,
    reason: "The passcode was wrong",
    cause: "wrong_passcode",
  },
  denied_by_administrator: {
    granted: false,
    cancelled: false,
    reasonCode: 4,
    reason: "Denied by an administrator",
    cause: "administrator",
  },
  out_of_time: {
    granted: false,
    cancelled: false,
    reasonCode: 5,
    reason: "No answer in time",
    cause: "expired",
  },
  cancelled_by_login: {
    granted: false,
    cancelled: true,
    reasonCode: 6,
    reason: "The login was cancelled",
    cause: "replaced",
  },
  cancelled_by_administrator: {
    granted: false,
    cancelled: true,
    reasonCode: 7,
    reason: "Cancelled by an administrator",
    cause: "cancelled_by_administrator",
  },
  superseded: {
    granted: false,
    cancelled: true,
    reasonCode: 8,
    reason: "Newer requests replaced it",
    cause: "replaced",
  },
  pairing_ended: {
    granted: false,
    cancelled: true,
    reasonCode: 9,
    reason: "The pairing ended",
    cause: "revoked",
  },
} as const satisfies Record<string, Decision>;

export type DecisionName = keyof typeof DECISIONS;

/** `phone` is the digest of the phone's token. */
export interface PairingRecord {
  readonly id: string;
  readonly userName: string;
  /** The directory record for which the pairing was created. */
  readonly recordId: string;
  /** The phone on whose /me page the invitation was created. */
  readonly addedBy?: InvitingPhone;
  readonly phone: string;
  /** The name of the phone, if the user gave one. */
  readonly name?: string;
  readonly state: "asks_approval" | "enabled" | "denied" | "ended";
  /** The seed of the device passcode, sealed for this record; `null` before the pairing is enabled and after it ended. */
  readonly sealedSeed: Uint8Array | null;
  /** When the phone received the seed; absent if it did not. */
  readonly seedMs?: number;
  /** The last time step of an accepted passcode; -1 for none. */
  readonly lastStep: number;
  readonly createdMs: number;
  readonly modifiedMs: number;
}

export interface ApprovalRecord {
  readonly id: string;
  readonly pairingId: string;
  readonly userName: string;
  readonly terminalName: string;
  readonly client: string;
  readonly place: string;
  /** Two digits that the phone must send with an approval; `null` if none are required. */
  readonly number: string | null;
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly deadlineMs: number;
  readonly decision: DecisionName | null;
  /** The administrator who decided, by name; absent for other decisions. */
  readonly decidedBy?: string;
  /** The pairing whose passcode decided, if another one was asked. */
  readonly passcodeOf?: string;
  /** The help desk asks whether the user is on the telephone. Absent: a login. */
  readonly kind?: "verify";
  /** The administrator who asks; only for `verify`. */
  readonly askedBy?: string;
}

/** Whether the request verifies a caller of the help desk. It is no login. */
export function isVerification({ kind }: Pick<ApprovalRecord, "kind">): boolean {
  return kind === "verify";
}

/** The key is the digest of the token. `deadlineMs` is `null` after the first pairing was enabled. */
export interface PhoneRecord {
  readonly createdMs: number;
  readonly deadlineMs: number | null;
}

/** The key is the digest of the phrase. */
interface PhraseRecord {
  readonly digest: string;
  readonly phone: string;
  readonly sealedText: Uint8Array;
  readonly deadlineMs: number;
}

/** The key is the digest of the invitation. */
export interface PairingInvitation {
  readonly userName: string;
  /** The directory record of the user. */
  readonly recordId: string;
  /** The phone on whose /me page it was created. */
  readonly addedBy?: InvitingPhone;
  /** The user made it on the account page. */
  readonly isOwn?: true;
  readonly deadlineMs: number;
  readonly usedMs: number | null;
}

/** The key is the digest of the token. */
export interface PhoneDeviceRecord {
  readonly phone: string;
  /** `null` if the browser is unknown. */
  readonly kind: DeviceKind | null;
  /** When the phone last used its token; at most an hour late. */
  readonly seenMs: number;
}

/** The key is the digest of the token. */
export interface PushSubscriptionRecord {
  readonly phone: string;
  /** The endpoint and the keys, sealed; `null` after the push service ended the subscription. */
  readonly sealed: Uint8Array | null;
  /** The host of the endpoint. */
  readonly host: string;
  readonly createdMs: number;
  /** Why the last message did not arrive, unless that was temporary; `null` if it did. */
  readonly problem: { readonly code: string; readonly atMs: number } | null;
}

/** Lifetimes. */
export const LIFETIMES = {
  phraseMs: 10 * MINUTE_MS,
  invitationMs: 24 * HOUR_MS,
  /** For the user to confirm a pairing after the phrase was typed. */
  pairingDecisionMs: 10 * MINUTE_MS,
  /** How long a denied or ended pairing stays readable. */
  endedPairingMs: 24 * HOUR_MS,
  /** How long a request stays readable after its deadline. */
  endedRequestMs: 10 * MINUTE_MS,
  /** For a phone that never paired, after its last phrase. */
  unpairedPhoneMs: 20 * MINUTE_MS,
  /** How long the last use of a phone stays readable. */
  phoneDeviceMs: 400 * 24 * HOUR_MS,
} as const;

/** Maxima. */
export const CAPS = {
  phones: 100_000,
  unpairedPhones: 10_000,
  pairingsPerPhone: 20,
  /** A campaign can invite a whole company, and a reminder replaces the earlier invitation. */
  invitations: 100_000,
  requests: 200_000,
  waitingPerPairing: 5,
  watchersPerPhone: 20,
  nameCharacters: 256,
  /** For the client and for the place of a login. */
  contextCharacters: 200,
} as const;

export const PASSCODE_DIGITS = 6;

/** The pairing at `nowMs`: without a confirmation in time it is denied. */
export function pairingAt(record: PairingRecord, nowMs: number): PairingRecord {
  const isOutOfTime = record.state === "asks_approval" &&
    nowMs >= record.createdMs + LIFETIMES.pairingDecisionMs;
  return isOutOfTime ? { ...record, state: "denied" } : record;
}

/** The request at `nowMs`: without a decision in time it can no longer be approved. */
export function requestAt(record: ApprovalRecord, nowMs: number): ApprovalRecord {
  const isOutOfTime = record.decision === null && nowMs >= record.deadlineMs;
  return isOutOfTime ? { ...record, decision: "out_of_time", modifiedMs: record.deadlineMs } : record;
}

/** Why a request was not granted; `undefined` for a pending and for a granted request. */
export function requestDenial({ decision, decidedBy }: ApprovalRecord): RequestDenial | undefined {
  const cause = decision === null ? null : DECISIONS[decision].cause;
  if (cause === null) return undefined;
  return { cause, ...(decidedBy === undefined ? {} : { by: decidedBy }) };
}

/** Index keys of pending requests, of those among them that verify a caller, of phones without a pairing, and of open invitations. */
export const WAITING = "waiting";
export const VERIFYING = "verifying";
export const UNPAIRED = "unpaired";
export const OPEN = "open";
/** Index keys of push subscriptions. */
export const SUBSCRIBED = "subscribed";
export const SUBSCRIPTION_ENDED = "ended";

/** Index key of the records of a phone. */
export function byPhone(phone: string): string {
  return `phone ${phone}`;
}

/** Index key of the verifications of a user that succeeded. */
export function byVerified(canonical: string): string {
  return `verified ${canonical}`;
}

/** Index key of the pairings of a user. @param canonical the canonical name */
export function byUser(canonical: string): string {
  return `user ${canonical}`;
}

/** Index key of the pending requests of a pairing. */
export function byPairing(pairingId: string): string {
  return `pairing ${pairingId}`;
}

export const PAIRINGS: TableKind<PairingRecord> = {
  prefix: ["embedded", "pairing"],
  expiresMs: ({ state, modifiedMs }) => state === "enabled" ? null : modifiedMs + LIFETIMES.endedPairingMs,
  index: ({ phone, userName }) => [byPhone(phone), byUser(canonicalName(userName))],
};

export const REQUESTS: TableKind<ApprovalRecord> = {
  prefix: ["embedded", "request"],
  expiresMs: requestExpiresMs,
  index(record) {
    const { decision, pairingId, userName } = record;
    if (decision === null) {
      return [WAITING, byPairing(pairingId), ...isVerification(record) ? [VERIFYING] : []];
    }
    return isVerification(record) && decision === "approved" ? [byVerified(canonicalName(userName))] : [];
  },
};

export const PHONES: TableKind<PhoneRecord> = {
  prefix: ["embedded", "phone"],
  expiresMs: ({ deadlineMs }) => deadlineMs,
  index: ({ deadlineMs }) => deadlineMs === null ? [] : [UNPAIRED],
};

export const PHRASES: TableKind<PhraseRecord> = {
  prefix: ["embedded", "phrase"],
  expiresMs: ({ deadlineMs }) => deadlineMs,
  index: ({ phone }) => [byPhone(phone)],
};

export const INVITATIONS: TableKind<PairingInvitation> = {
  prefix: ["embedded", "invitation"],
  expiresMs: ({ deadlineMs }) => deadlineMs,
  index: ({ usedMs, userName }) => usedMs === null ? [OPEN, byUser(canonicalName(userName))] : [],
};

export const PHONE_DEVICES: TableKind<PhoneDeviceRecord> = {
  prefix: ["embedded", "device"],
  expiresMs: ({ seenMs }) => seenMs + LIFETIMES.phoneDeviceMs,
};

export const PUSH_SUBSCRIPTIONS: TableKind<PushSubscriptionRecord> = {
  prefix: ["embedded", "push_subscription"],
  index: ({ sealed }) => [sealed === null ? SUBSCRIPTION_ENDED : SUBSCRIBED],
};

function requestExpiresMs({ deadlineMs }: ApprovalRecord): number {
  return deadlineMs + LIFETIMES.endedRequestMs;
}

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

/** A request in a list. */
export function pendingApproval(request: ApprovalRecord): PendingApproval {
  const { id, userName, terminalName, client, place, createdMs, deadlineMs } = request;
  return { requestId: id, userName, terminalName, client, place, createdMs, deadlineMs };
}

/** A request as the person who decides it sees it. */
export function phoneRequest(request: ApprovalRecord, requesterName: string): PhoneRequest {
  const { askedBy = "", number } = request;
  return {
    ...isVerification(request) ? { kind: "verify", askedBy } as const : {},
    ...pendingApproval(request),
    requesterName,
    asksNumber: number !== null,
  };
}

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

/** The state of a request, as its person sees it. */
export function approvalState(decision: DecisionName | null): OwnRequest["state"] {
  if (decision === null) return "waiting";
  if (decision === "out_of_time") return "expired";
  const { granted, cancelled } = DECISIONS[decision];
  return granted ? "approved" : cancelled ? "cancelled" : "denied";
}

/** A refusal for the phone page. */
export function refusePhone<T>(reason: PhoneRefusal): PhoneResult<T> {
  return { ok: false, reason };
}
