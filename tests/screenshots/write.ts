// Writes the screenshots of docs/images (`deno task docs --images`). The run fails if a page does not show the expected
// texts.

import type { Page } from "../packages/playwright.ts";
import { fillMail } from "../fakes/console_mail.ts";
import { FEATURE_ROWS, type PictureRow, SITE_PICTURES } from "./feature_pictures.ts";
import {
  ADA,
  changeThings,
  comeAndGo,
  DENIED_LOGIN,
  hearStranger,
  startWorkingDay,
  type WorkingDay,
} from "./working_day.ts";
import { takePicture } from "./take_picture.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { closeBrowser, currentDist, enterAs, LOOKS, openTab } from "../e2e/browser.ts";
import { seen, take } from "../e2e/pages/page_walk.ts";

const dist = await currentDist();
/** The heading of the page of {@link ADA}. */
const ADA_SHOWN = "Ada Lovelace";

const IMPORTED = `userName,givenName,familyName,mail,title,groups
mary.jackson,Mary,Jackson,mary.jackson@example.org,Engineer,staff|flight
${ADA},Ada,King,ada.lovelace@example.org,Analyst,staff|remote
annie.easley,Annie,Easley,annie.easley@example.org,Programmer,staff
,Unnamed,Person,unnamed@example.org,,staff
evelyn.boyd,Evelyn,Boyd,evelyn.boyd@example.org,Analyst,staff
`;

/** A login begins and another one ends while the page is open. */
async function comeNow(page: Page, site: WorkingDay): Promise<void> {
  await page.getByText("Denied on the phone after").first().waitFor();
  // The initial data does not count as a change.
  await page.getByText("20 sign-ins", { exact: true }).waitFor();
  // The rate is shown for four seconds, so the test waits for it and the count at the same time.
  const shown = Promise.all([
    page.getByText("21 sign-ins", { exact: true }).waitFor(),
    page.getByText(/^[1-9] events?\/s$/).waitFor(),
  ]);
  comeAndGo(site);
  await shown;
}

const drawCharts = (page: Page) => page.getByRole("img", { name: /^Median / }).waitFor();

/** Changes data after every backend has all users, so that only the change is pending. */
async function changeAlone(site: WorkingDay): Promise<void> {
  await eventually("the backends have the town", () => site.people.target.pendingWrites(1).length === 0);
  await changeThings(site);
}

async function mapTitle(page: Page): Promise<void> {
  await page.getByLabel("SCIM attribute").fill("title");
  await page.getByLabel("Name at the connectors").fill("jobTitle");
  await seen(page.locator("main"), / attributes? of .+ changes?[.]$/);
  await page.getByRole("heading", { name: "Attribute mapping" }).evaluate((one) => one.scrollIntoView());
}

const ROWS: readonly PictureRow[] = [
  {
    name: "overview",
    path: "/overview",
    heading: "Overview",
    shows: ["Needs attention", "Latest rejected sign-ins", "Denied on the phone"],
  },
  {
    name: "live",
    path: `/live?c=${DENIED_LOGIN}`,
    heading: "Sign-in log",
    act: comeNow,
    shows: [
      "Denied on the phone after",
      "Pending approvals",
      "grace.hopper",
      "Waiting for SMS code",
    ],
  },
  {
    name: "live_dark",
    path: "/live?approvals=open",
    heading: "Sign-in log",
    look: { colorScheme: "dark" },
    shows: ["Pending approvals", "katherine.johnson", "Deny"],
  },
  {
    name: "users",
    path: "/users",
    heading: "Users",
    shows: ["Barbara Liskov", "1–15 of 15"],
    steps: [["checkbox", "Select alan.turing"], ["checkbox", "Select donald.knuth"]],
  },
  { name: "user", path: `/users/${ADA}#devices`, heading: ADA_SHOWN, shows: ["Text message"] },
  {
    name: "user_backends",
    path: `/users/${ADA}#backends`,
    heading: ADA_SHOWN,
    shows: ["crm"],
    before: changeThings,
  },
  {
    name: "user_german",
    path: `/users/${ADA}`,
    heading: ADA_SHOWN,
    look: { locale: "de-DE" },
    shows: ["Profil"],
  },
  { name: "group", path: "/groups/remote", heading: "remote", shows: ["Filter-Id", "alan.turing"] },
  {
    name: "import",
    path: "/users/import",
    heading: "Import users",
    steps: [["file", "File", IMPORTED]],
    shows: ["mary.jackson"],
  },
  {
    name: "client_add",
    path: "/clients",
    heading: "RADIUS clients",
    before: hearStranger,
    steps: [["button", "Add client"], ["see", "192.0.2.77"]],
    shows: ["192.0.2.77"],
  },
  {
    name: "mapping",
    path: "/targets/default",
    heading: "default",
    steps: [["fill", "Preview for user", ADA], ["see", "No value"]],
    act: mapTitle,
    shows: ["Attribute mapping"],
  },
  { name: "history", path: "/history", heading: "Sign-in log", shows: ["Rejected", "radia.perlman"] },
  {
    name: "charts",
    path: "/charts?range=24h",
    heading: "Reports",
    act: drawCharts,
    shows: ["Sign-in outcomes"],
  },
  {
    name: "audit",
    path: "/audit",
    heading: "Audit log",
    shows: ["User changed", "Client changed"],
    before: changeThings,
  },
  {
    name: "health",
    path: "/health",
    heading: "System status",
    before: changeAlone,
    act: (page) => page.getByRole("row", { name: /ldap/ }).getByRole("button", { name: /^Test/ }).click(),
    shows: ["RADIUS listener", /^1 pending write/],
  },
  {
    ...{ name: "mail", path: "/mail#failed", heading: "Mail" },
    before: (site) => fillMail(site.mail, { waiting: ADA, failed: "hedy.lamarr" }),
    shows: ["refused@example.org", "550 5.1.1 No such user"],
  },
  { name: "access", path: "/access", heading: "Administrators", shows: ["grace", "margaret"] },
  {
    name: "settings",
    path: "/settings/limits",
    heading: "Settings",
    steps: [["fill", "Failed attempts before a lock", "7"], ["see", "1 unsaved change"]],
    shows: ["Lockout and limits"],
  },
];

async function pictureOf(
  { name, path, heading, steps = [], shows, look, act, before }: PictureRow,
): Promise<void> {
  await using site = await startWorkingDay({ dist });
  await before?.(site);
  const { page, context } = await openTab({ ...LOOKS.wide, deviceScaleFactor: 1, ...look });
  await enterAs(page, { site, role: "owner", path, heading });
  await take(page, steps);
  await act?.(page, site);
  for (const text of shows) await seen(page.locator("body"), text);
  await takePicture(page, name);
  await context.close();
}

/** `deno task docs --images alerts log_export`: only these. */
const isWanted = (name: string) => Deno.args.length === 0 || Deno.args.includes(name);

try {
  for (const row of [...ROWS, ...FEATURE_ROWS].filter(({ name }) => isWanted(name))) await pictureOf(row);
  for (const [name, take] of Object.entries(SITE_PICTURES)) if (isWanted(name)) await take(dist);
} finally {
  await closeBrowser();
}
