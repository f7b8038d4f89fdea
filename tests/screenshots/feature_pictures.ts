// The pictures of features for the README and the docs.

import type { Dist } from "../../console/assets.ts";
import type { BrowserContextOptions, Page } from "../packages/playwright.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { fillAlerts } from "../fakes/console_alerts.ts";
import { fillLogExport } from "../fakes/console_log_export.ts";
import { fillEnrolment } from "../fakes/full_enrolment.ts";
import type { Step } from "../e2e/pages/page_row.ts";
import { addToken } from "../radius/rows/tokens.ts";
import { openHelpDesk } from "../console/help_desk_site.ts";
import { enterAs, LOOKS, openTab } from "../e2e/browser.ts";
import { seen, take } from "../e2e/pages/page_walk.ts";
import { worksOffline } from "../e2e/push_browser.ts";
import { enterByLink, pairThisBrowser, startMeConsole } from "../fakes/console_me.ts";
import { phoneRequest } from "../fakes/console_phone.ts";
import { ADA, type WorkingDay } from "./working_day.ts";
import { takePicture } from "./take_picture.ts";

// The screenshots of alerts, log export, enrolment, hardware tokens and the help desk, as rows, with the data that they show.

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

// The screenshots of pages outside of the console with a working day: /me, the approval, the phone page and the help desk.

const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true } as const;

/** The page of a user on a phone has a waiting login. */
async function pictureOfAccount(dist: Dist): Promise<void> {
  await using site = await startMeConsole({ dist });
  await site.addPhone("d1");
  await site.addApp();
  await site.fillHistory();
  site.waits("vpn-1");
  const { page, context } = await openTab(PHONE);
  await enterByLink(page, site);
  for (const text of ["A sign-in is waiting", "Phones"]) await seen(page.locator("body"), text);
  await page.evaluate(() => scrollTo(0, 0));
  await takePicture(page, "me");
  await context.close();
}

/** A login is approved with its number. */
async function pictureOfApproval(dist: Dist): Promise<void> {
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
  await takePicture(page, "approve");
  await context.close();
}

/** A login sends a request to the phone page. */
async function pictureOfPhone(dist: Dist): Promise<void> {
  await using site = await startMeConsole({ dist });
  const { page, context } = await openTab(PHONE);
  await pairThisBrowser(page, site);
  site.phone.ask(phoneRequest("r1"));
  await page.getByRole("form", { name: "Is this you signing in?" }).waitFor();
  await takePicture(page, "phone");
  await context.close();
}

/** The phone page explains notifications before the browser asks. */
async function pictureOfNotifications(dist: Dist): Promise<void> {
  await using site = await startMeConsole({ dist });
  const { page, context } = await openTab(PHONE);
  // The browser of the screenshots has no notifications, and the console no push.
  await context.addInitScript(() =>
    Object.defineProperty(Notification, "permission", { get: () => "default" })
  );
  const push = { enabled: true, publicKey: "", subscribed: false, problem: null };
  await context.route("**/device/api/push", (route) => route.fulfill({ json: push }));
  await pairThisBrowser(page, site);
  await seen(page.locator("body"), "Be notified of sign-ins");
  await takePicture(page, "phone_notifications");
  await context.close();
}

/** The help desk reads out a number, and the phone of the caller asks for it. */
async function pictureOfHelpDesk(dist: Dist): Promise<void> {
  await using site = await openHelpDesk({ dist });
  await site.pair("ada", "Pixel 9");
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
    (request) => site.app(request, { remoteAddress: "192.0.2.9" }),
  );
  const origin = `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`;
  const { page, context } = await openTab({ ...LOOKS.wide, deviceScaleFactor: 1 });
  const signIn = () => site.cookieOf("help_desk");
  await enterAs(page, { site: { origin, signIn }, role: "help_desk", path: "/users/ada", heading: "ada" });
  await take(page, [["button", "Verify caller"], ["button", "Ask the phone"]]);
  await seen(page.locator("body"), "Waiting for the phone");
  await takePicture(page, "help_desk");
  await context.close();
}

/** The installed phone page without the network. */
async function pictureOfOfflinePhone(dist: Dist): Promise<void> {
  await using site = await startMeConsole({ dist });
  const { page, context } = await openTab(PHONE);
  await pairThisBrowser(page, site);
  await worksOffline(page);
  await context.setOffline(true);
  await page.goto(`${site.origin}/device/`);
  await page.getByRole("button", { name: "Show passcode for ada" }).click();
  await seen(page.locator("body"), "Passcodes without a connection");
  await takePicture(page, "phone_offline");
  await context.close();
}

/** By the name of the image. */
export const SITE_PICTURES: Readonly<Record<string, (dist: Dist) => Promise<void>>> = {
  me: pictureOfAccount,
  approve: pictureOfApproval,
  phone: pictureOfPhone,
  phone_notifications: pictureOfNotifications,
  phone_offline: pictureOfOfflinePhone,
  help_desk: pictureOfHelpDesk,
};
