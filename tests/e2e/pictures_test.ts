// The pages as the docs show them, with a working day in them: each shows what its picture promises. `COUNTERSIGN_PICTURES=1` writes
// the pictures anew; every other run leaves the checkout as it was.

import { assert, assertEquals } from "@std/assert";
import type { BrowserContextOptions, Page } from "../packages/playwright.ts";
import { enterByLink, pairThisBrowser, startMeConsole } from "../fakes/console_me.ts";
import {
  changeThings,
  comeAndGo,
  hearStranger,
  startTownConsole,
  type TownConsole,
} from "../fakes/console_town.ts";
import { ADA, DENIED_LOGIN } from "../fakes/console_town_rows.ts";
import { shrinkPng } from "../support/small_png.ts";
import { eventually } from "../upstream/manual_clock.ts";
import {
  ACTION_TIMEOUT_MS,
  browserTest,
  closeBrowserAtEnd,
  currentDist,
  enterAs,
  scrollsSideways,
} from "./browser.ts";
import type { Step } from "./place_row.ts";
import { seen, take } from "./place_walk.ts";

const dist = await currentDist();
closeBrowserAtEnd();

const MOST_OCTETS = 120_000;
const WRITES_PICTURES = Deno.env.get("COUNTERSIGN_PICTURES") === "1";
const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true } as const;

interface PictureRow {
  readonly name: string;
  readonly path: string;
  readonly heading: string;
  readonly steps?: readonly Step[];
  /** What the page must show, each as it is written there. */
  readonly shows: readonly (string | RegExp)[];
  readonly look?: BrowserContextOptions;
  /** What steps cannot say. */
  readonly act?: (page: Page, site: TownConsole) => Promise<void> | void;
  readonly before?: (site: TownConsole) => Promise<void> | void;
}

const IMPORTED = `userName,givenName,familyName,mail,title,groups
mary.jackson,Mary,Jackson,mary.jackson@example.org,Engineer,staff|flight
${ADA},Ada,King,ada.lovelace@example.org,Analyst,staff|remote
annie.easley,Annie,Easley,annie.easley@example.org,Programmer,staff
,Nobody,Named,nobody@example.org,,staff
evelyn.boyd,Evelyn,Boyd,evelyn.boyd@example.org,Analyst,staff
`;

/** A login comes and one ends while the page is open. */
async function comeNow(page: Page, site: TownConsole): Promise<void> {
  await page.getByText("The push was denied, or it expired").first().waitFor();
  // What is there at the beginning counts as no change.
  await page.getByText("20 logins", { exact: true }).waitFor();
  // The rate is shown for four seconds: it is waited for beside the count, not after it.
  const shown = Promise.all([
    page.getByText("21 logins", { exact: true }).waitFor(),
    page.getByText(/^[1-9] changes?\/s$/).waitFor(),
  ]);
  comeAndGo(site);
  await shown;
}

/** Both charts are drawn by a part that comes late. */
const drawCharts = (page: Page) => page.locator(".plot canvas").nth(1).waitFor();

/** Changes things when the town is owed nothing any more, so that only the change is. */
async function changeAlone(site: TownConsole): Promise<void> {
  await eventually("the backends have the town", () => site.people.target.owed(1).length === 0);
  await changeThings(site);
}

async function mapTitle(page: Page): Promise<void> {
  await page.getByText(/^[0-9]+ rows$/).click();
  await page.getByLabel("Another SCIM attribute").fill("title");
  await page.getByLabel("Its name at backends").fill("jobTitle");
  await seen(page.locator("main"), / attributes? changes?[.]$/);
  await page.getByText(/^[0-9]+ rows$/).click();
  await page.getByRole("heading", { name: "Mapping" }).evaluate((one) => one.scrollIntoView());
}

const ROWS: readonly PictureRow[] = [
  {
    name: "live",
    path: `/live?c=${DENIED_LOGIN}`,
    heading: "Live",
    act: comeNow,
    shows: [
      "The push was denied, or it expired",
      "Waiting for a phone",
      "grace.hopper",
      "Typing the texted passcode",
    ],
  },
  {
    name: "live_dark",
    path: "/live",
    heading: "Live",
    look: { colorScheme: "dark" },
    shows: ["Waiting for a phone", "katherine.johnson", "Messages"],
  },
  {
    name: "users",
    path: "/users",
    heading: "Users",
    shows: ["Barbara Liskov", "1 to 15 of 15"],
    steps: [["checkbox", "Choose alan.turing"], ["checkbox", "Choose donald.knuth"]],
  },
  { name: "user", path: `/users/${ADA}#devices`, heading: ADA, shows: ["Text message"] },
  {
    name: "user_backends",
    path: `/users/${ADA}#backends`,
    heading: ADA,
    shows: ["crm"],
    before: changeThings,
  },
  {
    name: "user_german",
    path: `/users/${ADA}`,
    heading: ADA,
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
    steps: [["button", "Add a client"], ["see", "192.0.2.77"]],
    shows: ["192.0.2.77"],
  },
  {
    name: "mapping",
    path: "/targets/default",
    heading: "default",
    steps: [["fill", "Preview on user", ADA], ["see", `For ${ADA} nothing changes.`]],
    act: mapTitle,
    shows: [/\[targets\.default\.mapping\.user\]/],
  },
  { name: "history", path: "/history", heading: "History", shows: ["Rejected", "radia.perlman"] },
  {
    name: "charts",
    path: "/charts?range=24h",
    heading: "Charts",
    act: drawCharts,
    shows: ["How logins ended"],
  },
  {
    name: "audit",
    path: "/audit",
    heading: "Audit",
    shows: ["User changed", "Client changed"],
    before: changeThings,
  },
  {
    name: "health",
    path: "/health",
    heading: "Health",
    before: changeAlone,
    act: (page) => page.getByRole("row", { name: /ldap/ }).getByRole("button", { name: /^Test/ }).click(),
    shows: ["RADIUS listener", /^1 write owed/],
  },
  { name: "access", path: "/access", heading: "Access", shows: ["grace", "margaret"] },
  { name: "settings", path: "/settings", heading: "Settings", shows: ["What holds for everybody"] },
];

/** A tab with the look of the picture. */
async function tabOf(page: Page, look: BrowserContextOptions = {}): Promise<Page> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("The tab has no browser");
  const context = await browser.newContext({
    viewport: { width: 1360, height: 860 },
    deviceScaleFactor: 1,
    colorScheme: "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    ...look,
  });
  const opened = await context.newPage();
  opened.setDefaultTimeout(ACTION_TIMEOUT_MS);
  return opened;
}

/** Takes the picture; it is light enough for a page of the docs, and nothing hangs over its side. */
async function picture(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  const octets = shrinkPng(await page.screenshot());
  assert(octets.length <= MOST_OCTETS, `${name} has ${octets.length} octets`);
  assertEquals(await scrollsSideways(page), false, name);
  if (!WRITES_PICTURES) return;
  await Deno.writeFile(new URL(`../../docs/images/${name}.png`, import.meta.url), octets);
}

for (const { name, path, heading, steps = [], shows, look, act, before } of ROWS) {
  browserTest(`picture "${name}": the page shows what it promises`, async ({ page: tab }) => {
    await using site = await startTownConsole({ dist });
    await before?.(site);
    const page = await tabOf(tab, look);
    await enterAs(page, { site, role: "owner", path, heading });
    await take(page, steps);
    await act?.(page, site);
    for (const text of shows) await seen(page.locator("body"), text);
    await picture(page, name);
    await page.context().close();
  });
}

browserTest('picture "me": a person\'s page on a phone has a login that waits', async ({ page: tab }) => {
  await using site = await startMeConsole({ dist });
  await site.addPhone("d1");
  await site.addApp();
  await site.fillHistory();
  site.waits("vpn-1");
  const page = await tabOf(tab, PHONE);
  await enterByLink(page, site);
  for (const text of ["A login is waiting", "Phones"]) await seen(page.locator("body"), text);
  await page.evaluate(() => scrollTo(0, 0));
  await picture(page, "me");
  await page.context().close();
});

browserTest('picture "approve": a login is confirmed by its number', async ({ page: tab }) => {
  await using site = await startMeConsole({ dist });
  const page = await tabOf(tab, PHONE);
  await pairThisBrowser(page, site);
  // Made last: a minute after its beginning the request is over.
  const createdMs = Date.now() - 8000;
  const request = {
    ...{ requestId: "r1", userName: "ada", terminalName: "VPN", client: "vpn-1", place: "203.0.113.57" },
    ...{ createdMs, deadlineMs: createdMs + 60_000, pairingId: "p1", requesterName: "Example VPN" },
    ...{ asksNumber: true, state: "waiting" },
  };
  Object.assign(site.desk, { request: (id: string) => id === "r1" ? request : null });
  await page.goto(`${site.origin}/me/approve/r1`);
  await page.getByRole("heading", { name: "Is this you signing in?", level: 1 }).waitFor();
  await page.getByLabel("Number shown in your login").waitFor();
  await seen(page.locator("body"), "203.0.113.57");
  await picture(page, "approve");
  await page.context().close();
});
