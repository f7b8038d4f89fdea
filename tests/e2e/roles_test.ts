// Every role on every page: nothing is hidden, what may not be done says which role it needs, and nothing that may not be done can
// be pressed. Which role that is, is the route table's knowledge.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { isAllowed, type Role, ROLES } from "../../console/api/auth/permissions.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { browserTest, closeBrowserAtEnd, currentDist } from "./browser.ts";
import { PLACE_ROWS, rowOf } from "./place_rows.ts";
import { ROLE_DEEDS } from "./role_deeds.ts";
import { arrived, failureOf, goWithin, openPlace, seen } from "./place_walk.ts";

const dist = await currentDist();
const NEEDS: Readonly<Record<Role, string>> = {
  viewer: "",
  operator: "Needs the operator role",
  user_manager: "Needs the user manager role",
  owner: "Needs the owner role",
};
/** As methods and paths; reading is everybody's, unless it takes things along. */
const DEEDS = CONSOLE_ROUTES.filter(({ method, path, needs }) =>
  needs !== "anyone" && (method !== "GET" || path.startsWith("/export/"))
);

/** Pages and parts that a viewer may not see, and what stands there instead. */
const CLOSED: Readonly<Record<string, string>> = {
  "import": NEEDS.user_manager,
  "credentials": NEEDS.owner,
  "access, tokens": NEEDS.owner,
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

/** What is said of the button; `null` where it can be pressed. */
async function reasonOf(page: Page, name: string): Promise<string | null> {
  const button = page.locator("main").getByRole("button", { name, exact: true }).filter({ visible: true })
    .first();
  await button.waitFor();
  return await button.isDisabled() ? await button.getAttribute("title") ?? "" : null;
}

/** Whether the page lets `role` do it, or says the role that it needs and no other reason that has to do with roles. */
async function judge(page: Page, name: string, { role, needs }: { role: Role; needs: Role }): Promise<void> {
  const reason = await reasonOf(page, name);
  if (!isAllowed(role, needs)) assertEquals(reason, NEEDS[needs]);
  else assert(reason === null || (reason !== "" && !Object.values(NEEDS).includes(reason)), reason ?? "");
}

for (const role of ROLES) {
  browserTest(
    `roles: ${role} finds every deed, and may do it or reads which role it needs`,
    async ({ page }) => {
      await using site = await startFullConsole({ dist });
      const problems: string[] = [];
      const found = DEEDS.flatMap(({ method, path, needs }) => {
        const deed = ROLE_DEEDS[`${method} ${path}`];
        return deed !== undefined && "page" in deed && needs !== "anyone" ? [{ ...deed, needs }] : [];
      });
      for (const [name, deeds] of Map.groupBy(found, ({ page }) => page)) {
        // A number address serves here: what needs a host name says so.
        const { byName: _any, ...row } = rowOf(name);
        await openPlace(page, { site, row, role });
        for (const { button, needs } of deeds) {
          const problem = await failureOf(() => judge(page, button, { role, needs }));
          if (problem !== null) problems.push(`${name}, ${button}: ${problem}`);
        }
        problems.push(...(await unexplained(page)).map((html) => `${name}: ${html}`));
      }
      assertEquals(problems, []);
    },
  );
}

browserTest(
  "roles: nothing that a viewer cannot press is without its reason, on every page",
  async ({ page }) => {
    await using site = await startFullConsole({ dist });
    const open = Object.entries(PLACE_ROWS).filter(([name, row]) =>
      row.outside !== true && !(name in CLOSED)
    );
    const problems: string[] = [];
    for (const [name, row] of open) {
      const { byName: _any, ...there } = row;
      await openPlace(page, { site, row: there, role: "viewer" });
      problems.push(...(await unexplained(page)).map((html) => `${name}: ${html}`));
    }
    assertEquals(problems, []);
  },
);

for (const role of ROLES) {
  browserTest(`roles: a page that ${role} may not see says which role it needs`, async ({ page }) => {
    await using site = await startFullConsole({ dist });
    for (const [name, reason] of Object.entries(CLOSED)) {
      const isOpen = ROLES.some((needs) => NEEDS[needs] === reason && isAllowed(role, needs));
      const row = rowOf(name);
      await openPlace(page, { site, row: isOpen ? row : { ...row, shows: () => reason }, role });
      if (!isOpen) assertEquals(await page.locator("main").getByRole("textbox").count(), 0, name);
      else assertEquals(await page.getByText(reason, { exact: true }).count(), 0, name);
    }
  });
}

browserTest("roles: keys and the palette do nothing that the role may not", async ({ page }) => {
  await using site = await startFullConsole({ dist });
  await openPlace(page, { site, row: rowOf("users"), role: "viewer" });
  await page.keyboard.press("c");
  await page.keyboard.press("u");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await seen(help, "Create user");
  await seen(help, NEEDS.user_manager);
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  await goWithin(page, "/groups");
  await arrived(page, { site, row: rowOf("groups") });
  await page.keyboard.press("c");
  await page.keyboard.press("g");
  // The page takes keys, and this one comes after those two.
  await page.keyboard.press("?");
  await seen(help, "Create group");
  assertEquals(await page.getByRole("dialog").count(), 1);
});

Deno.test("ROLE_DEEDS has every deed of the route table and no other, each on a page that is there", () => {
  const routes = DEEDS.map(({ method, path }) => `${method} ${path}`);
  assertEquals(Object.keys(ROLE_DEEDS).toSorted(), routes.toSorted());
  for (const [route, deed] of Object.entries(ROLE_DEEDS)) {
    if ("page" in deed) assert(deed.page in PLACE_ROWS, route);
    if ("closes" in deed) assert(deed.closes in CLOSED, route);
    if ("follows" in deed) assert(deed.follows in ROLE_DEEDS, route);
    if ("because" in deed) assert(deed.because.length > 20, route);
  }
  for (const name of Object.keys(CLOSED)) assert(name in PLACE_ROWS, name);
});

closeBrowserAtEnd();
