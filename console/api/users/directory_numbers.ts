// Phone numbers of the directory that work as a second factor: T and P of the login menu use them, although they are not verified.

import { isCountryAllowed, maskPhoneNumber, reducePhoneNumber } from "../../../platform/phone_number.ts";
import type { Pairing } from "../../../radius/factors/pairing.ts";
import type { Content, JsonValue } from "../../../scim/schema/resource.ts";
import type { People } from "./user_deps.ts";
import type { DirectoryNumberView } from "./user_types.ts";

/** The gateway offers so many numbers of a kind, verified ones first. */
const MAX_OFFERED = 9;
const KINDS = ["sms", "voice"] as const;

/** The numbers of a user that the login menu offers and that are not verified, each with its kinds. */
export function directoryNumbers(
  { factors }: Pick<People, "factors">,
  { content, pairings }: { content: Content; pairings: readonly Pairing[] },
): DirectoryNumberView[] {
  const kinds = KINDS.filter((kind) => factors.enabled.includes(kind));
  if (kinds.length === 0) return [];
  const numbers = numbersOf(content).filter((number) => isCountryAllowed(number, factors.countryCodes));
  const offered = new Map<string, ("sms" | "voice")[]>();
  for (const kind of kinds) {
    const verified = pairings.flatMap((pairing) => pairing.kind === kind ? [pairing.number] : []);
    const free = Math.max(0, MAX_OFFERED - verified.length);
    for (const number of numbers.filter((one) => !verified.includes(one)).slice(0, free)) {
      offered.set(number, [...offered.get(number) ?? [], kind]);
    }
  }
  return [...offered].map(([number, kinds]) => ({ number: maskPhoneNumber(number), kinds }));
}

/** All numbers of a user: those of the pairings, and those of the directory. */
export function ownNumbers(
  { content, pairings }: { content: Content | null; pairings: readonly Pairing[] },
): readonly string[] {
  const paired = pairings.flatMap((pairing) => "number" in pairing ? [pairing.number] : []);
  return [...new Set([...paired, ...(content === null ? [] : numbersOf(content))])];
}

/** `phoneNumbers[].value` that can be dialled, each once. */
function numbersOf({ attributes: { phoneNumbers } }: Content): string[] {
  const values = Array.isArray(phoneNumbers) ? phoneNumbers.map(valueOf) : [];
  return [...new Set(values.flatMap((value) => reducePhoneNumber(value) ?? []))];
}

function valueOf(entry: JsonValue): string {
  if (typeof entry === "string") return entry;
  const value = typeof entry === "object" && entry !== null && "value" in entry ? entry.value : null;
  return typeof value === "string" ? value : "";
}
