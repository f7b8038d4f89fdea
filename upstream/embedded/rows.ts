// What the embedded second-factor service keeps: pairings, requests, phones, phrases, invitations; and what each of
// them is worth at a given time. Deadlines stand in the rows, because the store sweeps late.

import type { ApprovalRequest } from "../../radius/doing/ports.ts";

/** Why a request was not granted. */
export type RequestDenial = NonNullable<ApprovalRequest["denial"]>;

/** How a request ended. Codes are this service's own; `cause` goes into the history. */
export interface Decision {
  readonly granted: boolean;
  readonly cancelled: boolean;
  readonly reasonCode: number;
  readonly reason: string;
  readonly cause: RequestDenial["cause"] | null;
}

export const DECISIONS = {
  approved: { granted: true, cancelled: false, reasonCode: 0, reason: "", cause: null },
  passcode: { granted: true, cancelled: false, reasonCode: 0, reason: "", cause: null },
  denied: { granted: false, cancelled: false, reasonCode: 1, reason: "Denied on the phone", cause: "phone" },
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
    reason: "Nobody answered in time",
    cause: "expired",
  },
  cancelled_by_login: {
    granted: false,
    cancelled: true,
    reasonCode: 6,
    reason: "The login was given up",
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
    reason: "Newer requests took its place",
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

/** The phone whose visit to /me made an invitation: its pairing, and its name at that time. */
export interface InvitingPhone {
  readonly id: string;
  readonly name?: string;
}

/** `phone` is the digest of the phone's token. */
export interface PairingRow {
  readonly id: string;
  readonly userName: string;
  /** The directory record that the pairing was asked for; absent in rows of version 0.1.0. */
  readonly recordId?: string;
  /** The phone whose visit to /me made the invitation. */
  readonly addedBy?: InvitingPhone;
  readonly phone: string;
  /** What its person called the phone when it was paired; absent when they did not. */
  readonly name?: string;
  readonly state: "asks_approval" | "enabled" | "denied" | "ended";
  /** The device passcode's seed, sealed for this row; `null` until the pairing is enabled and after it ended. */
  readonly sealedSeed: Uint8Array | null;
  /** The last time step whose passcode was accepted; -1 for none. */
  readonly lastStep: number;
  readonly createdMs: number;
  readonly modifiedMs: number;
}

export interface RequestRow {
  readonly id: string;
  readonly pairingId: string;
  readonly userName: string;
  readonly terminalName: string;
  readonly client: string;
  readonly place: string;
  /** Two digits that the phone must send with an approval; `null` when none is asked. */
  readonly number: string | null;
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly deadlineMs: number;
  readonly decision: DecisionName | null;
  /** The administrator who decided, by name; absent for all other decisions. */
  readonly decidedBy?: string;
}

/** Under the digest of its token. `deadlineMs` is `null` from the first enabled pairing on. */
export interface PhoneRow {
  readonly createdMs: number;
  readonly deadlineMs: number | null;
}

/** Under the digest of the phrase. */
export interface PhraseRow {
  readonly digest: string;
  readonly phone: string;
  readonly sealedText: Uint8Array;
  readonly deadlineMs: number;
}

/** Under the digest of the invitation. */
export interface InvitationRow {
  readonly userName: string;
  /** The directory record that it belongs to; absent in rows of version 0.1.0, which are void. */
  readonly recordId?: string;
  /** The phone whose visit to /me made it. */
  readonly addedBy?: InvitingPhone;
  readonly deadlineMs: number;
  readonly usedMs: number | null;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long things live. */
export const LIFETIMES = {
  phraseMs: 10 * MINUTE_MS,
  invitationMs: 24 * HOUR_MS,
  /** For the person to confirm a pairing that a typed phrase asked for. */
  pairingDecisionMs: 10 * MINUTE_MS,
  /** A pairing that was denied or ended can still be asked about. */
  endedPairingMs: 24 * HOUR_MS,
  /** A request stays readable after its deadline. */
  endedRequestMs: 10 * MINUTE_MS,
  /** A phone that never paired, after its last phrase. */
  unpairedPhoneMs: 20 * MINUTE_MS,
} as const;

/** How much there may be of everything. */
export const CAPS = {
  phones: 100_000,
  unpairedPhones: 10_000,
  pairingsPerPhone: 20,
  invitations: 10_000,
  requests: 200_000,
  waitingPerPairing: 5,
  watchersPerPhone: 20,
  nameCharacters: 256,
  /** Of the client and of the place of a login. */
  contextCharacters: 200,
} as const;

export const TOTP_DIGITS = 6;
export const TOTP_STEP_MS = 30_000;

/** The pairing as it counts at `nowMs`: without a confirmation in time it is denied. */
export function pairingAt(row: PairingRow, nowMs: number): PairingRow {
  const outOfTime = row.state === "asks_approval" && nowMs >= row.createdMs + LIFETIMES.pairingDecisionMs;
  return outOfTime ? { ...row, state: "denied" } : row;
}

/** The request as it counts at `nowMs`: without a decision in time it can no longer be approved. */
export function requestAt(row: RequestRow, nowMs: number): RequestRow {
  const outOfTime = row.decision === null && nowMs >= row.deadlineMs;
  return outOfTime ? { ...row, decision: "out_of_time", modifiedMs: row.deadlineMs } : row;
}

/** Why a request was not granted; `undefined` while it is pending and when it was granted. */
export function requestDenial({ decision, decidedBy }: RequestRow): RequestDenial | undefined {
  const cause = decision === null ? null : DECISIONS[decision].cause;
  if (cause === null) return undefined;
  return { cause, ...(decidedBy === undefined ? {} : { by: decidedBy }) };
}

/** When a pairing's row may be forgotten; `null` while it is in use. */
export function pairingExpiresMs(row: PairingRow): number | null {
  if (row.state === "enabled") return null;
  return row.modifiedMs + LIFETIMES.endedPairingMs;
}

export function requestExpiresMs(row: RequestRow): number {
  return row.deadlineMs + LIFETIMES.endedRequestMs;
}
