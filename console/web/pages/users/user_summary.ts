// The summary of a user for the header and the overview: names, initials, and the default factor.

import type { Factor } from "../../../../radius/flow/context.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import type { DeviceRow } from "../../../api/groups/group_types.ts";
import { fullTimeText } from "../../app/format.ts";
import { t } from "../../i18n/translate.ts";
import type { PairingView, UserLoginView } from "../../../api/users/user_types.ts";

/** The display name of a user, else the full name; "" without one. */
export function userDisplayName({ displayName, name }: JsonObject): string {
  const shown = textOf(displayName);
  if (shown !== "") return shown;
  const names: JsonObject = typeof name === "object" && name !== null && !Array.isArray(name)
    ? name as JsonObject
    : {};
  const formatted = textOf(names.formatted);
  return formatted !== "" ? formatted : `${textOf(names.givenName)} ${textOf(names.familyName)}`.trim();
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value.trim() : "";
}

/** The first letters of the first and the last word. */
export function initialsOf(name: string): string {
  const letters = name.split(/[\s._@-]+/).flatMap((word) => /[\p{L}\p{N}]/u.exec(word)?.[0] ?? []);
  const [first = "?"] = letters;
  const last = letters.length > 1 ? letters.at(-1) ?? "" : "";
  return (first + last).toUpperCase();
}

/** The name or number of a factor; without one, when it was added. */
export function calledOf(
  { kind, name, number, createdMs }: Pick<PairingView, "kind" | "name" | "number" | "createdMs">,
): string {
  const time = fullTimeText(createdMs);
  return name ?? number ?? t(kind === "device" ? "common.phone_unnamed" : "common.factor_unnamed", { time });
}

/** The name of a row of Authenticators: its number, the name of the phone, or when the phone was paired. "" for an authenticator app. */
export function deviceCalled({ kind, phone, number, createdMs }: DeviceRow): string {
  if (phone === "") return calledOf({ kind, createdMs });
  return number ?? phone ?? "";
}

/** Without a preference, the gateway tries the factors in this order. */
const FACTOR_ORDER: readonly Factor[] = ["device", "sms", "voice", "totp"];

/** The factor that a sign-in tries first; `null` without a paired or verified factor. */
export function defaultFactor(
  { preferred, pairings, tokens = [], enabled }: Pick<
    UserLoginView,
    "preferred" | "pairings" | "tokens" | "enabled"
  >,
): { readonly factor: Factor; readonly isAutomatic: boolean } | null {
  const isUsable = (factor: Factor) =>
    enabled.includes(factor) &&
    (pairings.some(({ kind }) => kind === factor) ||
      (factor === "totp" && tokens.some(({ state }) => state === "assigned")));
  if (preferred !== null && isUsable(preferred)) return { factor: preferred, isAutomatic: false };
  const factor = FACTOR_ORDER.find(isUsable);
  return factor === undefined ? null : { factor, isAutomatic: true };
}

/** How many factors the user has, those of the directory included. */
export function factorCount({ pairings, directoryNumbers, tokens = [] }: UserLoginView): number {
  return pairings.length + directoryNumbers.length + tokens.length;
}
