// The form of a RADIUS client, by the rows of platform/client_settings.ts: its values as text, what differs, and two editors' changes merged.

import {
  clientSetting,
  CONSOLE_SETTINGS,
  type ConsoleSetting,
  type ConsoleValue,
  isSettingUsed,
  settingOf,
  settingsObject,
} from "../../../platform/client_values.ts";
import { type SocketAddress, socketAddressText } from "../../../platform/socket_address.ts";
import type { ClientRow } from "../../api/clients/client_types.ts";
import type { ClientForm } from "./connect_calls.ts";

/** What the form holds while it is open. Addresses and lists are text; an empty secret keeps the stored one. */
export type ClientDraft = {
  readonly [K in ConsoleSetting]: ConsoleValue<K> extends string | number | boolean ? ConsoleValue<K>
    : string;
};

const isForEdit = (name: ConsoleSetting) => clientSetting(name).console?.isForEdit === true;

/** The fields that only the form of an existing client has. */
export const EDIT_FIELDS: readonly ConsoleSetting[] = CONSOLE_SETTINGS.filter(isForEdit);
/** In the order of the form. */
export const CLIENT_FIELDS: readonly ConsoleSetting[] = [
  ...CONSOLE_SETTINGS.filter((name) => !isForEdit(name)),
  ...EDIT_FIELDS,
];

export const NEW_DRAFT: ClientDraft = draftWith((name) => {
  const { default: preset, console } = clientSetting(name);
  return console?.initial ?? preset;
});

export function draftOf(client: ClientRow): ClientDraft {
  return draftWith((name) =>
    clientSetting(name).type === "secret" ? "" : settingOf(client, name) ?? NEW_DRAFT[name]
  );
}

function draftWith(valueOf: (name: ConsoleSetting) => unknown): ClientDraft {
  return Object.fromEntries(CONSOLE_SETTINGS.map((name) => [name, fieldValue(name, valueOf(name))])) as
    & ClientDraft
    & Record<string, unknown>;
}

function fieldValue(name: ConsoleSetting, value: unknown): unknown {
  if (Array.isArray(value)) return value.join(clientSetting(name).type === "ranges" ? "\n" : " ");
  return typeof value === "object" ? socketAddressText(value as SocketAddress) : value;
}

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((one) => one !== "");

/** What the API takes. What belongs to another first factor is left out. */
export function toClientRequest(draft: ClientDraft): ClientForm {
  return settingsObject(CONSOLE_SETTINGS, (name) => {
    const { usedWhen, default: preset } = clientSetting(name);
    if (usedWhen?.setting !== "firstFactor" || isUsed(draft, name)) return requestValue(draft, name);
    return name.includes(".") ? undefined : preset;
  }) as unknown as ClientForm;
}

const isUsed = (draft: ClientDraft, name: ConsoleSetting) =>
  isSettingUsed(name, (other) => settingOf(draft, other));

function requestValue(draft: ClientDraft, name: ConsoleSetting): unknown {
  const { type, default: preset } = clientSetting(name);
  const value = draft[name];
  if (type === "ranges" || type === "domains" || type === "realms") return wordsOf(String(value));
  if (type === "peer") return String(value).trim();
  if (type === "separator") return String(value).trim() || preset;
  return type === "secret" && value === "" ? undefined : value;
}

/** The value of a field as the API takes it; `null` where it has no effect. */
export function usedValue(draft: ClientDraft, name: ConsoleSetting): unknown {
  return isUsed(draft, name) ? requestValue(draft, name) ?? null : null;
}

/** The fields that differ between two drafts, in the order of the form. Secrets cannot be compared. */
export function changedSettings(a: ClientDraft, b: ClientDraft): ConsoleSetting[] {
  return CLIENT_FIELDS.filter((name) =>
    clientSetting(name).type !== "secret" && String(usedValue(a, name)) !== String(usedValue(b, name))
  );
}

/** Theirs, with what I changed on top. */
export function mergeDrafts(
  { base, mine, theirs }: { base: ClientDraft; mine: ClientDraft; theirs: ClientDraft },
): ClientDraft {
  const own = [...changedSettings(base, mine), "firstFactorServer.secret" as const];
  return { ...theirs, ...Object.fromEntries(own.map((name) => [name, mine[name]])) };
}
