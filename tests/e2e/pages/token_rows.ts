// The row of the page of hardware tokens.

import { FULL_FREE_TOKEN } from "../../fakes/full_tokens.ts";
import type { PageRow } from "./page_row.ts";

export const TOKEN_ROWS: Readonly<Record<string, PageRow>> = {
  "tokens": {
    place: "tokens",
    path: () => "/tokens",
    heading: () => "Hardware tokens",
    shows: () => FULL_FREE_TOKEN,
    nothing: { says: "No hardware tokens" },
    dialogs: [
      {
        file: "pages/tokens/import_dialog.tsx",
        name: "Import hardware tokens",
        steps: [
          ["button", "Import tokens"],
          ["file", "Seed file", `T-7,${"31".repeat(20)}\nT-8,short\n${FULL_FREE_TOKEN},${"31".repeat(20)}\n`],
          ["see", "the seed cannot be read in this encoding"],
        ],
      },
      {
        file: "pages/tokens/token_dialogs.tsx",
        name: `Assign token ${FULL_FREE_TOKEN}`,
        steps: [["button", `Actions for ${FULL_FREE_TOKEN}`], ["menuitem", "Assign"]],
      },
      {
        file: "pages/tokens/token_dialogs.tsx",
        name: `Resynchronize token ${FULL_FREE_TOKEN}`,
        steps: [["button", `Actions for ${FULL_FREE_TOKEN}`], ["menuitem", "Resynchronize"]],
      },
      {
        file: "pages/tokens/token_dialogs.tsx",
        name: `Test a code of token ${FULL_FREE_TOKEN}`,
        steps: [["button", `Actions for ${FULL_FREE_TOKEN}`], ["menuitem", "Test a code"]],
      },
      {
        file: "pages/tokens/bulk_tokens.tsx",
        name: "Disable 1 token?",
        steps: [["checkbox", `Select ${FULL_FREE_TOKEN}`], ["button", "Disable"]],
        smallSteps: [
          ["checkbox", `Select ${FULL_FREE_TOKEN}`],
          ["button", "Actions for the selection"],
          ["menuitem", "Disable"],
        ],
      },
      {
        file: "pages/tokens/tokens_page.tsx",
        name: `Remove token ${FULL_FREE_TOKEN}?`,
        steps: [["button", `Actions for ${FULL_FREE_TOKEN}`], ["menuitem", "Remove"]],
      },
    ],
  },
};
