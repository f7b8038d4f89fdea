// Writes the table of actions in docs/audit.md from platform/audit_actions.ts. The rest of that page is written by hand.

import en from "../console/web/i18n/en.json" with { type: "json" };
import { AUDIT_ACTIONS, type AuditObjectKind } from "../platform/audit_actions.ts";

const PAGE = new URL("audit.md", import.meta.url);
const BEGIN = "<!-- The table is written by `deno task docs` from platform/audit_actions.ts. -->\n";
const END = "<!-- end of the table -->\n";

interface ActionRow {
  readonly about: AuditObjectKind;
  readonly formerly?: readonly string[];
}

/** The page with the table as the actions are now. */
export function auditPage(): string {
  const text = Deno.readTextFileSync(PAGE);
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error("Cannot write docs/audit.md: it has no place for the table");
  return `${text.slice(0, begin)}${BEGIN}\n${actionTable()}\n${text.slice(end)}`;
}

function actionTable(): string {
  const rows = Object.entries<ActionRow>(AUDIT_ACTIONS).map(([action, { about, formerly = [] }]) => [
    labelOf(action),
    `\`${action}\``,
    about,
    formerly.map((name) => `\`${name}\``).join(", "),
  ]);
  return tableText(["event", "action", "target", "name in 0.1.0"], rows);
}

function labelOf(action: string): string {
  const key = `govern.deed_${action.replaceAll(".", "_")}`;
  const label: unknown = Object.entries(en).find(([one]) => one === key)?.[1];
  if (typeof label !== "string") throw new Error(`Cannot write docs/audit.md: ${action} has no label`);
  return label;
}

/** A table as `deno fmt` writes it. */
function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, at) =>
    Math.max(name.length, ...rows.map((cells) => cells[at]?.length ?? 0))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |\n`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |\n`;
  return line(head) + rule + rows.map(line).join("");
}
