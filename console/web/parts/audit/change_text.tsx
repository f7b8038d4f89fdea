// What a record says of before and after, as a small diff: the parts that differ where both are known part by part.

import type { AuditItem } from "../../../api/audit/audit_reader.ts";
import { AUDIT_DETAILS } from "../../../../platform/audit_actions.ts";
import { fullTimeText } from "../../format.ts";
import { readable } from "../../words.ts";
import { findMessage, t } from "../../i18n/translate.ts";

/** One thing that changed; "" for what was not there. */
interface ChangeRow {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

export function ChangeText({ item }: { item: Pick<AuditItem, "before" | "after" | "details"> }) {
  const rows = changeRows(item);
  const { conversation, ...rest } = item.details;
  const details = Object.entries(rest).map(([name, value]) =>
    `${detailName(name)}: ${detailText(name, value)}`
  );
  return (
    <>
      {rows.length > 0 && (
        <ul class="change">
          {rows.map((row) => <Change key={row.name} row={row} />)}
        </ul>
      )}
      {details.length > 0 && <span class="quiet">{details.join(", ")}</span>}
      {conversation !== undefined && (
        <a class="change-link" href={`/live/c/${encodeURIComponent(conversation)}`}>
          {t("frame.conversation")}
        </a>
      )}
    </>
  );
}

/** What a further field of a record is called; as the record has it where there is no word. */
function detailName(name: string): string {
  return findMessage(`govern.detail_${name}`) ?? readable(name);
}

/** The value of a detail as people read it: moments as times, codes by their labels. */
function detailText(name: string, value: string): string {
  const type = (AUDIT_DETAILS as Readonly<Record<string, string>>)[name];
  if (type === "moment") return fullTimeText(Number(value));
  if (type === "yes") return t(value === "true" ? "govern.yes" : "govern.no");
  if (type === "row") return readable(value);
  if (type !== "code") return value;
  return value.split(", ").map((one) => findMessage(`govern.${name}_${one}`) ?? readable(one)).join(", ");
}

/** A part of what changed. RADIUS attributes and numbers of attributes keep their names. */
function partName(name: string): string {
  const known = findMessage(`govern.part_${name.replaceAll(".", "_")}`);
  if (known !== null) return known;
  return /^[a-z]/.test(name) ? readable(name) : name;
}

/** The label of a value that is a code: a role, who decides, a factor, yes or no, or a secret that changed. */
function valueText(name: string, value: string): string {
  if (value === "changed" || value === "********") return t("govern.value_changed");
  if (name === "role") {
    return findMessage(`frame.role_${value}`) ?? (value === "none" ? t("govern.no_role") : value);
  }
  if (name === "decidedBy" || name === "access") return findMessage(`govern.${name}_${value}`) ?? value;
  if (value === "true") return t("govern.yes");
  if (value === "false") return t("govern.no");
  return findMessage(`govern.factor_${value}`) ?? value;
}

function Change({ row: { name, before, after } }: { row: ChangeRow }) {
  return (
    <li>
      {name !== "" && <span class="quiet">{`${partName(name)}: `}</span>}
      {before !== "" && <del>{valueText(name, before)}</del>}
      {after === ""
        ? <span class="quiet">{` → ${t("govern.nothing")}`}</span>
        : <ins>{valueText(name, after)}</ins>}
    </li>
  );
}

/** Part by part where the record has parts; what is the same on both sides is left out. */
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
