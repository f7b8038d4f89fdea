// The phone page in a browser at 320 px: pairing, decisions, the passcode, errors, and the states of notifications.

import { assertEquals } from "@std/assert";
import { DEVICE_KIND_HEADER } from "../../platform/device_label.ts";
import { startConsole } from "../fakes/console_app.ts";
import { FAKE_INVITATION, FAKE_NUMBER, phoneRequest } from "../fakes/console_phone.ts";
import type { BrowserContext, Page } from "../packages/playwright.ts";
import { startPushService } from "../fakes/push_service.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHolds, scrollsSideways } from "./page_checks.ts";
import { replacePushManager } from "./push_browser.ts";
import { holds } from "./browser.ts";

// The phone page in a browser at 320 px: pairing, decisions, the passcode, and every error message.

const test = consoleTests(startConsole, { role: "viewer", look: "narrow" });

test("an invitation pairs the phone by a button, not when it is opened", async ({ page, context, site }) => {
  const link = `${site.origin}/device#invite=${FAKE_INVITATION}`;
  await page.goto(link);
  await page.getByText("ada").waitFor();
  await page.waitForURL((url) => url.hash === "");
  await page.goto("about:blank");
  await page.goto(link);
  const name = page.getByLabel("Name of this phone");
  await holds(() => name.inputValue(), /^(Chrome|Chromium) on \w+$/, "the browser's own words are proposed");
  await name.fill("Pixel of Ada");
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByText("This phone is paired.").waitFor();
  assertEquals(site.phone.named(), "Pixel of Ada");
  await page.getByText("No requests").waitFor();
  const fill = await page.locator(".note svg").evaluate((icon) => getComputedStyle(icon).fill);
  assertEquals(fill, "none", "icons are lines on this page, too");
  const [cookie] = await context.cookies();
  assertEquals([cookie?.httpOnly, cookie?.sameSite], [true, "Strict"]);
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByText("This invitation was already used.").waitFor();
});

test("a phrase pairs the phone, after a confirmation on it", async ({ page, site }) => {
  await page.goto(`${site.origin}/device`);
  await page.getByRole("button", { name: "Show pairing phrase" }).click();
  await page.getByText("amber fox river stone").waitFor();
  site.phone.typePhrase();
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("This phone is paired.").waitFor();
  await page.getByRole("heading", { name: "Paired with" }).waitFor();
});

test("a request appears without a reload and is approved with its number", async ({ page, site }) => {
  await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByText("No requests").waitFor();
  site.phone.ask(phoneRequest("r1"));
  const card = page.getByRole("form", { name: "Is this you signing in?" });
  for (const fact of ["Company VPN", "ada", "vpn-1", "198.51.100.23"]) await card.getByText(fact).waitFor();
  const approve = card.getByRole("button", { name: "Approve" });
  await holds(() => approve.isDisabled(), true);
  await card.getByLabel("Number shown at your sign-in").fill("4");
  await holds(() => approve.isDisabled(), true);
  await card.getByLabel("Number shown at your sign-in").fill(FAKE_NUMBER);
  await approve.click();
  await page.getByText("Approved. Return to your sign-in.").waitFor();
  await card.waitFor({ state: "detached" });
  assertEquals(site.phone.decided, [{ id: "r1", approve: true, number: FAKE_NUMBER }]);
});

test("a wrong number denies with a message; Deny denies; without a number Approve is enough", async ({ page, site }) => {
  await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByText("No requests").waitFor();
  // The event stream removes an answered request, possibly after the message about it appears.
  const card = page.getByRole("form", { name: "Is this you signing in?" });
  site.phone.ask(phoneRequest("r1"));
  await page.getByLabel("Number shown at your sign-in").fill("99");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("so the sign-in was denied").waitFor();
  await card.waitFor({ state: "detached" });
  site.phone.ask(phoneRequest("r2"));
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByText("Denied. The sign-in was blocked.").waitFor();
  const question = page.getByRole("region", { name: "Did you start this sign-in?" });
  await question.getByRole("button", { name: "This was not me" }).waitFor();
  await assertHolds(page);
  await question.getByRole("button", { name: "Yes, it was me" }).click();
  await question.waitFor({ state: "detached" });
  await card.waitFor({ state: "detached" });
  site.phone.ask(phoneRequest("r3", { asksNumber: false, place: "" }));
  await page.getByText("unknown").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Approved. Return to your sign-in.").waitFor();
  assertEquals(site.phone.decided.map(({ id, approve, number }) => [id, approve, number]), [
    ["r1", true, "99"],
    ["r2", false, null],
    ["r3", true, null],
  ]);
});

test("a request that is opened by its notification has the focus on its number or heading, never on a button", async ({ page, site }) => {
  await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByText("No requests").waitFor();
  const focused = async (id: string) => {
    await page.goto("about:blank");
    await page.goto(`${site.origin}/device/#request=${id}`);
    await page.locator("form :focus").waitFor();
    return await page.locator("form :focus").evaluate(({ id, tagName }) => `${tagName} ${id}`);
  };
  site.phone.ask(phoneRequest("r1"));
  site.phone.ask(phoneRequest("r2", { asksNumber: false }));
  site.phone.ask(phoneRequest("r3", { kind: "verify", askedBy: "grace" }));
  assertEquals(
    [await focused("r1"), await focused("r2"), await focused("r3")],
    ["INPUT request-r1-number", "H2 request-r2", "INPUT request-r3-number"],
  );
});

test("an expired request cannot be answered", async ({ page, site }) => {
  await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByText("No requests").waitFor();
  const nowMs = Date.now();
  site.phone.ask(phoneRequest("r1", { createdMs: nowMs - 60_000, deadlineMs: nowMs - 1 }));
  await page.getByText("This request has expired.").waitFor();
  assertEquals(await page.getByRole("button", { name: "Approve" }).count(), 0);
});

test("the passcode is shown on demand, and unpairing asks first", async ({ page, context, site }) => {
  await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByRole("button", { name: "Show passcode for ada" }).click();
  await holds(() => page.locator(".digits").innerText(), /^\d{3}\s\d{3}$/);
  assertEquals(site.phone.seedsIssued, 1, "the page computes the passcode");
  await page.getByRole("button", { name: "Hide passcode" }).click();
  assertEquals(await page.locator(".digits").count(), 0);
  await page.getByRole("button", { name: "Unpair from ada" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Unpair from ada" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Unpair" }).click();
  await page.getByText("This phone is unpaired.").waitFor();
  await page.getByRole("button", { name: "Show pairing phrase" }).waitFor();
  assertEquals(await context.cookies(), []);
});

test("an unknown invitation shows a message, and the page continues without it", async ({ page, site }) => {
  await page.goto(`${site.origin}/device#invite=unknown`);
  await page.getByText("This invitation is not valid.").waitFor();
  await page.getByRole("button", { name: "Continue without invitation" }).click();
  await page.getByRole("button", { name: "Show pairing phrase" }).waitFor();
});

test("in a German browser every text of the phone page is German", async ({ page, context, site }) => {
  await page.addInitScript(() => {
    Object.defineProperty(navigator, "languages", { get: () => ["de-DE", "en"] });
  });
  await context.setExtraHTTPHeaders({ "accept-language": "de-DE,de;q=0.9" });
  await page.goto(`${site.origin}/device`);
  await page.getByRole("button", { name: "Kopplungssatz anzeigen" }).click();
  await page.getByText("amber fox river stone").waitFor();
  await holds(() => page.locator("main").innerText(), /Er gilt einmal und läuft in \d+:\d\d ab\./);
  await page.goto("about:blank");
  await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByText(/Anmeldungen von ada bei .+ bestätigen Sie dann auf diesem Telefon\./).waitFor();
  await holds(() => page.getByLabel("Name dieses Telefons").inputValue(), /^(Chrome|Chromium) auf \w+$/);
  await page.getByRole("button", { name: "Telefon koppeln" }).click();
  await page.getByText("Dieses Telefon ist gekoppelt.").waitFor();
  await page.getByText("Keine Anfragen", { exact: true }).waitFor();
  site.phone.ask(phoneRequest("r1"));
  await page.getByRole("form", { name: "Melden Sie sich gerade an?" }).waitFor();
  await page.getByLabel("Zahl, die Ihre Anmeldung anzeigt").fill("99");
  await page.getByRole("button", { name: "Genehmigen" }).click();
  await page.getByText("Die Zahl war falsch, deshalb wurde die Anmeldung abgelehnt.").waitFor();
  await page.getByRole("button", { name: "Entkoppeln von ada" }).click();
  await page.getByRole("dialog", { name: "Dieses Telefon von ada entkoppeln?" })
    .getByRole("button", { name: "Entkoppeln" }).click();
  assertEquals(
    [await page.title(), await page.evaluate(() => document.documentElement.lang)],
    ["Countersign auf diesem Telefon", "de"],
  );
  const english = await page.locator("main").innerText();
  assertEquals(english.match(/\b(the|phone|login|passcode for|Approve|Deny|device\.)\b/), null);
});

// The notifications of the phone page in each state, at 320 px: what the user reads, accessibility, the keyboard, and both
// languages.

const IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1";
const IPAD =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15";
/** An uncompressed point. */
const PUBLIC_KEY = new Uint8Array(65).fill(4).toBase64({ alphabet: "base64url", omitPadding: true });

interface Prepared {
  /** `null`: the browser has no push. */
  readonly permission: NotificationPermission | null;
  readonly userAgent?: string;
  /** Server's answer to `POST /device/api/push`. */
  readonly status?: number;
  readonly enabled?: boolean;
}

/** Prepares the browser and the push routes. Returns the subscriptions that the page sent. */
async function prepare(
  context: BrowserContext,
  { permission, userAgent, status = 200, enabled = true }: Prepared,
): Promise<unknown[]> {
  const sent: unknown[] = [];
  await context.addInitScript(prepareBrowser, { permission, userAgent });
  await context.route("**/device/api/push", async (route) => {
    const request = route.request();
    if (request.method() === "POST") {
      sent.push(request.postDataJSON());
      const error = { code: "push_host_not_allowed", message: "not allowed" };
      return await route.fulfill({ status, json: status === 200 ? { done: true } : { error } });
    }
    if (request.method() === "DELETE") sent.length = 0;
    const subscribed = sent.length > 0 && status === 200;
    await route.fulfill({ json: { enabled, publicKey: PUBLIC_KEY, subscribed, problem: null } });
  });
  return sent;
}

/** Runs in the page. The permission is one that the test sets, and each question is counted. */
function prepareBrowser({ permission, userAgent }: Pick<Prepared, "permission" | "userAgent">): void {
  if (userAgent !== undefined) Object.defineProperty(navigator, "userAgent", { get: () => userAgent });
  if (permission === null) {
    Reflect.deleteProperty(globalThis, "PushManager");
    return;
  }
  const state = globalThis as { asked?: number };
  if (location.protocol !== "http:") return;
  const answered = sessionStorage.getItem("permission") as NotificationPermission | null;
  let current = answered ?? permission;
  Object.defineProperty(Notification, "permission", { get: () => current });
  Notification.requestPermission = () => {
    state.asked = (state.asked ?? 0) + 1;
    if (current === "default") current = "granted";
    sessionStorage.setItem("permission", current);
    return Promise.resolve(current);
  };
}

async function pair(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByRole("button", { name: /^(Pair this phone|Telefon koppeln)$/ }).click();
  await page.getByText(/^(No requests|Keine Anfragen)$/).waitFor();
}

const timesAsked = (page: Page) => page.evaluate(() => (globalThis as { asked?: number }).asked ?? 0);

test("notifications are explained first, and the browser asks only after a tap", async ({ page, context, site }) => {
  await using service = startPushService();
  const sent = await prepare(context, { permission: "default" });
  await replacePushManager(context, service);
  await pair(page, site.origin);
  await page.getByText("When a sign-in needs your approval, this phone can show a notification").waitFor();
  assertEquals([await timesAsked(page), sent.length], [0, 0]);
  await assertHolds(page);
  // By keyboard.
  await page.getByRole("button", { name: "Turn on notifications" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("This phone shows a notification for each request").waitFor();
  assertEquals([await timesAsked(page), sent.length], [1, 1]);
  await assertHolds(page);
  await page.reload();
  await page.getByText("This phone shows a notification for each request").waitFor();
  assertEquals(sent.length, 1, "a visit compares the subscription, and sends it only if it changed");
  await page.getByRole("button", { name: "Turn off" }).click();
  await page.getByRole("button", { name: "Turn on notifications" }).waitFor();
  assertEquals(sent.length, 0);
});

const STATES: readonly (readonly [what: string, prepared: Prepared, text: RegExp])[] = [
  ["blocked", { permission: "denied" }, /This browser blocks notifications from this site\./],
  ["not supported", { permission: null }, /This browser cannot show notifications\./],
  [
    "only from the Home Screen",
    { permission: null, userAgent: IPHONE },
    /shows notifications only for pages on the Home Screen/,
  ],
  ["turned off by the administrator", { permission: "default", enabled: false }, /Your administrator turned/],
];
for (const [what, prepared, text] of STATES) {
  test(`notifications that are ${what} say so, and what to do`, async ({ page, context, site }) => {
    await prepare(context, prepared);
    await pair(page, site.origin);
    await page.getByText(text).first().waitFor();
    assertEquals(await page.getByRole("button", { name: "Turn on notifications" }).count(), 0);
    await assertHolds(page);
  });
}

test("a subscription that the server refuses is a failure with another try", async ({ page, context, site }) => {
  await using service = startPushService();
  await prepare(context, { permission: "granted", status: 422 });
  await replacePushManager(context, service);
  await pair(page, site.origin);
  await page.getByRole("button", { name: "Turn on notifications" }).click();
  await page.getByText("not allowed").waitFor();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await assertHolds(page);
});

test("on an iPhone, an invitation reaches the app on the Home Screen as a pasted link", async ({ page, context, site }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: site.origin });
  await prepare(context, { permission: null, userAgent: IPHONE });
  await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByRole("heading", { name: "Add this page to the Home Screen first" }).waitFor();
  await assertHolds(page);
  await page.getByRole("button", { name: "Copy invitation link" }).click();
  await page.getByText("The link is copied.").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.goto("about:blank");
  await page.goto(`${site.origin}/device/`);
  const field = page.getByLabel("Invitation link");
  await field.fill("no link");
  await holds(() => page.getByRole("button", { name: "Continue", exact: true }).isDisabled(), true);
  await field.fill(link);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Pair this phone" }).click();
  await page.getByText("This phone is paired.").waitFor();
});

test("an open page shows a request in its title, and plays a sound unless it is switched off", async ({ page, context, site }) => {
  await prepare(context, { permission: "denied" });
  await page.addInitScript(() => {
    const state = globalThis as { tones?: number; shaken?: number };
    AudioContext.prototype.createOscillator = new Proxy(AudioContext.prototype.createOscillator, {
      apply(create, audio) {
        state.tones = (state.tones ?? 0) + 1;
        return Reflect.apply(create, audio, []);
      },
    });
    navigator.vibrate = () => {
      state.shaken = (state.shaken ?? 0) + 1;
      return true;
    };
  });
  const heard = () =>
    page.evaluate(() => {
      const { tones = 0, shaken = 0 } = globalThis as { tones?: number; shaken?: number };
      return [tones, shaken];
    });
  await pair(page, site.origin);
  site.phone.ask(phoneRequest("r1"));
  await page.waitForFunction(() => document.title === "(1) Is this you signing in?");
  assertEquals(await heard(), [2, 1]);
  await page.getByRole("button", { name: "Deny" }).click();
  await page.waitForFunction(() => document.title === "Countersign on this phone");
  await page.getByLabel("Play a sound for new requests").uncheck();
  site.phone.ask(phoneRequest("r2"));
  await page.waitForFunction(() => document.title.startsWith("(1)"));
  assertEquals(await heard(), [2, 2], "it still vibrates");
  await page.reload();
  await holds(() => page.getByLabel("Play a sound for new requests").isChecked(), false);
});

test("an iPad that calls itself a Mac is a tablet", async ({ page, context, site }) => {
  await prepare(context, { permission: null, userAgent: IPAD });
  await page.addInitScript(() => Object.defineProperty(navigator, "maxTouchPoints", { get: () => 5 }));
  const view = page.waitForRequest(`${site.origin}/device/api/view`);
  await page.goto(`${site.origin}/device/`);
  assertEquals((await view).headers()[DEVICE_KIND_HEADER], "tablet");
});

test("the name of this phone is changed on its page", async ({ page, context, site }) => {
  await prepare(context, { permission: "denied" });
  await pair(page, site.origin);
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("dialog").getByLabel("Name of this phone").fill("Pixel of Ada");
  await page.getByRole("dialog").getByRole("button", { name: "Save name" }).click();
  await page.getByText("The name of this phone is saved.").waitFor();
});

test("in a German browser every text about notifications is German", async ({ page, context, site }) => {
  await page.addInitScript(() => Object.defineProperty(navigator, "languages", { get: () => ["de-DE"] }));
  await prepare(context, { permission: "default" });
  await pair(page, site.origin);
  await page.getByRole("button", { name: "Benachrichtigungen einschalten" }).waitFor();
  assertEquals(await scrollsSideways(page), false);
  const text = await page.locator("main").innerText();
  assertEquals(text.match(/\b(the|notification|sound|device\.\w+)\b/), null);
});
