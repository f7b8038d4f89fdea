// docs/audit.md lists each action of the audit log, with its label, its target and its earlier names.

import { assert, assertEquals } from "@std/assert";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { AUDIT_ACTIONS } from "../../platform/audit_actions.ts";
import { auditPage } from "../../docs/audit_page.ts";

const page = await Deno.readTextFile(new URL("../../docs/audit.md", import.meta.url));
const messages: Readonly<Record<string, unknown>> = en;

Deno.test("docs/audit.md is what `deno task docs` writes from the table of actions", () => {
  assertEquals(page, auditPage());
});

Deno.test("docs/audit.md has exactly one row for each action, with its label", () => {
  const rows = [...page.matchAll(/^\| ([^|]+?) +\| `([a-z_.]+)` +\| ([a-z-]+) +\|(.*)\|$/gm)];
  assertEquals(rows.map(([, , action]) => action), Object.keys(AUDIT_ACTIONS));
  for (const [, label, action = "", about, formerly = ""] of rows) {
    assertEquals(label, messages[`govern.deed_${action.replaceAll(".", "_")}`], action);
    const row: { about: string; formerly?: readonly string[] } =
      AUDIT_ACTIONS[action as keyof typeof AUDIT_ACTIONS];
    assertEquals(about, row.about, action);
    assertEquals(
      [...formerly.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
      [...row.formerly ?? []],
      action,
    );
  }
});

Deno.test("docs/audit.md tells of values, search, retention and export", () => {
  for (
    const heading of ["Reading and searching", "Values before and after", "Retention", "Export", "Actions"]
  ) {
    assert(page.includes(`\n## ${heading}\n`), heading);
  }
});
