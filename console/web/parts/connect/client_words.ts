// The words of the settings of a RADIUS client: labels, values, and the fields of the form.

import { clientSetting, type ConsoleSetting } from "../../../../platform/client_values.ts";
import { type ClientDraft, usedValue } from "../../models/client_form.ts";
import { t } from "../../i18n/translate.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import type { FieldRow } from "../fields.tsx";

const labelKey = (name: ConsoleSetting) => clientSetting(name).console?.label as MessageKey;

export function settingLabel(name: ConsoleSetting): string {
  return t(labelKey(name));
}

/** The value of a field; `null` where it is empty or has no effect. */
export function settingText(draft: ClientDraft, name: ConsoleSetting): string | null {
  const value = usedValue(draft, name);
  return value === null || value === "" ? null : valueText(name, value) || null;
}

function valueText(name: ConsoleSetting, value: unknown): string {
  const { type } = clientSetting(name);
  if (Array.isArray(value)) return value.join(", ");
  if (type === "boolean") return t(value === true ? "connect.yes" : "connect.no");
  if (type === "milliseconds") return t("connect.seconds", { count: Number(value) / 1000 });
  return type === "choice" ? t(`${labelKey(name)}_${value}` as MessageKey) : String(value);
}

/** Whether the value is shown as it was typed, not as words. */
export function isVerbatim(name: ConsoleSetting): boolean {
  return !["boolean", "choice", "milliseconds"].includes(clientSetting(name).type);
}

/** The field of a setting in the form. */
export function clientField(name: ConsoleSetting): FieldRow<ClientDraft> {
  const { choices, console } = clientSetting(name);
  const label = console?.question ?? labelKey(name);
  const offered = console?.choices ?? choices;
  return {
    name,
    label,
    ...(console?.hasHint ? { hint: `${label}_hint` } : {}),
    ...(offered ? { choices: offered, sayChoice: (value: unknown) => valueText(name, value) } : {}),
    ...(clientSetting(name).type === "ranges" ? { lines: 2 } : {}),
    input: inputOf(name),
  } as FieldRow<ClientDraft>;
}

function inputOf(name: ConsoleSetting): FieldRow<ClientDraft>["input"] {
  const { type, max, example, console } = clientSetting(name);
  if (type === "ranges") return { required: true };
  if (type === "peer") return { required: true, maxLength: 260, placeholder: String(example) };
  if (type === "secret") return { type: "password", maxLength: 128 };
  if (type === "separator") return { maxLength: 1 };
  return type === "text" ? { maxLength: console?.max ?? max ?? 256 } : {};
}
