// The screenshots of alerts, log export, enrolment, hardware tokens and the help desk, as rows, with the data that they show.

import type { BrowserContextOptions, Page } from "../packages/playwright.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { fillAlerts } from "../fakes/console_alerts.ts";
import { fillLogExport } from "../fakes/console_log_export.ts";
import { fillEnrolment } from "../fakes/full_enrolment.ts";
import type { Step } from "../e2e/pages/page_row.ts";
import { addToken } from "../radius/rows/tokens.ts";
import type { WorkingDay } from "./working_day.ts";
import { ADA } from "./working_day_rows.ts";

export interface PictureRow {
  readonly name: string;
  readonly path: string;
  readonly heading: string;
  readonly steps?: readonly Step[];
  /** The texts that the page must show. */
  readonly shows: readonly (string | RegExp)[];
  readonly look?: BrowserContextOptions;
  /** Further preparations, which steps cannot express. */
  readonly act?: (page: Page, site: WorkingDay) => Promise<void> | void;
  readonly before?: (site: WorkingDay) => Promise<void> | void;
}

const ownerOf = async (site: WorkingDay) => apiCaller(site, await site.signIn("owner"));

async function addAlerts(site: WorkingDay): Promise<void> {
  await fillAlerts(await ownerOf(site), { store: site.store, user: ADA });
}

async function addDestinations(site: WorkingDay): Promise<void> {
  await fillLogExport(await ownerOf(site));
}

async function inviteUsers(site: WorkingDay): Promise<void> {
  const call = await ownerOf(site);
  await fillEnrolment({ people: site.people, call }, {
    ...{ user: ADA, text: "Iris Chang", group: "remote" },
  });
}

async function addTokens({ people }: WorkingDay): Promise<void> {
  const totp = { kind: "totp", periodS: 30, manufacturer: "Feitian", model: "c200" } as const;
  await addToken(people, ADA, { ...totp, serial: "2304810001" });
  await addToken(people, "donald.knuth", { ...totp, serial: "2304810002" });
  await addToken(people, "hedy.lamarr", { serial: "UBHE-77120", manufacturer: "Yubico" });
  for (const serial of ["2304810003", "2304810004"]) await addToken(people, null, { ...totp, serial });
}

export const FEATURE_ROWS: readonly PictureRow[] = [
  {
    ...{ name: "alerts", path: "/alerts", heading: "Alerts", before: addAlerts },
    look: { viewport: { width: 1360, height: 1240 } },
    shows: ["Open alerts", "84 rejected sign-ins in ten minutes. Usually 3.", "Recent alerts"],
  },
  {
    ...{ name: "alert_receiver", path: "/alerts", heading: "Alerts", before: addAlerts },
    steps: [["button", "Add receiver"], ["see", "Mail addresses"]],
    shows: ["Kinds of alerts"],
  },
  {
    ...{ name: "log_export", path: "/log-export", heading: "Log export", before: addDestinations },
    steps: [["button", "Add destination"], ["fill", "Name", "siem-2"], [
      "see",
      "Certificate authority (PEM)",
    ]],
    shows: ["Records"],
  },
  {
    ...{ name: "enrolment", path: "/enrolment", heading: "Enrolment", before: inviteUsers },
    shows: ["Not invited", "donald.knuth"],
  },
  {
    ...{ name: "tokens", path: "/tokens", heading: "Hardware tokens", before: addTokens },
    shows: ["2304810001", "donald.knuth"],
  },
];
