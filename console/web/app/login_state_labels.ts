// Labels, colours and shapes of the states of a login. The texts are in the areas `login` and `explain`.

import { clientText } from "../components/client_text.ts";
import type { Step } from "../../../radius/protocol/steps.ts";
import { findMessage, t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import type { Explanation } from "../../api/conversations/explain_login.ts";
import { timeText } from "./format.ts";

/** The style of a state: a colour, and a shape for users who cannot see the colour. */
export type Tone = "ok" | "wait" | "bad" | "challenge" | "idle";
type StateShape =
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

export interface StateStyle {
  readonly tone: Tone;
  readonly shape: StateShape;
}

export interface StateLabel extends StateStyle {
  readonly label: string;
}

const START: StateStyle = { tone: "idle", shape: "door" };

const STEP_STYLES: Readonly<Record<Step, StateStyle>> = {
  FIRSTFACTOR_GET_ANSWER: { tone: "challenge", shape: "key" },
  FIRSTFACTOR_GET_NEW_PASSWORD: { tone: "challenge", shape: "key" },
  FIRSTFACTOR_REPEAT_NEW_PASSWORD: { tone: "challenge", shape: "key" },
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
/** Internal steps of the gateway, and the step that each one leads to. */
const INTERNAL_STEPS: Readonly<Record<string, Step>> = {
  changing_password: "FIRSTFACTOR_GET_NEW_PASSWORD",
  pushing: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  holding: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  asking: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  decided: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
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
  ...Object.keys(STEP_STYLES).map((step) => [step, step as Step] as const),
  ...Object.entries(INTERNAL_STEPS),
]);
export const STEP_NAMES = Object.keys(STEP_STYLES) as readonly Step[];

const OUTCOME_STYLES = {
  accepted: { tone: "ok", shape: "check" },
  rejected: { tone: "bad", shape: "cross" },
  expired: { tone: "idle", shape: "clock" },
  cancelled: { tone: "idle", shape: "ring" },
  superseded: { tone: "idle", shape: "ring" },
} as const satisfies Record<string, StateStyle>;
export type OutcomeName = keyof typeof OUTCOME_STYLES;
export const OUTCOME_NAMES = Object.keys(OUTCOME_STYLES) as readonly OutcomeName[];
const outcomes = new Map<string, OutcomeName>([
  ...OUTCOME_NAMES.map((name) => [name, name] as const),
  ["accept", "accepted"],
  ["reject", "rejected"],
  ["cancel", "cancelled"],
]);

/** The step that an entry of the gateway's table belongs to; `start` before the first step. */
export function findNode(place: string): Step | "start" {
  return steps.get(place) ?? "start";
}

/** The translated name, or a readable form of the name: the server may be newer than this page. */
export function messageOrName(key: string, name: string): string {
  const word = t(key as MessageKey);
  return word === key ? toReadableName(name) : word;
}

/** The label of a step. */
export function stepLabel(place: string): string {
  const node = findNode(place);
  if (node === "start" && place !== "start") return messageOrName(`login.place_${place}`, place);
  return messageOrName(`login.step_${node}`, place);
}

export function outcomeLabel(name: OutcomeName): StateLabel {
  return { ...OUTCOME_STYLES[name], label: t(`login.${name}`) };
}

/** The short label of a node of the diagram. */
export function nodeLabel(node: Step | "start"): StateLabel {
  return { ...(node === "start" ? START : STEP_STYLES[node]), label: t(`login.node_${node}`) };
}

/** The label of the current step or the outcome of a conversation. */
export function stateLabel(view: { step: string; outcome: OutcomeName | null }): StateLabel {
  if (view.outcome !== null) return outcomeLabel(view.outcome);
  return { ...nodeLabel(findNode(view.step)), label: stepLabel(view.step) };
}

/** The style of an event of the timeline: an outcome or a step. */
export function momentLabel(step: string): StateLabel {
  const end = outcomes.get(step.toLowerCase());
  return end !== undefined ? outcomeLabel(end) : { ...nodeLabel(findNode(step)), label: stepLabel(step) };
}

/** The node of the diagram that an event reached: a step, an outcome, or the start. */
export function findMomentNode(step: string): string {
  return outcomes.get(step.toLowerCase()) ?? findNode(step);
}

/** `push_denied` and `pushDenied` become "Push denied". */
export function toReadableName(name: string): string {
  const words = name.replace(/[_:.-]+/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2").trim().toLowerCase();
  return words === "" ? "?" : words.charAt(0).toUpperCase() + words.slice(1);
}

/** While the server has not sent its command. */
const TRY_COMMAND = "deno task try 127.0.0.1";

/** The command that runs a test login. @param command without its options, as the server knows it. */
export function radtestCommand(
  { command = TRY_COMMAND, user, nasIdentifier = "" }: {
    command?: string | undefined;
    user: string | null;
    nasIdentifier?: string;
  },
): string {
  const nas = nasIdentifier === "" ? "" : ` --nas-identifier ${shellWord(nasIdentifier)}`;
  return `${command} --user ${user === null ? "NAME" : shellWord(user)}${nas}`;
}

function shellWord(text: string): string {
  return /^[\w.@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The reason in two or three words, for lists; the sentence if there is no short form. */
export function shortReasonText(reason: Pick<Explanation, "code" | "values">): string {
  const key = `explain.short_${reason.code}`;
  return findMessage(key) === null ? reasonText(reason) : t(key as MessageKey, reason.values);
}

/** Why a login was refused or a packet dropped, as one sentence. */
export function reasonText({ code, values }: Pick<Explanation, "code" | "values">): string {
  const since = typeof values.sinceMs === "number" ? timeText(values.sinceMs) : "";
  return t(`explain.why_${code}`, { ...values, client: clientText(String(values.client ?? "")), since });
}
