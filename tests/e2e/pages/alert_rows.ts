// The row of the page of alerts.

import { FULL_RECEIVER } from "../../fakes/console_alerts.ts";
import type { PageRow } from "./page_row.ts";

const DIALOG = "pages/alerts/receiver_dialog.tsx";
const TABLE = "pages/alerts/receiver_table.tsx";

export const ALERT_ROWS: Readonly<Record<string, PageRow>> = {
  "alerts": {
    place: "alerts",
    path: () => "/alerts",
    heading: () => "Alerts",
    shows: () => FULL_RECEIVER,
    nothing: { says: "No alerts." },
    dialogs: [
      {
        file: DIALOG,
        name: "Add receiver",
        steps: [["button", "Add receiver"], ["see", "Mail addresses"]],
      },
      {
        file: DIALOG,
        name: `Edit ${FULL_RECEIVER}`,
        steps: [["button", `Actions for ${FULL_RECEIVER}`], ["menuitem", "Edit"]],
      },
      {
        file: TABLE,
        isSecret: true,
        name: "Signature secret of chat",
        steps: [["button", "Actions for chat"], ["menuitem", "New signature secret"]],
      },
      {
        file: TABLE,
        name: `Remove the receiver ${FULL_RECEIVER}?`,
        steps: [["button", `Actions for ${FULL_RECEIVER}`], ["menuitem", "Remove"]],
      },
    ],
  },
};
