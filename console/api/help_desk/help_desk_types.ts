// Types of the help desk, shared with the pages.

import type { BypassCodeStatus } from "../../../radius/factors/bypass_codes.ts";
import type { CallerVerification } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { HelpDeskSettings } from "../../../platform/config/config.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import type { QrMatrix } from "../qr_svg.ts";

/** The bypass code that a user can use now. The code itself is shown once, when it is issued. */
export type BypassCodeView = BypassCodeStatus;

/** What a new bypass code may allow, by the settings. */
export interface BypassLimits {
  readonly minMinutes: number;
  readonly maxMinutes: number;
  readonly maxUses: number;
  readonly anyUses: boolean;
}

/** A verification that began. The help desk reads the number out. */
export interface StartedVerification {
  readonly nowMs: number;
  readonly verification: CallerVerification;
  readonly number: string;
}

export interface VerificationAnswer {
  readonly nowMs: number;
  readonly verification: CallerVerification;
}

export interface IssuedBypass {
  /** Shown once. */
  readonly code: string;
  readonly bypass: BypassCodeView;
  /** The address of the mail that tells the user; `null`: no mail is sent. */
  readonly mailedTo: string | null;
}

/** The result of the action for a lost phone. */
export interface LostPhoneResult {
  /** The names of the revoked phones. */
  readonly revoked: readonly string[];
  readonly forgotten: number;
  readonly bypass: IssuedBypass | null;
  /** Shown once; `null` with an external second-factor service, or if the link was mailed. */
  readonly invitation:
    | { readonly link: string; readonly qr: QrMatrix | null; readonly deadlineMs: number }
    | null;
  /** The address to which the link was mailed. */
  readonly mailedTo: string | null;
}

// The limits of bypass codes, by the settings: the routes enforce them, and the dialog offers only what they allow.

const MIN_MINUTES = 15;

export function bypassLimits({ bypassMaxMs, bypassMaxUses, bypassAnyUses }: HelpDeskSettings): BypassLimits {
  return {
    minMinutes: MIN_MINUTES,
    maxMinutes: Math.floor(bypassMaxMs / MINUTE_MS),
    maxUses: bypassMaxUses,
    anyUses: bypassAnyUses,
  };
}
