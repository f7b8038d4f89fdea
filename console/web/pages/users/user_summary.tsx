// What the pages show of a user: names and initials, attribute values, the default factor, and the verified caller.

import type { Factor } from "../../../../radius/flow/context.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import type { DeviceRow } from "../../../api/groups/group_types.ts";
import type { PairingView, UserLoginView } from "../../../api/users/user_types.ts";
import { fullTimeText } from "../../app/format.ts";
import { Icon } from "../../components/icons.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import type { FactorPart } from "./user_page_model.ts";

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

/** Any value as one line. */
export function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(valueText).filter((one) => one !== "").join(", ");
  if (!isObjectValue(value)) return String(value);
  const named = Object.entries(value).map(([name, one]) => [name, valueText(one)] as const)
    .filter(([, text]) => text !== "");
  const main = named.find(([name]) => name === "value");
  if (main !== undefined) {
    const type = named.find(([name]) => name === "type");
    return type === undefined ? main[1] : `${main[1]} (${type[1]})`;
  }
  return named.map(([name, text]) => `${name}: ${text}`).join(", ");
}

export function isObjectValue(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** "Verified by hugo 20 sec ago": on the user page and in the dialogs of the help desk, while the result counts. */
export function VerifiedCaller({ models, login: { verified } }: Pick<FactorPart, "models" | "login">) {
  if (verified === null || verified.untilMs <= models.clock.nowMs.value) return null;
  return (
    <p class="verified-caller tone-ok" role="status">
      <Icon name="line-check" size={14} />
      {t("users.verified_by", { name: verified.by })} <Time models={models} atMs={verified.atMs} />
    </p>
  );
}
