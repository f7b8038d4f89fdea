// The account page as axe sees it: every state, its dialogs, errors and empty lists, in light, in dark and at 320 px.

import { assertEquals, assertNotEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { enterByLink, type MeConsole, pairThisBrowser, startMeConsole } from "../fakes/console_me.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, scrollsSideways } from "./browser.ts";

const dist = await currentDist();
closeBrowserAtEnd();

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

/** By what a person sees: how to get there. */
const STATES: Readonly<Record<string, (page: Page, site: MeConsole) => Promise<void>>> = {
  "the ways in": async (page, site) => {
    await page.goto(`${site.origin}/me`);
    await page.getByRole("heading", { name: "With a one-time link" }).waitFor();
  },
  "a pasted text that is no link": async (page, site) => {
    await page.goto(`${site.origin}/me`);
    await page.getByRole("textbox", { name: "One-time link" }).fill("hello");
    await page.getByRole("button", { name: "Use the link" }).click();
    await page.getByText("That is not a link to an account").waitFor();
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
  "a full account": enterFull,
  "a login that waits": async (page, site) => {
    site.waits();
    await enterByLink(page, site);
    await page.getByRole("heading", { name: "A login is waiting" }).waitFor();
  },
  "the last factor": async (page, site) => {
    await pairThisBrowser(page, site);
    await page.goto(`${site.origin}/me`);
    await page.getByRole("button", { name: "Continue as ada" }).click();
    await page.getByText("You cannot remove it here").waitFor();
  },
  "another phone": async (page, site) => {
    await enterByLink(page, site);
    await press(page, "Pair a phone");
    await page.getByRole("img", { name: /QR code/ }).waitFor();
  },
  "an app with a wrong code": async (page, site) => {
    await enterByLink(page, site);
    await press(page, "Set up an app");
    await page.getByRole("img", { name: /QR code/ }).waitFor();
    await page.getByLabel("Code from the app").fill("123456");
    await page.getByRole("button", { name: "Check the code" }).click();
    await page.getByText("That is not the app's code.").waitFor();
  },
  "recovery codes": async (page, site) => {
    await enterByLink(page, site);
    await press(page, "Make recovery codes");
    await page.keyboard.press("Escape");
    await page.getByText("Tick that you have kept them").waitFor();
  },
  "a phone to be removed": async (page, site) => {
    await enterFull(page, site);
    await press(page, /^Remove Phone/);
  },
  "a login to be disowned": async (page, site) => {
    await enterFull(page, site);
    await press(page, /^This was not me/);
  },
  "what was stopped": async (page, site) => {
    await enterFull(page, site);
    await press(page, /^This was not me/);
    await page.getByRole("button", { name: "It was not me" }).click();
    await page.getByText("Stopped, and your administrators know").waitFor();
  },
  "a lock": async (page, site) => {
    while (!site.limits.isLocked("ada")) site.limits.fail("ada");
    await enterByLink(page, site);
    await page.getByText("Your logins are locked").waitFor();
  },
  "a lost server": async (page, site) => {
    await enterFull(page, site);
    await page.route("**/me/api/**", (route) => route.abort());
    await page.evaluate(() => globalThis.dispatchEvent(new Event("online")));
    await page.getByText("What you see is from").waitFor();
  },
  "lists that could not be fetched": async (page, site) => {
    await page.route("**/me/api/{factors,logins}", (route) => route.abort());
    await page.goto(await site.link());
    await page.getByRole("button", { name: "Open my account" }).click();
    await page.getByText("Your logins could not be fetched.").waitFor();
  },
  "lists on their way": async (page, site) => {
    // Answered when the page is left: until then they are on their way.
    await page.route("**/me/api/{factors,logins}", () => undefined);
    await page.goto(await site.link());
    await page.getByRole("button", { name: "Open my account" }).click();
    await page.getByText("Fetching…").first().waitFor();
  },
  "a session that is over": async (page, site) => {
    await enterByLink(page, site);
    await page.context().clearCookies();
    await page.evaluate(() => globalThis.dispatchEvent(new Event("online")));
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
  },
};

for (const [name, reach] of Object.entries(STATES)) {
  browserTest(
    `me: ${name} has nothing that axe objects to, in light, dark and at 320 px`,
    async ({ page }) => {
      await using site = await startMeConsole({ dist });
      await reach(page, site);
      for (
        const { colorScheme, width } of [
          { colorScheme: "light", width: 900 },
          { colorScheme: "dark", width: 900 },
          { colorScheme: "dark", width: 320 },
          { colorScheme: "light", width: 320 },
        ] as const
      ) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 860 });
        assertEquals(await findAccessibilityProblems(page), [], `${colorScheme}, ${width} px`);
        assertEquals(await scrollsSideways(page), false, `${width} px`);
        assertEquals(await smallTargets(page), [], `${width} px`);
        assertEquals(await cutOff(page), [], `${width} px`);
      }
    },
  );
}

/** By the button that opens it, in German, which has the longer words. */
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
  // Before the page opens: a login that comes later is seen with the next look, whatever dialog is open then.
  site.waits();
  await enterFull(page, site);
  await page.getByRole("heading", { name: "A login is waiting" }).waitFor();
  await page.getByLabel("Language").selectOption({ label: "Deutsch" });
  for (const name of GERMAN_DIALOGS) {
    await press(page, name);
    await page.waitForFunction(() => document.querySelector("dialog .dialog-body")?.textContent !== "");
    assertEquals(await cutOff(page), [], String(name));
    assertEquals(await findAccessibilityProblems(page), [], String(name));
    await page.keyboard.press("Escape");
    const leave = page.getByRole("button", { name: "Ohne sie weiter" });
    if (await leave.count() > 0) await leave.click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  assertEquals(await scrollsSideways(page), false);
}, { look: "small" });

browserTest("me: axe objects when contrast, a label and the language are broken", async ({ page }) => {
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

browserTest("me: the docs' pictures show a full account", async ({ page }) => {
  await using site = await startMeConsole({ dist });
  await enterFull(page, site);
  await page.setViewportSize({ width: 760, height: 980 });
  const box = await page.getByRole("region", { name: "Phones" }).boundingBox();
  assertEquals((box?.width ?? 0) <= 640, true, "one column");
});

/** What is wider than its place: dialogs scroll by themselves, so the page does not tell. */
function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("dialog, button, a.button, section, form")]
      .filter((one) => one.scrollWidth > one.clientWidth + 1)
      .map((one) => `${one.tagName} ${one.textContent?.slice(0, 60)}`)
  );
}

/** Buttons and boxes that a thumb would miss: under 44 px high. */
function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("button, select, a.button, input:not([type=checkbox])")]
      .filter((one) => one.getBoundingClientRect().height < 44)
      .map((one) => one.textContent ?? "")
  );
}
