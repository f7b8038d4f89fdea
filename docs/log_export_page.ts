// docs/log-export.md: the text, with the tables of the fields and of the actions.

import { ECS_FIELDS, ecsEventRows } from "../platform/log_export/ecs_fields.ts";

const PAGE = new URL("log-export.md", import.meta.url);

/** @param tableText makes a table as `deno fmt` writes it */
export function logExportPage(
  tableText: (head: readonly string[], rows: readonly (readonly string[])[]) => string,
): string {
  const fields = tableText(
    ["field", "meaning"],
    Object.entries(ECS_FIELDS).map(([name, { meaning }]) => [`\`${name}\``, meaning]),
  );
  const actions = tableText(
    ["action", "category", "type", "outcome", "kind"],
    ecsEventRows().map(({ action, event: { category, type, outcome, kind } }) => [
      ...[`\`${action}\``, category.join(", "), type.join(", "), outcome, kind],
    ]),
  );
  const text = Deno.readTextFileSync(PAGE);
  return withTable(withTable(text, "fields", fields), "actions", actions);
}

function withTable(text: string, what: string, table: string): string {
  const begin =
    `<!-- The table of the ${what} is written by \`deno task docs\` from platform/log_export/ecs_fields.ts. -->\n`;
  const from = text.indexOf(begin);
  const to = text.indexOf(`<!-- end of the ${what} -->\n`);
  if (from < 0 || to < from) {
    throw new Error(`Cannot write docs/log-export.md: it has no place for the ${what}`);
  }
  return `${text.slice(0, from)}${begin}\n${table}\n${text.slice(to)}`;
}
