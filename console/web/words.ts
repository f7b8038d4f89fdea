// Every word that the console says about a state, a reason or a failure, in one place. What a place of a conversation is
// called stands in the gateway's own table.

import { PASSAGES, type Place, STEPS } from "../../radius/facts/steps.ts";

/** How a state looks: a colour, and a shape for those who do not see the colour. */
export type Tone = "ok" | "wait" | "bad" | "challenge" | "idle";
export type Shape =
  | "check"
  | "clock"
  | "cross"
  | "diamond"
  | "ring"
  | "phone"
  | "text"
  | "call"
  | "key"
  | "link"
  | "door";

export interface StateWords {
  readonly label: string;
  readonly tone: Tone;
  readonly shape: Shape;
}

/** Where logins stand, as the strip shows it: one node for steps that are the same to a person. */
export const NODES = {
  start: { label: "Received", tone: "idle", shape: "door" },
  menu: { label: "Menu", tone: "challenge", shape: "diamond" },
  pairing: { label: "Pairing", tone: "wait", shape: "link" },
  phone: { label: "Phone", tone: "wait", shape: "phone" },
  text: { label: "Text", tone: "wait", shape: "text" },
  call: { label: "Call", tone: "wait", shape: "call" },
  code: { label: "Passcode", tone: "challenge", shape: "key" },
} as const satisfies Record<string, StateWords>;
export type NodeName = keyof typeof NODES;
export const FACTOR_NODES: readonly NodeName[] = ["phone", "text", "call", "code", "pairing"];

/** Which node of the strip a place of the gateway's table belongs to. */
const NODE_OF_PLACE: Readonly<Record<Place, NodeName>> = {
  start: "start",
  first_factor: "start",
  factor: "start",
  gone: "start",
  CHOOSE_WHICH_MULTIFACTOR: "menu",
  SECONDFACTOR_GET_PAIRING_PHRASE: "pairing",
  pairing: "pairing",
  SECONDFACTOR_AWAIT_PAIRING_APPROVAL: "pairing",
  asking_pairing: "pairing",
  pushing: "phone",
  holding: "phone",
  SECONDFACTOR_AWAIT_DEVICE_APPROVAL: "phone",
  asking: "phone",
  GET_SMS_PHONE_NUMBER: "text",
  texting: "text",
  texting_typed: "text",
  VERIFY_SMS_PHONE_NUMBER: "text",
  AWAIT_SMS_DELIVERED_PASSCODE: "text",
  GET_VOICE_PHONE_NUMBER: "call",
  calling: "call",
  calling_typed: "call",
  VERIFY_VOICE_PHONE_NUMBER: "call",
  AWAIT_VOICE_DELIVERED_PASSCODE: "call",
  pushing_for_code: "code",
  GET_DEVICE_GENERATED_PASSCODE: "code",
  code: "code",
  asking_otp: "code",
};
const nodes = new Map<string, NodeName>(Object.entries(NODE_OF_PLACE));
const titles = new Map<string, string>(
  [...Object.entries(STEPS), ...Object.entries(PASSAGES)].map(([place, { title }]) => [place, title]),
);

export const OUTCOMES = {
  accepted: { label: "Accepted", tone: "ok", shape: "check" },
  rejected: { label: "Rejected", tone: "bad", shape: "cross" },
  expired: { label: "Ran out of time", tone: "idle", shape: "clock" },
  cancelled: { label: "Cancelled", tone: "idle", shape: "ring" },
  superseded: { label: "Replaced by a newer login", tone: "idle", shape: "ring" },
} as const satisfies Record<string, StateWords>;
export type OutcomeName = keyof typeof OUTCOMES;

export const FACTORS: Readonly<Record<string, string>> = {
  device: "Phone",
  sms: "Text message",
  voice: "Voice call",
  totp: "Device passcode",
};

export const ROLES: Readonly<Record<string, string>> = {
  owner: "Owner",
  user_manager: "User manager",
  operator: "Operator",
  viewer: "Viewer",
};

export function nodeOf(step: string): NodeName {
  return nodes.get(step) ?? "start";
}

/** A step in words; a name that is not in the table is made readable. */
export function stepLabel(step: string): string {
  return titles.get(step) ?? readable(step);
}

/** Where a conversation stands or how it ended. */
export function stateWords(view: { step: string; outcome: OutcomeName | null }): StateWords {
  if (view.outcome !== null) return OUTCOMES[view.outcome];
  return { ...NODES[nodeOf(view.step)], label: stepLabel(view.step) };
}

/** What the name of a moment's step looks like: an end, or a step on the way. */
export function momentWords(step: string): StateWords {
  const end = OUTCOMES[step.toLowerCase() as OutcomeName] ?? MOMENT_ENDS[step.toLowerCase()];
  return end ?? { ...NODES[nodeOf(step)], label: stepLabel(step) };
}

const MOMENT_ENDS: Readonly<Record<string, StateWords>> = {
  accept: OUTCOMES.accepted,
  reject: OUTCOMES.rejected,
  cancel: OUTCOMES.cancelled,
};

/** Why a login ended or turned, by the flow table's row; other rows say enough by their name. */
const ROW_SENTENCES = new Map<string, string>(Object.entries({
  refused: "The user may not log in: inactive, deleted, locked out or unknown.",
  refused_meanwhile: "The user was deactivated or locked out during this login.",
  refused_after_first_factor: "The password was right, but the user may not log in.",
  refused_while_held: "The user was deactivated while the phone was asked.",
  refused_while_pairing: "The user was deactivated while the phone was being paired.",
  refused_at_code: "The user was deactivated before the passcode came.",
  refused_while_asking_otp: "The user was deactivated while the passcode was checked.",
  appended_unopened: "The second-factor service did not take the request for the appended passcode.",
  expired: "Nobody answered in time.",
  superseded: "The same user began a newer login from the same place.",
  refused_while_asking: "The user was deactivated while the phone was asked.",
  first_factor_wrong: "The password was wrong.",
  first_factor_unavailable: "The password could not be checked, so the login was refused.",
  first_factor_right: "The password was right.",
  no_first_factor: "The client checks the password itself.",
  empty_password: "No password was given.",
  nothing_paired: "The user has no factor yet.",
  device_picked: "The user has a paired phone.",
  sms_picked: "The user has a verified number for texts.",
  voice_picked: "The user has a verified number for calls.",
  totp_picked: "The user has a passcode generator.",
  appended_unusable: "What was appended to the password could not be used.",
  device_exhausted: "The user's phone was asked too often in the last hour.",
  pushed: "The phone was asked.",
  pushed_and_held: "The phone was asked; the client waits for its answer.",
  push_unsent: "The second-factor service did not take the request.",
  unsent_and_held: "The second-factor service did not take the request.",
  approved: "Approved on the phone.",
  approved_while_held: "Approved on the phone.",
  denied_while_held: "Denied on the phone.",
  not_approved: "Denied on the phone, or its time ran out.",
  held_to_the_end: "Nobody answered on the phone in time.",
  still_pending: "The phone has not answered yet.",
  service_down: "The second-factor service did not answer.",
  no_request: "There was no request that could be approved.",
  cancelled: "The person started over with cancel.",
  pairing_denied: "The pairing was denied on the phone.",
  pairing_unknown: "The second-factor service no longer knows the pairing.",
  paired: "The phone was paired.",
  text_sent: "A passcode was texted.",
  typed_text_sent: "A passcode was texted to the number that was typed.",
  call_placed: "A call says the passcode.",
  typed_call_placed: "A call to the typed number says the passcode.",
  text_refused: "The telephony service refused the number.",
  totp_right: "The device's passcode was right.",
  otp_right: "The phone's passcode was right.",
  code_wrong: "The passcode was wrong.",
  otp_wrong: "The passcode was wrong.",
  text_code_right: "The texted passcode was right.",
  typed_text_code_right: "The texted passcode was right.",
  call_code_right: "The spoken passcode was right.",
  typed_call_code_right: "The spoken passcode was right.",
  text_code_wrong: "The passcode was wrong.",
  typed_text_code_wrong: "The passcode was wrong.",
  call_code_wrong: "The passcode was wrong.",
  typed_call_code_wrong: "The passcode was wrong.",
  gone_device: "The answer came for a login that is over.",
  gone_elsewhere: "The answer came for a login that is over.",
}));

export function rowSentence(row: string): string {
  return ROW_SENTENCES.get(row) ?? `${readable(row)}.`;
}

/** `push_denied` and `pushDenied` become "Push denied". */
export function readable(name: string): string {
  const words = name.replace(/[_:.-]+/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2").trim().toLowerCase();
  return words === "" ? "Unknown" : words.charAt(0).toUpperCase() + words.slice(1);
}

export const NEEDS_ROLE: Readonly<Record<string, string>> = {
  operator: "Needs the operator role",
  owner: "Needs the owner role",
};

export const EMPTY = {
  live: {
    title: "No logins yet",
    next: "Point a RADIUS client at this gateway, or play one from a terminal:",
  },
  filtered: { title: "No login matches", next: "Nothing among the newest logins fits these filters." },
  approvals: {
    title: "Nobody is waiting for a phone",
    next: "A login that asks a phone stands here until it is answered.",
  },
  outbox: {
    title: "No messages",
    next: "Texts and calls that logins ask for stand here instead of being sent.",
  },
} as const;
export const TRY_COMMAND = "deno task try";
