// Writes the screenshots of docs/images (`deno task docs --images`). The run fails if a page does not show the expected
// texts.

import { assert, assertEquals } from "@std/assert";
import type { BrowserContextOptions, Page } from "../packages/playwright.ts";
import { enterByLink, pairThisBrowser, startMeConsole } from "../fakes/console_me.ts";
import { changeThings, comeAndGo, hearStranger, startWorkingDay, type WorkingDay } from "./working_day.ts";
import { ADA, DENIED_LOGIN } from "./working_day_rows.ts";
import { shrinkPng } from "./small_png.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { closeBrowser, currentDist, enterAs, LOOKS, openTab } from "../e2e/browser.ts";
import { phoneRequest } from "../fakes/console_phone.ts";
import { scrollsSideways } from "../e2e/page_checks.ts";
import type { Step } from "../e2e/pages/page_row.ts";
import { seen, take } from "../e2e/pages/page_walk.ts";

const dist = await currentDist();
const MAX_OCTETS = 120_000;
/** The heading of the page of {@link ADA}. */
const ADA_SHOWN = "Ada Lovelace";
const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true } as const;

interface PictureRow {
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
  { name: "access", path: "/access", heading: "Administrators", shows: ["grace", "margaret"] },
  {
    name: "settings",
    path: "/settings/limits",
    heading: "Settings",
    steps: [["fill", "Failed attempts before a lock", "7"], ["see", "1 unsaved change"]],
    shows: ["Lockout and limits"],
  },
];

/** Takes the screenshot. It is small enough for a page of the docs, and the page fits the window. */
async function picture(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  const octets = shrinkPng(await page.screenshot());
  assert(octets.length <= MAX_OCTETS, `${name} has ${octets.length} octets`);
  assertEquals(await scrollsSideways(page), false, name);
  await Deno.writeFile(new URL(`../../docs/images/${name}.png`, import.meta.url), octets);
  console.log(`docs/images/${name}.png is written`);
}

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
  await picture(page, name);
  await context.close();
}

/** The page of a user on a phone has a waiting login. */
async function pictureOfAccount(): Promise<void> {
  await using site = await startMeConsole({ dist });
  await site.addPhone("d1");
  await site.addApp();
  await site.fillHistory();
  site.waits("vpn-1");
  const { page, context } = await openTab(PHONE);
  await enterByLink(page, site);
  for (const text of ["A sign-in is waiting", "Phones"]) await seen(page.locator("body"), text);
  await page.evaluate(() => scrollTo(0, 0));
  await picture(page, "me");
  await context.close();
}

/** A login is approved with its number. */
async function pictureOfApproval(): Promise<void> {
  await using site = await startMeConsole({ dist });
  const { page, context } = await openTab(PHONE);
  await pairThisBrowser(page, site);
  // Taken last, because the request expires after a minute.
  const createdMs = Date.now() - 8000;
  const request = {
    ...{ requestId: "r1", userName: "ada", terminalName: "VPN", client: "vpn-1", place: "203.0.113.57" },
    ...{ createdMs, deadlineMs: createdMs + 60_000, pairingId: "p1", requesterName: "Example VPN" },
    ...{ asksNumber: true, state: "waiting" },
  };
  Object.assign(site.secondFactorAdmin, { request: (id: string) => id === "r1" ? request : null });
  await page.goto(`${site.origin}/me/approve/r1`);
  await page.getByRole("heading", { name: "Is this you signing in?", level: 1 }).waitFor();
  await page.getByLabel("Number shown at your sign-in").waitFor();
  await seen(page.locator("body"), "203.0.113.57");
  await picture(page, "approve");
  await context.close();
}

/** A login sends a request to the phone page. */
async function pictureOfPhone(): Promise<void> {
  await using site = await startMeConsole({ dist });
  const { page, context } = await openTab(PHONE);
  await pairThisBrowser(page, site);
  site.phone.ask(phoneRequest("r1"));
  await page.getByRole("form", { name: "Is this you signing in?" }).waitFor();
  await picture(page, "phone");
  await context.close();
}

try {
  for (const row of ROWS) await pictureOf(row);
  await pictureOfAccount();
  await pictureOfApproval();
  await pictureOfPhone();
} finally {
  await closeBrowser();
}
