// The rows of the pages about the enrolment: the report, and the campaigns.

import { FULL_OTHER } from "../../fakes/console_full.ts";
import type { PageRow, Step } from "./page_row.ts";

const INVITE = "pages/enrolment/invite_dialog.tsx";
const DEADLINE = "pages/enrolment/deadline_dialog.tsx";
const INVITE_STEPS: readonly Step[] = [["button", "Invite…"], [
  "see",
  /users? gets? a mail|users? get a mail/,
]];

export const ENROLMENT_ROWS: Readonly<Record<string, PageRow>> = {
  "enrolment": {
    place: "enrolment",
    path: () => "/enrolment",
    heading: () => "Enrolment",
    shows: () => FULL_OTHER,
    nothing: { says: "No active users" },
    dialogs: [
      { file: INVITE, name: "Invite users", steps: INVITE_STEPS },
      {
        file: DEADLINE,
        name: "Change the deadline",
        steps: [["button", "Actions for iris"], ["menuitem", "Change deadline"]],
      },
    ],
  },
  "campaigns": {
    place: "campaigns",
    path: () => "/enrolment/campaigns",
    heading: () => "Campaigns",
    shows: () => "Group",
    nothing: { says: "No campaigns yet" },
    dialogs: [
      { file: INVITE, name: "Invite users", steps: INVITE_STEPS },
      { file: DEADLINE, name: "Change the deadline", steps: [["button", "Change deadline Group"]] },
      {
        file: "pages/enrolment/campaigns_page.tsx",
        name: /^(?:Cancel|Stop the reminders of) Group\?$/,
        steps: [["button", /^(?:Cancel campaign|Stop reminders) Group$/]],
      },
    ],
  },
};
