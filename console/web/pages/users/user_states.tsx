// What several pages show of a user: names, initials, attributes, status, factors, connectors, and the verified caller.

import type { Factor } from "../../../../radius/flow/context.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import type { BackendMark, PairingView, UserLoginView } from "../../../api/users/user_types.ts";
import type { DeviceRow } from "../../../api/groups/group_types.ts";
import { findMessage, t } from "../../i18n/translate.ts";
import type { StateLabel } from "../../app/login_state_labels.ts";
import { Icon } from "../../components/icons.tsx";
import { Chip, StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { fullTimeText } from "../../app/format.ts";
import type { FactorPart } from "./user_page_model.ts";

/** "Locked" comes before "inactive", because an administrator has to undo it. */
export function userState({ active, locked }: { active: boolean; locked: boolean }): StateLabel {
  if (!active) return { label: t("users.status_inactive"), tone: "idle", shape: "ring" };
  if (locked) return { label: t("users.status_locked"), tone: "bad", shape: "cross" };
  return { label: t("users.status_active"), tone: "ok", shape: "check" };
}

export function factorLabel(factor: Factor): string {
  return t(`common.factor_${factor}`);
}

/** What a login used: a factor, a recovery code or a bypass code. */
export function usedFactorLabel(name: string): string {
  return findMessage(`common.factor_${name}`) ?? name;
}

const STATE_STYLES = {
  present: { tone: "ok", shape: "check" },
  pending: { tone: "wait", shape: "clock" },
  failed: { tone: "bad", shape: "cross" },
  vanished: { tone: "bad", shape: "cross" },
  differs: { tone: "wait", shape: "diamond" },
  absent: { tone: "idle", shape: "ring" },
} as const satisfies Record<string, Pick<StateLabel, "tone" | "shape">>;

const WORDS = {
  present: "users.sync_present",
  pending: "users.sync_pending",
  failed: "users.sync_failed",
  vanished: "users.sync_vanished",
  differs: "users.sync_differs",
  absent: "users.sync_absent",
} as const;

/** The state of a backend. A backend with different values or missing members is not "in sync". */
export function backendState(mark: Omit<BackendMark, "name"> | null): StateLabel {
  if (mark?.state === "present" && mark.notStored !== undefined) {
    return { ...STATE_STYLES.differs, label: t("common.not_stored", { count: mark.notStored }) };
  }
  const name = mark === null ? "absent" : mark.state === "present" && mark.differs ? "differs" : mark.state;
  return { ...STATE_STYLES[name], label: t(WORDS[name]) };
}

/** One label if all backends are in sync; otherwise a chip for each other backend. */
export function BackendMarks({ marks }: { marks: readonly BackendMark[] }) {
  const troubled = marks.filter(({ state, differs, notStored }) =>
    state !== "present" || differs || notStored !== undefined
  );
  if (marks.length === 0) return <span class="quiet">{t("common.none")}</span>;
  if (troubled.length === 0) return <StateText words={backendState({ state: "present", differs: false })} />;
  return (
    <span class="marks">
      {troubled.map((mark) => {
        const { label, ...look } = backendState(mark);
        return <Chip key={mark.name} words={{ ...look, label: `${mark.name}: ${label}` }} />;
      })}
    </span>
  );
}

// The summary of a user for the header and the overview: names, initials, and the default factor.

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

// Attribute values as texts.

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
