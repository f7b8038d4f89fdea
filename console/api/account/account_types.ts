// What a person's own page is answered, as types alone: the page imports them and nothing else from here. Times are the
// server's, in milliseconds since the epoch.

import type { Factor, UsedFactor } from "../../../radius/flow/factors.ts";
import type { UnconfirmedFactor } from "../../../radius/factors/unconfirmed_factors.ts";
import type { UserNotice } from "../../../platform/user_notice.ts";
import type { ReasonCode } from "../conversations/explain_login.ts";

/** How the visit began: with an administrator's one-time link, or from a paired phone. */
export type MeWay = "link" | "phone";

export interface MeInfo {
  readonly userName: string;
  readonly displayName: string | null;
  readonly via: MeWay;
  /** When the visit ends unless it is used before; never later than an hour after its beginning. */
  readonly endsMs: number;
}

export interface MeSessionAnswer {
  /** Whether this gateway has pages for people at all. */
  readonly available: boolean;
  readonly nowMs: number;
  readonly me: MeInfo | null;
  /** Users that this browser, as a paired phone, may go on as. */
  readonly phoneUsers: readonly string[];
}

/** Whom a link is for; looking uses nothing up. */
export interface MeLinkLook {
  readonly userName: string;
  readonly deadlineMs: number;
  readonly nowMs: number;
}

export interface MeDevice {
  readonly pairingId: string;
  /** The phone's name; absent if it has none. */
  readonly name?: string;
  readonly createdMs: number;
  readonly lastUsedMs: number | null;
  /** It is the phone that asks. */
  readonly isThisPhone: boolean;
  /** This visit may not remove it: no other factor would count for a login. */
  readonly isLast: boolean;
}

export interface MeTotp {
  readonly pairingId: string;
  readonly createdMs: number;
  readonly lastUsedMs: number | null;
  /** This visit may not remove it: no other factor would count for a login. */
  readonly isLast: boolean;
}

export interface MeNumber {
  readonly pairingId: string;
  readonly kind: "sms" | "voice";
  /** Masked. */
  readonly number: string;
  readonly createdMs: number;
}

export interface MeFactors {
  readonly nowMs: number;
  readonly devices: readonly MeDevice[];
  readonly totp: readonly MeTotp[];
  /** Only shown: an administrator looks after them. */
  readonly numbers: readonly MeNumber[];
  /** What was added to the ways to sign in and is not confirmed yet, newest first. */
  readonly notices?: readonly UserNotice[];
  readonly recovery: { readonly left: number; readonly createdMs: number | null };
  /** Added by a phone that was revoked; not used for a login until the user or an administrator confirms it. */
  readonly unconfirmed?: readonly UnconfirmedFactor[];
  readonly preference: Factor | null;
  /** The factors that this gateway uses at all. */
  readonly enabled: readonly Factor[];
  /** Whether further phones can be paired here. */
  readonly canInvite: boolean;
  /** `untilMs` is `null` when only an administrator unlocks. */
  readonly locked: { readonly untilMs: number | null } | null;
}

/** One login of the person's own. */
export interface MeLogin {
  readonly conversationId: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly outcome: string;
  /** Why it was refused; `null` for an accepted one. */
  readonly reason: ReasonCode | null;
  readonly factor: UsedFactor | string | null;
  readonly client: string;
  readonly place: string;
}

/** One that is under way. */
export interface MeOpenLogin {
  readonly conversationId: string;
  readonly startedMs: number;
  readonly client: string;
  readonly place: string;
  readonly step: string;
  /** The phone was asked and has not answered yet. */
  readonly waitsForPhone: boolean;
}

/** A request that waits for the phone; `/me/approve/<requestId>` decides it. */
export interface MeApproval {
  readonly requestId: string;
  readonly client: string;
  readonly place: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
}

export interface MeLogins {
  readonly nowMs: number;
  readonly open: readonly MeOpenLogin[];
  readonly approvals: readonly MeApproval[];
  /** Newest first, at most 50, at most 90 days back. */
  readonly recent: readonly MeLogin[];
}

/** What "this was not me" did. */
export interface MeDisowned {
  readonly lockedUntilMs: number;
  /** Logins that were waiting and are over now. */
  readonly ended: number;
  /** Requests that were denied for it. */
  readonly denied: number;
}
