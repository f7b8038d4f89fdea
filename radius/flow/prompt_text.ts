// Fills a prompt and cuts it into Reply-Message values of at most 253 octets, at line breaks where that can be.

import { MAX_VALUE_OCTETS } from "../protocol/codes.ts";
import { type Factor, FACTORS } from "./factors.ts";
import { type Prompt, PROMPTS } from "./prompts.ts";
import { maskPhoneNumber } from "../../platform/phone_number.ts";

export interface PromptContext {
  readonly enabled: ReadonlySet<Factor>;
  /** Two digits to be typed on the phone, or `null`. */
  readonly numberToMatch: string | null;
  /** Numbers to choose from; shown masked. */
  readonly numbers: readonly string[];
}

const FILLED = new Map<Prompt, string>();
let menuFor: ReadonlySet<Factor> | null = null;

/** The text of a prompt. */
export function renderPrompt(prompt: Prompt, context: PromptContext): string {
  const { text } = PROMPTS[prompt];
  if (!text.includes("{")) return text;
  const plainMenu = context.numberToMatch === null && context.numbers.length === 0;
  if (plainMenu) {
    if (menuFor !== context.enabled) {
      FILLED.clear();
      menuFor = context.enabled;
    }
    const known = FILLED.get(prompt);
    if (known !== undefined) return known;
  }
  const filled = text
    .replace("{menu}", () => menuLines(context.enabled))
    .replace("{letters}", () => shortMenu(context.enabled))
    .replace(
      "{number}",
      () => context.numberToMatch === null ? "" : ` with the number ${context.numberToMatch}`,
    )
    .replace(
      "{numbers}",
      () => context.numbers.map((number, i) => `${i + 1}: ${maskPhoneNumber(number)}`).join("\n"),
    );
  if (plainMenu) FILLED.set(prompt, filled);
  return filled;
}

type MenuRow = readonly [factor: string, row: { letter: string; label: string; short: string }];

function menuRows(enabled: ReadonlySet<Factor>): readonly MenuRow[] {
  return Object.entries(FACTORS)
    .filter(([factor]) => enabled.has(factor as Factor) || (factor === "totp" && enabled.has("device")));
}

function menuLines(enabled: ReadonlySet<Factor>): string {
  return menuRows(enabled).map(([, { letter, label }]) => `${letter} - ${label}`).join("\n");
}

function shortMenu(enabled: ReadonlySet<Factor>): string {
  return menuRows(enabled).map(([, { letter, short }]) => `${letter} ${short}`).join(", ");
}

const utf8 = new TextEncoder();

/**
 * Cuts a text into Reply-Message values (RFC 2865 §5.18) of at most 253 octets: at a line break, else between characters.
 */
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
