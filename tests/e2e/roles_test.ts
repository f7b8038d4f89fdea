// Every role on every page: the pages hide nothing, and a button that the role may not use is disabled and names the
// required role. The route table has the role of each action.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { isAllowed, type Role, ROLES } from "../../console/api/auth/admin_records.ts";
import { isPermitted } from "../../console/api/auth/permissions.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { PAGE_ROWS, rowOf } from "./pages/page_rows.ts";
import { type ButtonAction, ROLE_ACTIONS } from "./role_actions.ts";
import { arrived, failureOf, goWithin, openPage, pageOpener, seen } from "./pages/page_walk.ts";
import { consoleTests } from "./console_tests.ts";

const test = consoleTests(startFullConsole, { role: "owner" });

const NEEDS: Readonly<Record<Role, string>> = {
  viewer: "",
  help_desk: "Requires the help desk role",
  operator: "Requires the operator role",
  user_manager: "Requires the user manager role",
  owner: "Requires the owner role",
};
/** The routes that write or export. Every role may read. */
const WRITING_ROUTES = CONSOLE_ROUTES.filter(({ method, path, needs }) =>
  needs !== "anyone" && (method !== "GET" || path.startsWith("/export/"))
);

/** Pages and parts that a viewer may not see, and the text that they show instead. */
const CLOSED: Readonly<Record<string, string>> = {
  "import": NEEDS.user_manager,
  "credentials": NEEDS.owner,
  "policies": NEEDS.user_manager,
  "access, tokens": NEEDS.owner,
};

/** Disabled controls that give no reason. */
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
      // At the end of a list the pager is disabled, and its count is the reason.
      .filter((element) => element.checkVisibility() && element.closest(".pager") === null && !said(element))
      .map((element) => element.outerHTML.slice(0, 160));
  });
}

/** The reason why the button is disabled; `null` if it is enabled. */
async function reasonOf(page: Page, { button: name, menu }: ButtonAction): Promise<string | null> {
  const main = page.locator("main");
  if (menu !== undefined) {
    await main.getByRole("button", { name: menu, exact: typeof menu === "string" }).first().click();
  }
  // The name of a disabled item ends with the reason.
  const item = {
    name: menu === undefined ? name : new RegExp(`^${RegExp.escape(name)}( [(]|$)`),
    exact: true,
  };
  const button = main.getByRole(menu === undefined ? "button" : "menuitem", item).filter({ visible: true })
    .first();
  await button.waitFor();
  const reason = await button.isDisabled() ? await button.getAttribute("title") ?? "" : null;
  if (menu !== undefined) await page.keyboard.press("Escape");
  return reason;
}

/** Asserts that the button is enabled for `role`, or that its reason is the role that it needs. */
async function judge(
  page: Page,
  action: ButtonAction,
  { role, needs, helpDesk }: { role: Role; needs: Role; helpDesk: boolean },
): Promise<void> {
  const reason = await reasonOf(page, action);
  if (!isPermitted(role, { needs, helpDesk })) assertEquals(reason, NEEDS[helpDesk ? "help_desk" : needs]);
  else assert(reason === null || (reason !== "" && !Object.values(NEEDS).includes(reason)), reason ?? "");
}

for (const role of ROLES) {
  test(`roles: ${role} finds every action enabled or with the required role, also on closed pages`, async ({ page, site }) => {
    const problems: string[] = [];
    const openRow = pageOpener(page, { site, role });
    const found = WRITING_ROUTES.flatMap(({ method, path, needs, helpDesk }) => {
      const action = ROLE_ACTIONS[`${method} ${path}`];
      return action !== undefined && "page" in action && needs !== "anyone"
        ? [{ ...action, needs, helpDesk }]
        : [];
    });
    for (const [name, actions] of Map.groupBy(found, ({ page }) => page)) {
      // An IP address is used here: passkeys need a host name, and their button gives that reason.
      const { byName: _any, ...row } = rowOf(name);
      await openRow(row);
      for (const { needs, helpDesk, ...action } of actions) {
        const problem = await failureOf(() => judge(page, action, { role, needs, helpDesk }));
        if (problem !== null) problems.push(`${name}, ${action.button}: ${problem}`);
      }
      problems.push(...(await unexplained(page)).map((html) => `${name}: ${html}`));
    }
    assertEquals(problems, []);
    for (const [name, reason] of Object.entries(CLOSED)) {
      const isOpen = ROLES.some((needs) => NEEDS[needs] === reason && isAllowed(role, needs));
      const row = rowOf(name);
      await openRow(isOpen ? row : { ...row, shows: () => reason });
      if (!isOpen) assertEquals(await page.locator("main").getByRole("textbox").count(), 0, name);
      else assertEquals(await page.getByText(reason, { exact: true }).count(), 0, name);
    }
  });
}

test("roles: every control that is disabled for a viewer gives its reason, on every page", async ({ page, site }) => {
  const open = Object.entries(PAGE_ROWS).filter(([name, row]) => row.outside !== true && !(name in CLOSED));
  const problems: string[] = [];
  const openRow = pageOpener(page, { site, role: "viewer" });
  for (const [name, row] of open) {
    const { byName: _any, ...there } = row;
    await openRow(there);
    problems.push(...(await unexplained(page)).map((html) => `${name}: ${html}`));
  }
  assertEquals(problems, []);
});

test("roles: keys and the palette start no action that the role may not use", async ({ page, site }) => {
  await openPage(page, { site, row: rowOf("users"), role: "viewer" });
  await page.keyboard.press("c");
  await page.keyboard.press("u");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await seen(help, "Create user");
  await seen(help, NEEDS.user_manager);
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  await goWithin(page, "/groups");
  await arrived(page, { site, row: rowOf("groups") });
  await page.keyboard.press("c");
  await page.keyboard.press("g");
  // The page handles keys, and this one follows those two.
  await page.keyboard.press("?");
  await seen(help, "Create group");
  assertEquals(await page.getByRole("dialog").count(), 1);
});

Deno.test("ROLE_ACTIONS has exactly the actions of the route table, each on a page that exists", () => {
  const routes = WRITING_ROUTES.map(({ method, path }) => `${method} ${path}`);
  assertEquals(Object.keys(ROLE_ACTIONS).toSorted(), routes.toSorted());
  for (const [route, action] of Object.entries(ROLE_ACTIONS)) {
    if ("page" in action) assert(action.page in PAGE_ROWS, route);
    if ("closes" in action) assert(action.closes in CLOSED, route);
    if ("follows" in action) assert(action.follows in ROLE_ACTIONS, route);
    if ("because" in action) assert(action.because.length > 20, route);
  }
  for (const name of Object.keys(CLOSED)) assert(name in PAGE_ROWS, name);
});
