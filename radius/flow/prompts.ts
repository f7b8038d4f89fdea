// The texts of Reply-Messages, with placeholders in braces that renderPrompt() fills. All except final ones end with the instruction for Cancel. A long
// text is split into Reply-Message values (RFC 2865 §5.18).

import { MAX_VALUE_OCTETS } from "../protocol/packet.ts";
import { type Factor, FACTORS } from "./context.ts";
import { maskPhoneNumber } from "../../platform/phone_number.ts";

/** Ends with a blank, because some clients show the input directly after it. */
const CANCEL = "Type cancel to start over. ";

/** `final`: the text of an Accept or a Reject, which the user does not answer. `secret`: the answer is a code, which the client should not show. */
// deno-fmt-ignore
export const PROMPTS = {
  menu: { text: `Choose a second factor:\n{menu}\n${CANCEL}` },
  short_menu: { text: `{letters}\n${CANCEL}` },
  approve_on_device: { text: `Authorize this login on your device{number}, then press continue or type ok.\n${CANCEL}` },
  approve_on_phone: { text: `Authorize this login on {phone}{number}, then press continue or type ok. To use another phone, type its digit.\n{phones}\n${CANCEL}` },
  still_waiting_for_phone: { text: `Still waiting for {phone}{number}. Authorize there, then press continue or type ok. To use another phone, type its digit.\n{phones}\n${CANCEL}` },
  push_unsent_to_phone: { text: `The approval request could not be sent to {phone}. To use another phone, type its digit. Type cancel to choose another factor.\n{phones}\n${CANCEL}` },
  no_push_to_other_phone: { text: `Too many approval requests were sent lately. Authorize this login on {phone}{number}, then press continue or type ok.\n${CANCEL}` },
  push_unsent: { text: `The approval request could not be sent to your device. Type cancel to choose another factor.\n${CANCEL}` },
  still_waiting: { text: `Still waiting for your device{number}. Authorize there, then press continue or type ok.\n${CANCEL}` },
  service_down: { text: `The approval cannot be checked right now. Press continue or type ok to try again.\n${CANCEL}` },
  too_many_pushes: { text: `Too many approval requests were sent lately. Choose another factor:\n{menu}\n${CANCEL}` },
  no_device: { text: `No device is paired with your name. Choose another factor:\n{menu}\n${CANCEL}` },
  no_device_code: { text: `No device of yours generates passcodes. Choose another factor:\n{menu}\n${CANCEL}` },
  code_not_possible: { text: `A device passcode cannot be checked right now. Choose another factor:\n{menu}\n${CANCEL}` },
  text_not_sent: { text: `The text message could not be sent. Choose another factor:\n{menu}\n${CANCEL}` },
  ask_phrase: { text: `Enter the pairing phrase that your phone shows.\n${CANCEL}` },
  unknown_phrase: { text: `That pairing phrase is not known. Enter the phrase that your phone shows.\n${CANCEL}` },
  phrase_not_checked: { text: `The phrase cannot be checked right now. Enter the pairing phrase again.\n${CANCEL}` },
  confirm_pairing: { text: `Confirm the pairing on your phone, then press continue or type ok.\n${CANCEL}` },
  pairing_still_pending: { text: `The pairing is not confirmed yet. Confirm it on your phone, then press continue or type ok.\n${CANCEL}` },
  pairing_not_checked: { text: `The pairing cannot be checked right now. Press continue or type ok to try again.\n${CANCEL}` },
  ask_sms_number: { text: `Enter an SMS-capable phone number prefixed with + and the country code, with no dashes.\n${CANCEL}` },
  which_sms_number: { text: `Text which number? Enter its line number.\n{numbers}\n${CANCEL}` },
  ask_voice_number: { text: `Enter a phone number prefixed with + and the country code, with no dashes.\n${CANCEL}` },
  which_voice_number: { text: `Call which number? Enter its line number.\n{numbers}\n${CANCEL}` },
  enter_texted_code: { text: `Enter the passcode from the text message.\n${CANCEL}`, secret: true },
  enter_spoken_code: { text: `Enter the passcode conveyed by voice.\n${CANCEL}`, secret: true },
  ask_device_code: { text: `Enter the passcode that your device generates.\n${CANCEL}`, secret: true },
  first_factor_asks: { text: `{question}\n${CANCEL}`, secret: true },
  code_not_checked: { text: `The passcode cannot be checked right now. Enter a new one in a moment.\n${CANCEL}`, secret: true },
  ask_new_password: { text: `Your password has expired. Enter a new password.\n${CANCEL}`, secret: true },
  ask_new_password_again: { text: `Enter the new password again.\n${CANCEL}`, secret: true },
  new_passwords_differ: { text: `The two passwords were not the same. Enter a new password.\n${CANCEL}`, secret: true },
  new_password_refused: { text: `The new password is not allowed: it may be too short, too simple, or used before. Enter another one.\n${CANCEL}`, secret: true },

  accepted: { text: "Welcome.", final: true },
  denied: { text: "Access denied.", final: true },
  password_over: { text: "Your password has expired. Change it, then sign in again.", final: true },
  password_not_changed: { text: "Your password could not be changed now. Sign in again with the old password, or with the new one.", final: true },
  needs_device: { text: "This login needs your phone, and none is paired with your name. Pair one on your account page, or ask your administrator.", final: true },
  needs_sms: { text: "This login needs a text message, and no phone number of yours is known. Ask your administrator to add it.", final: true },
  needs_voice: { text: "This login needs a phone call, and no phone number of yours is known. Ask your administrator to add it.", final: true },
  needs_totp: { text: "This login needs an authenticator app, and you have none. Add one on your account page, or ask your administrator.", final: true },
  enrol_first: { text: "Set up a second factor first: open the link in your invitation.{help}", final: true },
  not_given: { text: "Device approval was not given.", final: true },
  mismatch: { text: "The submitted passcode does not match.", final: true },
  pairing_denied: { text: "The pairing was not confirmed.", final: true },
  passcode_sent: { text: "A passcode was sent. Sign in again with your password{separator}passcode.", final: true },
  gone: { text: "This login is over. Start a new one.", final: true },
  unknown_state: { text: "This login is not known here. Start a new one.", final: true },
  not_supported: { text: "This way of signing in is not supported here.", final: true },
} as const satisfies Record<string, { text: string; final?: true; secret?: true }>;

export type Prompt = keyof typeof PROMPTS;

/** Whether the answer to a prompt is a code. */
export function isSecretPrompt(prompt: Prompt): boolean {
  return "secret" in PROMPTS[prompt];
}

export interface PromptContext {
  /** The factors that the user can choose. */
  readonly menu: ReadonlySet<Factor>;
  /** Two digits that the user types on the phone, or `null`. */
  readonly numberToMatch: string | null;
  /** Numbers that the user can choose; shown masked. */
  readonly numbers: readonly string[];
  /** The phones of a user who has several. */
  readonly phones?: readonly OfferedPhone[];
  /** Whom the user asks for help. Absent: such a prompt says nothing about it. */
  readonly helpText?: string;
  /** The separator of append mode. */
  readonly separator?: string;
  /** What the first-factor server asks. */
  readonly question?: string;
}

export interface OfferedPhone {
  /** What the user types to choose it. */
  readonly digit: string;
  readonly name: string;
  /** Whether the current request waits on it. */
  readonly isAsked: boolean;
}

/** Texts with a menu, by the menu. Each policy has one. */
const FILLED = new WeakMap<ReadonlySet<Factor>, Map<Prompt, string>>();

/** The text of a prompt. */
export function renderPrompt(prompt: Prompt, context: PromptContext): string {
  const { text } = PROMPTS[prompt];
  if (!text.includes("{")) return text;
  const { phones = [], helpText = "", separator = "", question = "" } = context;
  const plainMenu = context.numberToMatch === null && context.numbers.length === 0 && phones.length === 0 &&
    helpText === "" && separator === "" && question === "";
  if (plainMenu) {
    const known = FILLED.get(context.menu)?.get(prompt);
    if (known !== undefined) return known;
  }
  const filled = text
    .replace("{menu}", () => menuLines(context.menu))
    .replace("{help}", () => helpText === "" ? "" : ` ${helpText}`)
    .replace("{separator}", () => separator)
    .replace("{letters}", () => shortMenu(context.menu))
    .replace("{phone}", () => phones.find(({ isAsked }) => isAsked)?.name ?? "your device")
    .replace("{phones}", () => phoneLines(phones))
    .replace(
      "{number}",
      () => context.numberToMatch === null ? "" : ` with the number ${context.numberToMatch}`,
    )
    .replace(
      "{numbers}",
      () => context.numbers.map((number, i) => `${i + 1}: ${maskPhoneNumber(number)}`).join("\n"),
    )
    // Last, because another server wrote it.
    .replace("{question}", () => question);
  if (plainMenu) {
    const texts = FILLED.get(context.menu) ?? new Map<Prompt, string>();
    FILLED.set(context.menu, texts.set(prompt, filled));
  }
  return filled;
}

type MenuRow = readonly [factor: string, row: { letter: string; label: string; short: string }];

function menuRows(menu: ReadonlySet<Factor>): readonly MenuRow[] {
  return Object.entries(FACTORS).filter(([factor]) => menu.has(factor as Factor));
}

function menuLines(menu: ReadonlySet<Factor>): string {
  return menuRows(menu).map(([, { letter, label }]) => `${letter} - ${label}`).join("\n");
}

/** The phones that the user can choose instead. */
function phoneLines(phones: readonly OfferedPhone[]): string {
  return phones.filter(({ isAsked }) => !isAsked).map(({ digit, name }) => `${digit} - ${name}`).join("\n");
}

function shortMenu(menu: ReadonlySet<Factor>): string {
  return menuRows(menu).map(([, { letter, short }]) => `${letter} ${short}`).join(", ");
}

const utf8 = new TextEncoder();

/** Splits a text into Reply-Message values (RFC 2865 §5.18) of at most 253 octets: at a line break, otherwise between characters. */
export function splitReplyMessage(text: string): Uint8Array<ArrayBuffer>[] {
  const whole = utf8.encode(text);
  if (whole.length <= MAX_VALUE_OCTETS) return whole.length === 0 ? [] : [whole];
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  while (at < whole.length) {
    let end = Math.min(at + MAX_VALUE_OCTETS, whole.length);
    if (end < whole.length) end = cutAt(whole, at, end);
    parts.push(whole.slice(at, end));
    at = end;
  }
  return parts;
}

function cutAt(octets: Uint8Array, from: number, end: number): number {
  const lineBreak = octets.lastIndexOf(0x0a, end - 1);
  if (lineBreak >= from) return lineBreak + 1;
  let cut = end;
  while (cut > from + 1 && ((octets[cut] as number) & 0xc0) === 0x80) cut--;
  return cut;
}
