// Every page as a viewer and as an operator: nothing is hidden, what may not be done says which role it needs, and nothing that may not
// be done can be pressed.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { startFullConsole } from "../fakes/console_full.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { PLACE_ROWS, rowOf } from "./place_rows.ts";
import { failureOf, goWithin, openPlace, seen } from "./place_walk.ts";

const dist = await currentDist();
const NEEDS_OPERATOR = "Needs the operator role";
const NEEDS_MANAGER = "Needs the user manager role";
const NEEDS_OWNER = "Needs the owner role";

/** What a viewer finds on a page but may not do, by name, and what is said. */
const DEEDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "live": {
    "Deny the login of ada at vpn-1": NEEDS_OPERATOR,
    "Cancel the login of ada at vpn-1": NEEDS_OPERATOR,
  },
  "health": { "Test default / ldap": NEEDS_OPERATOR },
  "users": { "Create user": NEEDS_MANAGER },
  "user": {
    "Set password": NEEDS_MANAGER,
    "Deactivate": NEEDS_MANAGER,
    "Delete": NEEDS_MANAGER,
    "Review changes": NEEDS_MANAGER,
  },
  "user, groups": { "Take out staff": NEEDS_MANAGER },
  "user, factors": {
    "Invite a phone": NEEDS_MANAGER,
    "Add an authenticator app": NEEDS_MANAGER,
    "Add a number": NEEDS_MANAGER,
  },
  "groups": { "Create group": NEEDS_MANAGER },
  "group": { "Delete group": NEEDS_MANAGER, "Take out bob": NEEDS_MANAGER },
  "devices": { "Revoke Text message bob": NEEDS_MANAGER },
  "clients": { "Add a client": NEEDS_OWNER },
  "client": { "Rotate the secret": NEEDS_OWNER, "Remove the client": NEEDS_OWNER },
  "target": { "Test ldap": NEEDS_OPERATOR, "Refresh now": NEEDS_MANAGER },
  "access": { "Invite an administrator": NEEDS_OWNER, "Change Grace": NEEDS_OWNER },
};
/** Pages and parts that a viewer may not see, and what stands there instead. */
const CLOSED: Readonly<Record<string, string>> = {
  "import": NEEDS_MANAGER,
  "credentials": NEEDS_OWNER,
  "access, tokens": NEEDS_OWNER,
};

/** What cannot be pressed and does not say why. */
function unexplained(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const said = (element: Element) => {
      const ids = (element.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id !== "");
      const texts = ids.map((id) => document.getElementById(id)?.textContent ?? "");
      return [
        element.getAttribute("title") ?? "",
        element.closest("[title]")?.getAttribute("title") ?? "",
        ...texts,
      ]
        .some((text) => text.trim() !== "");
    };
    return [...document.querySelectorAll<HTMLElement>("main :disabled, main [aria-disabled=true]")]
      // At the end of a list the pager has nowhere to go, which its count says.
      .filter((element) => element.checkVisibility() && element.closest(".pager") === null && !said(element))
      .map((element) => element.outerHTML.slice(0, 160));
  });
}

async function reasonOf(page: Page, name: string): Promise<string> {
  const button = page.locator("main").getByRole("button", { name, exact: true }).filter({ visible: true })
    .first();
  await button.waitFor();
  assert(await button.isDisabled(), `${name} can be pressed`);
  return await button.getAttribute("title") ?? "";
}

browserTest("roles: a viewer reads on every page which role each deed needs", async ({ page }) => {
  await using site = await startFullConsole({ dist });
  const open = Object.entries(PLACE_ROWS).filter(([name, row]) => row.outside !== true && !(name in CLOSED));
  const problems: string[] = [];
  for (const [name, row] of open) {
    // A number address serves here: what needs a host name says so.
    const { byName: _any, ...there } = row;
    await openPlace(page, { site, row: there, role: "viewer" });
    problems.push(...(await unexplained(page)).map((html) => `${name}: ${html}`));
    for (const [deed, reason] of Object.entries(DEEDS[name] ?? {})) {
      const problem = await failureOf(async () => assertEquals(await reasonOf(page, deed), reason));
      if (problem !== null) problems.push(`${name}, ${deed}: ${problem}`);
    }
  }
  assertEquals(problems, []);
});

browserTest("roles: a page that a viewer may not see says which role it needs", async ({ page }) => {
  await using site = await startFullConsole({ dist });
  for (const [name, reason] of Object.entries(CLOSED)) {
    const there = { ...rowOf(name), shows: () => reason };
    await openPlace(page, { site, row: there, role: "viewer" });
    assertEquals(await page.locator("main").getByRole("textbox").count(), 0, name);
  }
});

browserTest("roles: keys and the palette do nothing that the role may not", async ({ page }) => {
  await using site = await startFullConsole({ dist });
  await openPlace(page, { site, row: rowOf("users"), role: "viewer" });
  await page.keyboard.press("c");
  await page.keyboard.press("u");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await seen(help, "Create user");
  await seen(help, NEEDS_MANAGER);
  await page.keyboard.press("Escape");
  await goWithin(page, "/groups");
  await page.getByRole("heading", { name: "Groups", level: 1 }).waitFor();
  await page.keyboard.press("c");
  await page.keyboard.press("g");
  assertEquals(await page.getByRole("dialog").count(), 0);
});

Deno.test("roles: DEEDS and CLOSED name pages that are there", () => {
  for (const name of [...Object.keys(DEEDS), ...Object.keys(CLOSED)]) assert(name in PLACE_ROWS, name);
});

closeBrowserAtEnd();
