// How a state of a login looks and what it is called; the words themselves stand in the live board's words.

import type { Step } from "../../radius/protocol/steps.ts";
import { t } from "./i18n/translate.ts";
import type { MessageKey } from "./i18n/catalogue.ts";

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

export interface StateLook {
  readonly tone: Tone;
  readonly shape: Shape;
}

export interface StateWords extends StateLook {
  readonly label: string;
}

const START: StateLook = { tone: "idle", shape: "door" };

const STEP_LOOKS: Readonly<Record<Step, StateLook>> = {
  CHOOSE_WHICH_MULTIFACTOR: { tone: "challenge", shape: "diamond" },
  SECONDFACTOR_GET_PAIRING_PHRASE: { tone: "wait", shape: "link" },
  SECONDFACTOR_AWAIT_PAIRING_APPROVAL: { tone: "wait", shape: "link" },
  SECONDFACTOR_AWAIT_DEVICE_APPROVAL: { tone: "wait", shape: "phone" },
  GET_SMS_PHONE_NUMBER: { tone: "wait", shape: "text" },
  VERIFY_SMS_PHONE_NUMBER: { tone: "wait", shape: "text" },
  AWAIT_SMS_DELIVERED_PASSCODE: { tone: "wait", shape: "text" },
  GET_VOICE_PHONE_NUMBER: { tone: "wait", shape: "call" },
  VERIFY_VOICE_PHONE_NUMBER: { tone: "wait", shape: "call" },
  AWAIT_VOICE_DELIVERED_PASSCODE: { tone: "wait", shape: "call" },
  GET_DEVICE_GENERATED_PASSCODE: { tone: "challenge", shape: "key" },
};
/** Passages of the server, by the step that they lead to. */
const PASSAGE_STEPS: Readonly<Record<string, Step>> = {
  pushing: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  holding: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  asking: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  pairing: "SECONDFACTOR_GET_PAIRING_PHRASE",
  asking_pairing: "SECONDFACTOR_AWAIT_PAIRING_APPROVAL",
  texting: "AWAIT_SMS_DELIVERED_PASSCODE",
  texting_typed: "VERIFY_SMS_PHONE_NUMBER",
  calling: "AWAIT_VOICE_DELIVERED_PASSCODE",
  calling_typed: "VERIFY_VOICE_PHONE_NUMBER",
  pushing_for_code: "GET_DEVICE_GENERATED_PASSCODE",
  code: "GET_DEVICE_GENERATED_PASSCODE",
  asking_otp: "GET_DEVICE_GENERATED_PASSCODE",
};
const steps = new Map<string, Step>([
  ...Object.keys(STEP_LOOKS).map((step) => [step, step as Step] as const),
  ...Object.entries(PASSAGE_STEPS),
]);
export const STEP_NAMES = Object.keys(STEP_LOOKS) as readonly Step[];

const OUTCOME_LOOKS = {
  accepted: { tone: "ok", shape: "check" },
  rejected: { tone: "bad", shape: "cross" },
  expired: { tone: "idle", shape: "clock" },
  cancelled: { tone: "idle", shape: "ring" },
  superseded: { tone: "idle", shape: "ring" },
} as const satisfies Record<string, StateLook>;
export type OutcomeName = keyof typeof OUTCOME_LOOKS;
export const OUTCOME_NAMES = Object.keys(OUTCOME_LOOKS) as readonly OutcomeName[];
const outcomes = new Map<string, OutcomeName>([
  ...OUTCOME_NAMES.map((name) => [name, name] as const),
  ["accept", "accepted"],
  ["reject", "rejected"],
  ["cancel", "cancelled"],
]);

/** The step that a place of the gateway's table belongs to; `start` for those before the first step. */
export function nodeOf(place: string): Step | "start" {
  return steps.get(place) ?? "start";
}

/** A word if there is one, else the name made readable: the server may be newer than this page. */
export function wordOr(key: string, name: string): string {
  const word = t(key as MessageKey);
  return word === key ? readable(name) : word;
}

/** A step in words. */
export function stepLabel(place: string): string {
  const node = nodeOf(place);
  if (node === "start" && place !== "start") return wordOr(`live.place_${place}`, place);
  return wordOr(`live.step_${node}`, place);
}

export function outcomeWords(name: OutcomeName): StateWords {
  return { ...OUTCOME_LOOKS[name], label: t(`live.${name}`) };
}

/** A node of the picture, in as few words as it has room for. */
export function nodeWords(node: Step | "start"): StateWords {
  return { ...(node === "start" ? START : STEP_LOOKS[node]), label: t(`live.node_${node}`) };
}

/** Where a conversation stands or how it ended. */
export function stateWords(view: { step: string; outcome: OutcomeName | null }): StateWords {
  if (view.outcome !== null) return outcomeWords(view.outcome);
  return { ...nodeWords(nodeOf(view.step)), label: stepLabel(view.step) };
}

/** What the name of a moment's step looks like: an end, or a step on the way. */
export function momentWords(step: string): StateWords {
  const end = outcomes.get(step.toLowerCase());
  return end !== undefined ? outcomeWords(end) : { ...nodeWords(nodeOf(step)), label: stepLabel(step) };
}

/** The node of the picture that a moment reached: a step, an end, or the start. */
export function placeName(step: string): string {
  return outcomes.get(step.toLowerCase()) ?? nodeOf(step);
}

/** `push_denied` and `pushDenied` become "Push denied". */
export function readable(name: string): string {
  const words = name.replace(/[_:.-]+/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2").trim().toLowerCase();
  return words === "" ? "?" : words.charAt(0).toUpperCase() + words.slice(1);
}

const TRY_COMMAND = "deno task try";

/** The command that plays a login on this machine. @param at `host` or `host:port`. */
export function tryCommand({ at, user }: { at: string; user: string | null }): string {
  const name = user === null
    ? "NAME"
    : /^[\w.@+-]+$/.test(user)
    ? user
    : `'${user.replaceAll("'", `'\\''`)}'`;
  return `${TRY_COMMAND} ${at} --user ${name}`;
}
