// The states of the account page: no problem in either look, also with a token and a bypass code.

import { assertEquals, assertNotEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { enterByLink, type MeConsole, pairThisBrowser, startMeConsole } from "../fakes/console_me.ts";
import { openHelpDesk } from "../console/help_desk_site.ts";
import { addToken } from "../radius/rows/tokens.ts";
import {
  assertHoldsInBothLooks,
  findAccessibilityProblems,
  findPageProblems,
  type ReachState,
  scrollsSideways,
  stateTests,
} from "./page_checks.ts";
import { browserTest, currentDist, type LookName } from "./browser.ts";

// The states of the account page: its dialogs, errors and empty lists have no problem, wide in light and narrow in dark
// colors.

const dist = await currentDist();
async function enterFull(page: Page, site: MeConsole): Promise<void> {
  await site.addPhone("d1");
  await site.addPhone("d2");
  await site.addApp();
  await site.fillHistory();
  await enterByLink(page, site);
  await page.getByRole("button", { name: /^Show \d+ more/ }).waitFor();
}

async function press(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole("button", { name }).first().click();
  await page.getByRole("dialog").waitFor();
}

/** By what the user sees: how to reach the state. */
const STATES: Readonly<Record<string, ReachState<MeConsole>>> = {
  "the sign-in methods": async (page, site) => {
    await page.goto(`${site.origin}/me`);
    await page.getByRole("heading", { name: "With a one-time link" }).waitFor();
  },
  "a pasted text that is no link": async (page, site) => {
    await page.goto(`${site.origin}/me`);
    await page.getByRole("textbox", { name: "One-time link" }).fill("hello");
    await page.getByRole("button", { name: "Use link" }).click();
    await page.getByText("This is not a valid account link").waitFor();
  },
  "whose link it is": async (page, site) => {
    await page.goto(await site.link());
    await page.getByRole("button", { name: "Open my account" }).waitFor();
  },
  "a link that is used": async (page, site) => {
    await page.goto(`${site.origin}/me#Zm9vYmFyYmF6cXV4Zm9vYg`);
    await page.getByRole("alert").waitFor();
  },
  "a paired phone": async (page, site) => {
    await pairThisBrowser(page, site);
    await page.goto(`${site.origin}/me`);
    await page.getByRole("button", { name: "Continue as ada" }).waitFor();
  },
  "an empty account": enterByLink,
  "a login that waits": async (page, site) => {
    site.waits();
    await enterByLink(page, site);
    await page.getByRole("heading", { name: "A sign-in is waiting" }).waitFor();
  },
  "the last factor": async (page, site) => {
    await pairThisBrowser(page, site);
    await page.goto(`${site.origin}/me`);
    await page.getByRole("button", { name: "Continue as ada" }).click();
    await page.getByText("You can't remove your only factor here").waitFor();
  },
  "a lock": async (page, site) => {
    while (!site.limits.isLocked("ada")) site.limits.countFailure("ada");
    await enterByLink(page, site);
    await page.getByText("Your sign-ins are locked").waitFor();
  },
  "a lost server": async (page, site) => {
    await enterFull(page, site);
    await page.route("**/me/api/**", (route) => route.abort());
    await page.evaluate(() => globalThis.dispatchEvent(new Event("online")));
    await page.getByText("This page shows the data of").waitFor();
  },
  "lists that could not be fetched": async (page, site) => {
    await page.route("**/me/api/{factors,logins}", (route) => route.abort());
    await page.goto(await site.link());
    await page.getByRole("button", { name: "Open my account" }).click();
    await page.getByText("Your sign-ins could not be loaded.").waitFor();
  },
  "lists on their way": async (page, site) => {
    // Answered when the page is left. Until then the requests are pending.
    await page.route("**/me/api/{factors,logins}", () => undefined);
    await page.goto(await site.link());
    await page.getByRole("button", { name: "Open my account" }).click();
    await page.getByText("Loading…").first().waitFor();
  },
  "a session that is over": async (page, site) => {
    await enterByLink(page, site);
    await page.context().clearCookies();
    await page.evaluate(() => globalThis.dispatchEvent(new Event("online")));
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
  },
};

stateTests({
  subject: "account page",
  start: () => startMeConsole({ dist }),
  states: STATES,
  check,
});

async function check(page: Page): Promise<void> {
  assertEquals(await smallTargets(page), []);
  assertEquals(await cutOff(page), []);
}

/** Over a full account, one after the other on the same page: how to open the dialog. */
const DIALOGS: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  "another phone": async (page) => {
    await press(page, "Pair another phone");
    await page.getByRole("img", { name: /QR code/ }).waitFor();
  },
  "an app with a wrong code": async (page) => {
    await press(page, "Set up another app");
    await page.getByRole("img", { name: /QR code/ }).waitFor();
    await page.getByLabel("Code from the app").fill("123456");
    await page.getByRole("button", { name: "Verify code" }).click();
    await page.getByText("The code does not match this secret.").waitFor();
  },
  "a phone to be removed": (page) => press(page, /^Remove Phone/),
  "a login to be disowned": (page) => press(page, /^This was not me/),
  "recovery codes": async (page) => {
    await press(page, "Generate recovery codes");
    await page.keyboard.press("Escape");
    await page.getByText("Confirm that you have saved the codes").waitFor();
  },
};

browserTest(
  "account page: a full account and its dialogs have no problem, wide in light and at 320 px in dark",
  async ({ page }, context) => {
    await using site = await startMeConsole({ dist });
    await enterFull(page, site);
    await assertHoldsInBothLooks(page, { check });
    for (const [name, open] of Object.entries(DIALOGS)) {
      await context.step(name, async () => {
        await open(page);
        await assertHoldsInBothLooks(page, { check });
        const kept = page.getByLabel("I have saved them");
        if (await kept.count() > 0) {
          await kept.check();
          await page.getByRole("button", { name: "Done" }).click();
        } else await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      });
    }
    await press(page, /^This was not me/);
    await page.getByRole("dialog").getByRole("button", { name: "This was not me" }).click();
    await page.getByText("Sign-ins locked, administrators notified").waitFor();
    await assertHoldsInBothLooks(page, { check });
  },
);

/** By the button that opens it, in German, which has longer words. */
const GERMAN_DIALOGS = [
  "Weiteres Telefon koppeln",
  "Weitere App einrichten",
  "Codes erstellen",
  /^Entfernen Telefon/,
  /^Das war ich nicht/,
  "Anmeldungen sperren",
];

browserTest("me: in German every dialog fits into 320 px", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  // Before the page opens: otherwise a later login appears with the next poll, over any open dialog.
  site.waits();
  await enterFull(page, site);
  await page.getByRole("heading", { name: "A sign-in is waiting" }).waitFor();
  await page.getByLabel("Language").selectOption({ label: "Deutsch" });
  for (const name of GERMAN_DIALOGS) {
    await press(page, name);
    await page.waitForFunction(() => document.querySelector("dialog .dialog-body")?.textContent !== "");
    assertEquals(await cutOff(page), [], String(name));
    await page.keyboard.press("Escape");
    const leave = page.getByRole("button", { name: "Überspringen" });
    if (await leave.count() > 0) await leave.click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  assertEquals(await scrollsSideways(page), false);
}, { look: "narrow" });

browserTest("me: axe finds a broken contrast, label and language", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  await enterFull(page, site);
  await page.evaluate(() => {
    document.querySelector("h2")?.style.setProperty("color", "#e8eef0");
    document.querySelector("label")?.remove();
    document.documentElement.removeAttribute("lang");
  });
  const found = (await findAccessibilityProblems(page)).join("\n");
  for (const rule of ["color-contrast", "select-name", "html-has-lang"]) {
    assertNotEquals(found.indexOf(`violation ${rule}`), -1, rule);
  }
});

browserTest("me: the screenshots of the docs show a full account", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  await enterFull(page, site);
  await page.setViewportSize({ width: 760, height: 980 });
  const box = await page.getByRole("region", { name: "Phones" }).boundingBox();
  assertEquals((box?.width ?? 0) <= 640, true, "one column");
});

/** Elements that are wider than their container. Dialogs scroll by themselves, so the page does not report it. */
function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("dialog, button, a.button, section, form")]
      .filter((one) => one.scrollWidth > one.clientWidth + 1)
      .map((one) => `${one.tagName} ${one.textContent?.slice(0, 60)}`)
  );
}

/** Buttons and boxes that are too low for touch: under 44 px. */
function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("button, select, a.button, input:not([type=checkbox])")]
      .filter((one) => one.getBoundingClientRect().height < 44)
      .map((one) => one.textContent ?? "")
  );
}

// The account page with a hardware token and a bypass code: readable at 320 px, and the code is revoked by the keyboard.

const LOOKED_AT: readonly (readonly [LookName, string, RegExp])[] = [
  ["wide", "en", /Revoke the code/],
  ["narrow", "de", /Code widerrufen/],
];

for (const [look, language, revoke] of LOOKED_AT) {
  browserTest(
    `me: a token and a bypass code, ${look} in ${language}; the user revokes the code`,
    async ({ page }) => {
      await using site = await openHelpDesk({ dist: await currentDist() });
      await using server = Deno.serve(
        { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
        (request) => site.app(request, { remoteAddress: "192.0.2.9" }),
      );
      await addToken({ hardwareTokens: site.radius.hardwareTokens, store: site.store }, "ada");
      await site.ask("POST", "/users/ada/bypass", { uses: 2, minutes: 60 });
      const { url } = JSON.parse((await site.ask("POST", "/users/ada/me-link", {})).text);
      await page.addInitScript((one) => localStorage.setItem("countersign-language", String(one)), language);
      const origin = `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`;
      await page.goto(`${origin}/me${new URL(url).hash}`);
      await page.locator("main").getByRole("button").first().click();
      const button = page.getByRole("button", { name: revoke });
      await button.waitFor();
      assertEquals(await findPageProblems(page), []);
      await button.focus();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      assertEquals(await findPageProblems(page), []);
      await dialog.getByRole("button", { name: revoke }).focus();
      await page.keyboard.press("Enter");
      await button.waitFor({ state: "detached" });
      assertEquals(site.radius.bypassCodes.status("ada"), null);
      const records = await site.audited("bypass.revoke");
      assertEquals(records.map(({ actor }) => actor), ["user:ada"]);
    },
    { look },
  );
}
