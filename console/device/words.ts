// Every sentence of the phone page.

/** What the API's refusals mean to the person with the phone. */
export const SENTENCES: Readonly<Record<string, string>> = {
  offline: "The server did not answer. Check the connection and try again.",
  nonsense: "The server's answer could not be read. Reload the page.",
  no_phone_page: "This gateway uses another service for phones.",
  unknown_token: "This phone is no longer paired.",
  unknown_invitation: "That invitation is not known. Ask for a new one.",
  account_changed:
    "This link is no longer valid: the account was deactivated or removed. Ask your administrator for a new one.",
  already_used: "That invitation was used already. Ask for a new one if it was not you.",
  expired: "That has expired.",
  unknown_request: "That request is not there any more.",
  already_decided: "That request was answered before.",
  wrong_number: "That was not the number of the login, so the login was denied.",
  bad_phone_name: "A name has 1 to 60 characters that can be shown.",
  too_many_tries: "Too many tries. Wait a few minutes, then try again.",
};

export const SAID = {
  approved: "Approved. Go back to your login.",
  denied: "Denied. Nobody gets in with it.",
  paired: "This phone is paired.",
  pairingDenied: "Denied. This phone was not paired.",
  unpaired: "This phone is unpaired.",
} as const;
export type SaidName = keyof typeof SAID;

/** What a notice says was added. */
export const ADDED = {
  device: "phone",
  sms: "number for text messages",
  voice: "number for calls",
  totp: "authenticator app",
  recovery_codes: "recovery codes",
} as const;
