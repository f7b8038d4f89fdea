// Every page as a row, data only. Tests of all pages use it, and a place without a row fails them.

import type { PageRow } from "./page_row.ts";
import { ALERT_ROWS, CONNECT_ROWS } from "./connect_rows.ts";
import { ENROLMENT_ROWS, PEOPLE_ROWS, TOKEN_ROWS } from "./people_rows.ts";
import { GOVERN_ROWS } from "./govern_rows.ts";
import { LIVE_ROWS } from "./live_rows.ts";

export const PAGE_ROWS: Readonly<Record<string, PageRow>> = {
  ...LIVE_ROWS,
  ...PEOPLE_ROWS,
  ...TOKEN_ROWS,
  ...ENROLMENT_ROWS,
  ...CONNECT_ROWS,
  ...ALERT_ROWS,
  ...GOVERN_ROWS,
};

/** Dialogs that belong to no page, and where they are checked. */
export const DIALOGS_ELSEWHERE: Readonly<Record<string, string>> = {
  "components/dialog.tsx": "draws all of them",
  "components/form_dialog.tsx": "draws all that are forms",
  "components/fields_dialog.tsx": "draws all whose forms are fields",
  "components/row_actions.tsx": "shows the secrets of rows",
  "app/palette.tsx": "on every page, in the page matrix",
  "pages/targets/directory_conflict.tsx":
    "after the change of another administrator, in program_pages_test.ts",
  "pages/live/disconnect_dialog.tsx": "with VPN sessions, in live_program_test.ts",
  "pages/users/user_overview.tsx": "after a bypass code was issued, in help_desk_test.ts",
  "pages/sign_in/sign_in_page.tsx": "over every form, in forms_test.ts",
};

/** The row of that name, which must exist. */
export function rowOf(name: string): PageRow {
  const row = PAGE_ROWS[name];
  if (row === undefined) throw new Error(`No page is called ${name}`);
  return row;
}
