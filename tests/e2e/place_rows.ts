// Every page as a row. Data alone; tests over all pages walk it, and a place without a row fails them.

import type { PlaceRow } from "./place_row.ts";
import { CONNECT_ROWS } from "./places/connect_rows.ts";
import { GOVERN_ROWS } from "./places/govern_rows.ts";
import { LIVE_ROWS } from "./places/live_rows.ts";
import { PEOPLE_ROWS } from "./places/people_rows.ts";

export const PLACE_ROWS: Readonly<Record<string, PlaceRow>> = {
  ...LIVE_ROWS,
  ...PEOPLE_ROWS,
  ...CONNECT_ROWS,
  ...GOVERN_ROWS,
};

/** Dialogs that no page has for its own, and where they are looked at. */
export const DIALOGS_ELSEWHERE: Readonly<Record<string, string>> = {
  "parts/dialog.tsx": "draws all of them",
  "parts/confirm_dialog.tsx": "draws all that ask",
  "parts/form_dialog.tsx": "draws all that are forms",
  "parts/frame/palette.tsx": "on every page, in places_test.ts",
  "parts/access/sign_in_dialog.tsx": "over every form, in forms_test.ts",
  "parts/unsaved_guard.tsx": "over a page and over a dialog, in unsaved_test.ts",
};

/** The row of that name, which must be there. */
export function rowOf(name: string): PlaceRow {
  const row = PLACE_ROWS[name];
  if (row === undefined) throw new Error(`No page is called ${name}`);
  return row;
}
