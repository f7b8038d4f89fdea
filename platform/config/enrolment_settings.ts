// The settings of the enrolment: mailed invitations, reminders and the deadline. settings.ts has the others.

import { DEFAULT_HELP_TEXT } from "../mail/help_text.ts";
import { meaning } from "../setting_problems.ts";
import { settingRow, type SettingRows, type ValueType, valueType } from "./value_types.ts";
import * as value from "./value_types.ts";

const MAX_DAY_NUMBERS = 10;
const MAX_DAY = 365;

/** Days after an event, ascending. Numbers or texts of digits; a form has only texts. */
const dayNumbers: ValueType<readonly string[]> = valueType(meaning("means_day_numbers"), (raw) => {
  if (!Array.isArray(raw) || raw.length > MAX_DAY_NUMBERS) return null;
  const days = raw.map((entry: unknown) =>
    typeof entry === "number" || (typeof entry === "string" && /^[0-9]{1,3}$/.test(entry))
      ? Number(entry)
      : NaN
  );
  const areAscending = days.every((day, at) => day > (days[at - 1] ?? 0));
  const areDays = areAscending && days.every((day) => Number.isInteger(day) && day <= MAX_DAY);
  return areDays ? days.map(String) : null;
}, { control: { kind: "list", max: MAX_DAY_NUMBERS } });

export const ENROLMENT_ROWS = {
  "enrolment.invitation_hours": settingRow(value.hours({ min: 1, max: 720 }), 72, {
    doc: "how long the link of a mailed invitation is valid; a link that the console shows is valid for 24 h",
  }),
  "enrolment.reminder_days": settingRow(dayNumbers, ["3", "7"], {
    security: false,
    doc: "days after the invitation on which a user without a factor is reminded; [] = no reminders",
  }),
  "enrolment.deadline_days": settingRow(value.days({ min: 0, max: 365 }), 0, {
    doc:
      "days after the invitation from which a login of a user without a factor is refused; 0 = no deadline",
  }),
  "enrolment.help_text": settingRow(
    value.settingLine({ max: 160 }),
    DEFAULT_HELP_TEXT.en,
    {
      doc:
        "whom users ask for help: in the refusal after the deadline, and in mails; German mails translate the default",
    },
  ),
  "enrolment.per_minute": settingRow(value.integer({ min: 1, max: 60_000 }), 300, {
    doc: "how many users a campaign invites in a minute at most",
  }),
} satisfies SettingRows;
