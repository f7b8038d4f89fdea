// Types of the account API, shared with the pages. Times are the server's, in milliseconds since the epoch.

import type { BypassCodeView } from "../help_desk/help_desk_types.ts";
import type { PairedPhoneFacts } from "../../../upstream/embedded/push/phone_pages.ts";
import type { Factor, UsedFactor } from "../../../radius/flow/context.ts";
import type { UnconfirmedFactor } from "../../../radius/factors/pairing.ts";
import type { UserNotice } from "../../../platform/user_record.ts";
import type { ReasonCode } from "../conversations/explain_login.ts";

/** How the session began: with an administrator's one-time link, or from a paired phone. */
export type AccountSignInMethod = "link" | "phone";

export interface AccountInfo {
  readonly userName: string;
  readonly displayName: string | null;
  readonly via: AccountSignInMethod;
  /** When the session ends without further use; at most an hour after its start. */
  readonly endsMs: number;
}

export interface AccountSessionAnswer {
  /** Whether this gateway has account pages. */
  readonly available: boolean;
  readonly nowMs: number;
  readonly me: AccountInfo | null;
  /** Users as whom this browser, a paired phone, can sign in. */
  readonly phoneUsers: readonly string[];
}

/** The user of a link. Reading does not use the link. */
export interface AccountLinkInfo {
  readonly userName: string;
  readonly deadlineMs: number;
  readonly nowMs: number;
}

export interface AccountDevice {
  readonly pairingId: string;
  /** The phone's name; absent if it has none. */
  readonly name?: string;
  readonly createdMs: number;
  readonly lastUsedMs: number | null;
  /** Of a phone of the embedded service. */
  readonly phone?: PairedPhoneFacts;
  /** It is the phone that sends the request. */
  readonly isThisPhone: boolean;
  /** This session may not remove it: no other factor would be usable. */
  readonly isLast: boolean;
}

interface AccountTotp {
  readonly pairingId: string;
  readonly createdMs: number;
  readonly lastUsedMs: number | null;
  /** This session may not remove it: no other factor would be usable. */
  readonly isLast: boolean;
}

/** A hardware token that an administrator assigned. */
export interface AccountToken {
  /** Identifies the token in addresses. */
  readonly id: string;
  readonly serial: string;
  readonly kind: "hotp" | "totp";
  readonly digits: number;
  readonly assignedMs: number | null;
  readonly usedMs: number | null;
  /** Whether its codes are accepted: it is enabled, and not expired. */
  readonly isUsable: boolean;
}

interface AccountNumber {
  readonly pairingId: string;
  readonly kind: "sms" | "voice";
  /** Masked. */
  readonly number: string;
  readonly createdMs: number;
}

export interface AccountFactors {
  readonly nowMs: number;
  readonly devices: readonly AccountDevice[];
  readonly totp: readonly AccountTotp[];
  /** Read only, besides resynchronization: an administrator manages them. */
  readonly tokens?: readonly AccountToken[];
  /** Read only: an administrator manages them. */
  readonly numbers: readonly AccountNumber[];
  /** Unconfirmed notices about added factors, newest first. */
  readonly notices?: readonly UserNotice[];
  /** The bypass code that the help desk issued, without the code. */
  readonly bypass?: BypassCodeView | null;
  readonly recovery: { readonly left: number; readonly createdMs: number | null };
  /** Added by a phone that was revoked; not used for a login until the user or an administrator confirms it. */
  readonly unconfirmed?: readonly UnconfirmedFactor[];
  readonly preference: Factor | null;
  /** The enabled factors of the gateway. */
  readonly enabled: readonly Factor[];
  /** Whether further phones can be paired here. */
  readonly canInvite: boolean;
  /** `untilMs` is `null` when only an administrator unlocks. */
  readonly locked: { readonly untilMs: number | null } | null;
}

/** A finished login. */
export interface AccountLogin {
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

export interface AccountOpenLogin {
  readonly conversationId: string;
  readonly startedMs: number;
  readonly client: string;
  readonly place: string;
  readonly step: string;
  /** The phone has not answered the request yet. */
  readonly waitsForPhone: boolean;
}

/** A request that waits for the phone; `/me/approve/<requestId>` decides it. */
export interface AccountApproval {
  readonly requestId: string;
  readonly client: string;
  readonly place: string;
  readonly createdMs: number;
  readonly deadlineMs: number;
}

export interface AccountLogins {
  readonly nowMs: number;
  readonly open: readonly AccountOpenLogin[];
  readonly approvals: readonly AccountApproval[];
  /** Newest first, at most 50, at most 90 days back. */
  readonly recent: readonly AccountLogin[];
}

/** The result of "this was not me". */
export interface NotMeResult {
  readonly lockedUntilMs: number;
  /** Open logins that were ended. */
  readonly ended: number;
  /** Requests that were denied. */
  readonly denied: number;
}
