// The four second factors, with the letter of the menu that chooses each.

export const FACTORS = {
  device: { letter: "S", label: "Smart-phone responder", short: "phone" },
  sms: { letter: "T", label: "Text-message delivered passcode", short: "text" },
  voice: { letter: "P", label: "Phone-call delivered passcode", short: "call" },
  totp: { letter: "D", label: "Device-generated passcode", short: "code" },
} as const satisfies Record<string, { letter: string; label: string; short: string }>;

export type Factor = keyof typeof FACTORS;

/** What a login may have been let in by: a factor, or a recovery code in the place of one. */
export type UsedFactor = Factor | "recovery";

/** The order in which a login without a preference takes them. */
export const FACTOR_ORDER: readonly Factor[] = ["device", "sms", "voice", "totp"];
