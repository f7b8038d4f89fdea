// Why a push was not approved: who decided, or what ended the request. A record of the login stores the cause.

/** One row per cause. `reason` names the sentence that explains a rejected login (`why_<reason>` in the console). */
export const DENIAL_CAUSES = {
  /** The user pressed Deny, on the phone page or on the account page. */
  phone: { reason: "denied_on_phone" },
  /** The user entered another number than the login prompt showed. */
  wrong_number: { reason: "wrong_number" },
  wrong_passcode: { reason: "passcode_wrong" },
  administrator: { reason: "denied_by_administrator" },
  cancelled_by_administrator: { reason: "cancelled_by_administrator" },
  expired: { reason: "push_expired" },
  /** Newer push requests to the same phone replaced this one, or the login started over. */
  replaced: { reason: "push_replaced" },
  /** The pairing of the phone ended while the request was pending. */
  revoked: { reason: "phone_revoked" },
  /** An external second-factor service: its interface does not say whether the request was denied or expired. */
  service: { reason: "denied_at_service" },
} as const satisfies Record<string, { reason: string }>;

export type DenialCause = keyof typeof DENIAL_CAUSES;

/** The cause of a denied push. */
export interface Denial {
  readonly cause: DenialCause;
  /** The administrator who decided, by name. */
  readonly by?: string;
}

const causes = new Map<string, DenialCause>(
  Object.keys(DENIAL_CAUSES).map((cause) => [cause, cause as DenialCause]),
);

/** Reads a stored denial, `[cause, by]`; `undefined` for anything else, such as a record of an older version. */
export function readDenial(stored: unknown): Denial | undefined {
  if (!Array.isArray(stored)) return undefined;
  const cause = causes.get(String(stored[0]));
  if (cause === undefined) return undefined;
  return { cause, ...(typeof stored[1] === "string" ? { by: stored[1] } : {}) };
}
