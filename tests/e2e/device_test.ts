// The phone page in a browser at 320 px: pairing, decisions, the passcode, and every error message.

import { assertEquals, assertMatch } from "@std/assert";
import { startConsole } from "../fakes/console_app.ts";
import { FAKE_INVITATION, FAKE_NUMBER, phoneRequest } from "../fakes/console_phone.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHolds } from "./page_checks.ts";

const test = consoleTests(startConsole, { role: "viewer", look: "narrow" });

test("an invitation pairs the phone by a button, not when it is opened", async ({ page, context, site }) => {
  const link = `${site.origin}/device#invite=${FAKE_INVITATION}`;
  await page.goto(link);
  await page.getByText("ada").waitFor();
  await page.waitForURL((url) => url.hash === "");
  await page.goto("about:blank");
  await page.goto(link);
  const name = page.getByLabel("Name of this phone");
  assertMatch(
    await name.inputValue(),
    /^(Chrome|Chromium) on \w+$/,
    "the browser's own words are proposed",
  );
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
  assertEquals(await approve.isDisabled(), true);
  await card.getByLabel("Number shown at your sign-in").fill("4");
  assertEquals(await approve.isDisabled(), true);
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
  assertMatch(await page.locator(".digits").innerText(), /^\d{3}\s\d{3}$/);
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
  assertMatch(await page.locator("main").innerText(), /Er gilt einmal und läuft in \d+:\d\d ab\./);
  await page.goto("about:blank");
  await page.goto(`${site.origin}/device#invite=${FAKE_INVITATION}`);
  await page.getByText(/Anmeldungen von ada bei .+ bestätigen Sie dann auf diesem Telefon\./).waitFor();
  assertMatch(await page.getByLabel("Name dieses Telefons").inputValue(), /^(Chrome|Chromium) auf \w+$/);
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
