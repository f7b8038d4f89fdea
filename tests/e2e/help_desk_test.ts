// The three dialogs of the help desk, with all services and a real phone page: verify the caller, a bypass code, and a lost phone.

import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import type { Role } from "../../console/api/auth/admin_records.ts";
import { type HelpDeskSite, openHelpDesk } from "../console/help_desk_site.ts";
import { browserTest, currentDist, holds, LOOKS, openTab, type Tab } from "./browser.ts";
import { assertHolds, findPageProblems, findTextProblems } from "./page_checks.ts";

const TICK_MS = 50;
const BYPASS_REPLACES = "The user has a bypass code. The new one replaces it.";

interface Desk extends Tab {
  readonly site: HelpDeskSite;
  readonly origin: string;
  /** Opens the page of ada. */
  enter(role?: Role): Promise<void>;
  /** The phone page of a new phone of ada, in a tab of its own. */
  openPhone(): Promise<Tab>;
}

function deskTest(
  name: string,
  body: (desk: Desk) => Promise<void>,
  options: Parameters<typeof browserTest>[2] & { readonly toml?: string } = {},
): void {
  browserTest(name, async (tab) => {
    await using site = await openHelpDesk({ dist: await currentDist(), toml: options.toml ?? "" });
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
      (request) => site.app(request, { remoteAddress: "192.0.2.9" }),
    );
    // The services wait by this clock, and the pages by that of the browser.
    using _ticking = tick(site);
    const origin = `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`;
    const setCookie = async (page: Page, cookie: string) => {
      const [name = "", value = ""] = cookie.split("=");
      await page.context().addCookies([{ name, value, url: origin }]);
    };
    await body({
      ...tab,
      site,
      origin,
      async enter(role = "help_desk") {
        await setCookie(tab.page, await site.cookieOf(role));
        await tab.page.goto(`${origin}/users/ada`);
        await tab.page.getByRole("heading", { name: "ada", level: 1 }).waitFor();
        await tab.page.locator("html[data-keys]").waitFor({ state: "attached" });
      },
      async openPhone() {
        const { text } = await site.ask("POST", "/users/ada/invitation", {});
        const phone = await openTab(LOOKS.narrow);
        await phone.page.goto(`${origin}/device${new URL(JSON.parse(text).link).hash}`);
        await phone.page.getByRole("button", { name: "Pair this phone" }).click();
        await phone.page.getByText("This phone is paired.").waitFor();
        return phone;
      },
    });
  }, options);
}

/** Lets the clock of the services follow the real one. */
function tick({ clock }: HelpDeskSite): Disposable {
  const timer = setInterval(() => clock.advance(TICK_MS), TICK_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const dialogOf = (page: Page) => page.getByRole("dialog");
const open = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).first().click();

deskTest(
  "help desk: a caller is verified with the number that the dialog shows, and the result appears live",
  async ({ page, enter, openPhone, site }) => {
    const phone = await openPhone();
    await enter();
    await open(page, "Verify caller");
    const dialog = dialogOf(page);
    await assertHolds(page);
    await dialog.getByRole("button", { name: "Ask the phone" }).click();
    const digits = dialog.locator(".verify-digits");
    await digits.waitFor();
    const number = (await digits.innerText()).replace(/\s/g, "");
    assertMatch(number, /^[1-9][0-9]$/);
    await dialog.getByText("Waiting for the phone").waitFor();
    assertEquals(await findPageProblems(page), []);
    const card = phone.page.getByRole("form", { name: "Are you on the phone with the help desk?" });
    await card.getByText("hanna").waitFor();
    assertEquals(await findPageProblems(phone.page), []);
    await card.getByLabel("Number that the help desk reads out").fill(number);
    await card.getByRole("button", { name: "Confirm" }).click();
    await phone.page.getByText("Confirmed. The help desk sees that it is you.").waitFor();
    await dialog.getByText("Verified", { exact: true }).waitFor();
    const answered = await site.audited("caller.answered");
    assertEquals(answered.map(({ after }) => after), ["verified"]);
    await dialog.getByRole("button", { name: "Close" }).last().click();
    const verified = /^Caller verified by hanna/;
    await page.locator("main").getByText(verified).waitFor();
    await page.reload();
    await page.locator("main").getByText(verified).waitFor();
    for (const name of ["Lost phone", "Issue bypass code"]) {
      await open(page, name);
      await dialogOf(page).getByText(verified).waitFor();
      await page.keyboard.press("Escape");
      await dialogOf(page).waitFor({ state: "detached" });
    }
    await phone.context.close();
  },
);

deskTest(
  "help desk: a user who did not call reports it, and the dialog and the console show it",
  async ({ page, enter, openPhone }) => {
    const phone = await openPhone();
    await enter();
    await open(page, "Verify caller");
    const dialog = dialogOf(page);
    await dialog.getByRole("button", { name: "Ask the phone" }).click();
    await phone.page.getByRole("button", { name: "I did not call the help desk" }).click();
    await phone.page.getByText("Reported.").waitFor();
    await dialog.getByText("The user did not call", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await page.reload();
    await page.getByText("ada reported: I did not call the help desk.").waitFor();
    await phone.context.close();
  },
);

deskTest(
  "help desk: closing the dialog ends the question on the phone",
  async ({ page, enter, openPhone, site }) => {
    const phone = await openPhone();
    await enter();
    await open(page, "Verify caller");
    await dialogOf(page).getByRole("button", { name: "Ask the phone" }).click();
    const card = phone.page.getByRole("form", { name: "Are you on the phone with the help desk?" });
    await card.waitFor();
    await page.keyboard.press("Escape");
    await card.waitFor({ state: "detached" });
    assertEquals((await site.audited("caller.answered")).map(({ after }) => after), ["cancelled"]);
    await phone.context.close();
  },
);

deskTest(
  "help desk: a bypass code is shown once, with its limits, by the keyboard alone, and revoked",
  async ({ page, enter, site }) => {
    await enter();
    await page.getByRole("button", { name: "Issue bypass code" }).focus();
    await page.keyboard.press("Enter");
    const dialog = dialogOf(page);
    await dialog.getByLabel("Valid for").waitFor();
    await dialog.getByLabel("Valid for").selectOption("3");
    await dialog.getByLabel("Note or ticket").fill("Ticket 17");
    await page.keyboard.press("Enter");
    const secret = dialog.getByRole("group", { name: "Bypass code" });
    await secret.waitFor();
    const code = await secret.innerText();
    assertMatch(code, /^[0-9]{5}-[0-9]{5}$/);
    const size = await secret.evaluate((node) => parseFloat(getComputedStyle(node).fontSize));
    assertEquals(size >= 28, true);
    await holds(() => dialog.getByRole("button", { name: /^Copy/ }).allInnerTexts(), ["Copy code"]);
    assertEquals(site.radius.bypassCodes.matches("ada", code), true);
    assertEquals(await findPageProblems(page), []);
    await dialog.getByRole("checkbox").check();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByText("3 sign-ins left").waitFor();
    assertEquals((await page.content()).includes(code), false);
    await page.getByRole("button", { name: "Revoke Bypass code" }).click();
    await dialogOf(page).getByRole("button", { name: "Revoke the code" }).click();
    await page.getByText("The bypass code of ada was revoked.").waitFor();
    assertEquals(site.radius.bypassCodes.status("ada"), null);
  },
);

deskTest(
  "help desk: a lost phone is revoked, with a code and a link that are shown once",
  async ({ page, enter, openPhone, site }) => {
    const phone = await openPhone();
    await enter();
    await open(page, "Lost phone");
    const dialog = dialogOf(page);
    await dialog.getByText("Phones to revoke").waitFor();
    await dialog.getByRole("button", { name: "Revoke and invite" }).click();
    await dialog.getByRole("group", { name: "Bypass code" }).waitFor();
    await dialog.getByRole("img", { name: "QR code of the pairing link" }).waitFor();
    await dialog.getByText("/device#invite=").waitFor();
    assertEquals(await findPageProblems(page), []);
    assertEquals([site.radius.pairings.of("ada").length, site.radius.bypassCodes.status("ada")?.usesLeft], [
      0,
      1,
    ]);
    await phone.page.getByRole("button", { name: "Show pairing phrase" }).waitFor();
    await phone.context.close();

    // The same warnings as in the dialog of a bypass code.
    await dialog.getByRole("checkbox").check();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByText("1 sign-in left").waitFor();
    await open(page, "Lost phone");
    await dialog.getByText(BYPASS_REPLACES).waitFor();
  },
);

deskTest(
  "help desk: the link cannot be mailed to a user without an address, and the dialog says why",
  async ({ page, site, origin, enter }) => {
    await site.ask("POST", "/users", { user: { userName: "kim" } });
    await enter();
    await page.goto(`${origin}/users/kim`);
    await open(page, "Lost phone");
    const box = dialogOf(page).getByRole("checkbox", { name: "Email the link to the user" });
    await holds(() => box.isDisabled(), true);
    await dialogOf(page).getByTitle("This user has no email address").waitFor();
  },
);

deskTest("help desk: the dialogs in German at 320 px", async ({ page, enter, openPhone }) => {
  const phone = await openPhone();
  await page.addInitScript(() => localStorage.setItem("countersign-language", "de"));
  await enter();
  for (const name of ["Anrufer prüfen", "Ersatzcode ausstellen", "Telefon verloren"]) {
    await open(page, name);
    await dialogOf(page).waitFor();
    assertEquals(await findTextProblems(page), []);
    await page.keyboard.press("Escape");
    await dialogOf(page).waitFor({ state: "detached" });
  }
  await phone.context.close();
}, { look: "narrow" });
