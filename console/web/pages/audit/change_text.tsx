// The change of an audit record as a small diff. If both sides have parts, only the parts that differ are shown.

import { AUDIT_DETAILS } from "../../../../platform/audit_actions.ts";
import type { AuditItem } from "../../../api/audit/audit_log.ts";
import { fullTimeText } from "../../app/format.ts";
import { toReadableName } from "../../app/login_state_labels.ts";
import { findMessage, t } from "../../i18n/translate.ts";

/** One changed part; an empty text for a missing value. */
interface ChangeRow {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** Labels of parts and of their values; `null` without a label. */
export interface ChangeLabels {
  part(name: string): string | null;
  value(name: string, value: string): string | null;
}

interface ChangeProps {
  readonly item: Pick<AuditItem, "before" | "after" | "details">;
  /** Labels besides those of the audit messages. */
  readonly labels?: ChangeLabels | undefined;
}

export function ChangeText({ item, labels }: ChangeProps) {
  const rows = changeRows(item);
  const { conversation, ...rest } = item.details;
  const details = Object.entries(rest).map(([name, value]) =>
    `${detailName(name)}: ${detailText(name, value)}`
  );
  return (
    <>
      {rows.length > 0 && (
        <ul class="change">
          {rows.map((row) => <Change key={row.name} row={row} labels={labels} />)}
        </ul>
      )}
      {details.length > 0 && <span class="quiet">{details.join(", ")}</span>}
      {conversation !== undefined && (
        <a class="change-link" href={`/live/c/${encodeURIComponent(conversation)}`}>
          {t("shell.conversation")}
        </a>
      )}
    </>
  );
}

/** The label of a detail; without a label, its name. */
function detailName(name: string): string {
  return findMessage(`audit.detail_${name}`) ?? toReadableName(name);
}

/** The value of a detail as text: times are formatted, codes have labels. */
function detailText(name: string, value: string): string {
  const type = (AUDIT_DETAILS as Readonly<Record<string, string>>)[name];
  if (type === "moment") return fullTimeText(Number(value));
  if (type === "yes") return t(value === "true" ? "common.yes" : "common.no");
  if (type === "row") return findMessage(`explain.row_${value}`) ?? toReadableName(value);
  if (type !== "code") return value;
  const textOf = (one: string) =>
    findMessage(name === "factor" ? `common.factor_${one}` : `audit.${name}_${one}`);
  return value.split(", ").map((one) => textOf(one) ?? toReadableName(one)).join(", ");
}

/** The label of a changed part. RADIUS attributes and their numbers keep their names. */
function partName(name: string, labels?: ChangeLabels): string {
  return findMessage(`audit.part_${name.replaceAll(".", "_")}`) ?? labels?.part(name) ??
    (/^[a-z]/.test(name) ? toReadableName(name) : name);
}

/** The label of a code, such as a role, a factor, or a secret that changed. */
function valueText(
  name: string,
  { value, labels }: { value: string; labels?: ChangeLabels | undefined },
): string {
  if (value === "locked" || value === "unlocked") return t(`audit.value_${value}`);
  if (value === "changed" || value === "********") return t("audit.value_changed");
  if (name === "role") {
    return findMessage(`common.role_${value}`) ?? (value === "none" ? t("audit.no_role") : value);
  }
  if (name === "decidedBy" || name === "access") return findMessage(`audit.${name}_${value}`) ?? value;
  if (value === "true") return t("common.yes");
  if (value === "false") return t("common.no");
  return labels?.value(name, value) ?? findMessage(`common.factor_${value}`) ?? value;
}

function Change({ row, labels }: { row: ChangeRow; labels: ChangeLabels | undefined }) {
  const { name, before, after } = row;
  const textOf = (value: string) => valueText(name, { value, labels });
  return (
    <li>
      {name !== "" && <span class="quiet">{`${partName(name, labels)}: `}</span>}
      {before !== "" && <del>{textOf(before)}</del>}
      {after === "" ? <span class="quiet">{` → ${t("audit.nothing")}`}</span> : <ins>{textOf(after)}</ins>}
    </li>
  );
}

/** The changed parts of a record; one row for a record without parts. */
export function changeRows({ before, after }: Pick<AuditItem, "before" | "after">): ChangeRow[] {
  if (before === "" && after === "") return [];
  const [was, is] = [partsOf(before), partsOf(after)];
  if ((was === null && before !== "") || (is === null && after !== "")) return [{ name: "", before, after }];
  const names = [...new Set([...Object.keys(was ?? {}), ...Object.keys(is ?? {})])];
  return names.map((name) => ({ name, before: was?.[name] ?? "", after: is?.[name] ?? "" }))
    .filter((row) => row.before !== row.after);
}

function partsOf(text: string): Record<string, string> | null {
  if (!text.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return null;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, partText(part)]));
  } catch (_cutOrNoJson) {
    return null;
  }
}

function partText(part: unknown): string {
  if (part === null || part === undefined) return "";
  if (Array.isArray(part)) return part.map(partText).join(", ");
  return typeof part === "object" ? JSON.stringify(part) : String(part);
}

/** An action without a label is shown by its name. */
export function auditActionLabel(action: string): string {
  const name = action.replaceAll(".", "_");
  return findMessage(`audit.event_${name}`) ?? toReadableName(name);
}
