// Conflicting changes of an object, and two targets: dialogs name the other administrator, and no page shows the other
// target.

import { assertEquals } from "@std/assert";
import { CLIENT_RULES } from "../fakes/client_rules.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";
import type { Page } from "../packages/playwright.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems } from "./page_checks.ts";
import { holdCalls } from "./held_calls.ts";
import { goWithin } from "./pages/page_walk.ts";
import { runUserAction } from "./user_menu.ts";

const test = consoleTests(startPeopleConsole, { role: "user_manager" });

const dist = await currentDist();
/** "15 Jan 2027, 08:00:00", in English or German. */
const TIME = String.raw`\d{1,2}[ .]\w+[ .]\d{4}, \d\d:\d\d:\d\d`;

/** Changes the title of ada in another role, through the API. */
async function changeTitle(site: PeopleConsole, role: string, title: string): Promise<void> {
  const stored = await site.target.directory.read("user", "ada");
  const json = { user: { title }, version: stored?.version };
  const response = await site.call("/console/api/users/ada", {
    method: "PUT",
    json,
    cookie: await site.signIn(role),
  });
  assertEquals(response.status, 200, await response.text());
}

async function review(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
}

const alertOf = (page: Page) => page.getByRole("dialog").getByRole("alert");

test("conflict: a user's dialog names the other administrator and the time", async ({ page, site, open }) => {
  await site.put("ada", { title: "old" });
  await open("/users/ada#profile", "ada");
  await page.getByLabel("Department").fill("analysis");
  await changeTitle(site, "owner", "new");
  await review(page);
  await alertOf(page).getByText(new RegExp(`^owner changed this on ${TIME}\\.$`)).waitFor();
  await alertOf(page).getByText("Changed fields: Job title.").waitFor();
  assertEquals(await findAccessibilityProblems(page), []);
});

test("conflict: a user's dialog recognizes the same administrator in another tab", async ({ page, site, open }) => {
  await site.put("ada", { title: "old" });
  await open("/users/ada#profile", "ada");
  const other = await page.context().newPage();
  await other.goto(`${site.origin}/users/ada#profile`);
  await other.getByLabel("Title").fill("new");
  await page.getByLabel("Department").fill("analysis");
  await review(other);
  await other.getByText("ada was changed.").waitFor();
  await review(page);
  await alertOf(page).getByText(new RegExp(`^You changed this in another tab on ${TIME}\\.$`)).waitFor();
});

test("conflict: a user's dialog names no other administrator after a change of memberships", async ({ page, site, open }) => {
  await site.put("ada", { title: "old" });
  await site.putGroup("ops");
  await open("/users/ada#profile", "ada");
  await page.getByLabel("Department").fill("analysis");
  await site.target.changeMembers("ops", { add: ["ada"], remove: [] }, {
    actor: { name: "scim:hr", source: "192.0.2.7" },
  });
  await review(page);
  await alertOf(page).getByText("ada was changed while you were editing.").waitFor();
  await alertOf(page).getByText("Changed fields: Groups.").waitFor();
});

test("conflict: the dialog of a deletion names the administrator who changed the user", async ({ page, site, open }) => {
  await site.put("ada", { title: "old" });
  await open("/users/ada", "ada");
  // The heading appears before the user does; the menu appears with the version for the deletion.
  await page.getByRole("button", { name: "More ada" }).waitFor();
  await changeTitle(site, "owner", "new");
  await runUserAction(page, "Delete");
  await page.getByRole("dialog").getByRole("button", { name: "Delete ada" }).click();
  await alertOf(page).getByText(
    new RegExp(`owner changed this on ${TIME}\\. Reload to see the latest version\\.`),
  ).waitFor();
});

test("conflict: a group's dialog names the administrator who changed the reply attributes, in both languages", async ({ page, site, open }) => {
  await site.putGroup("ops");
  const cookie = await site.signIn("owner");
  const change = async (version: number) => {
    const json = { attributes: [{ name: "Class", value: `v${version}` }], version };
    const response = await site.call("/console/api/groups/ops/replies", { method: "PUT", json, cookie });
    assertEquals(response.status, 200, await response.text());
  };
  await open("/groups/ops", "ops", { role: "owner" });
  for (
    const [language, edit, value, save, said] of [
      ["en", "Edit reply attributes", "Value", "Save", `You changed this in another tab on ${TIME}`],
      [
        "de",
        "Antwortattribute bearbeiten",
        "Wert",
        "Speichern",
        `Sie haben das am ${TIME} in einem anderen Tab geändert`,
      ],
    ] as const
  ) {
    await page.evaluate((language) => localStorage.setItem("countersign-language", language), language);
    await page.reload();
    await page.getByRole("button", { name: edit }).click();
    const dialog = page.getByRole("dialog");
    await change(language === "en" ? 0 : 1);
    if (language === "en") await dialog.getByLabel("Attribute", { exact: true }).fill("Filter-Id");
    await dialog.getByLabel(value, { exact: true }).fill("mine");
    await dialog.getByRole("button", { name: save, exact: true }).click();
    await alertOf(page).getByText(new RegExp(said)).waitFor();
  }
});

browserTest("conflict: a client's dialog says who changed it, in German", async ({ page }) => {
  await using site = await startConnectConsole({ dist });
  const cookie = await site.signIn("owner");
  const call = async (path: string, method: string, json: unknown) => {
    const response = await site.call(`/console/api${path}`, { method, json, cookie });
    assertEquals(response.status, 200, await response.text());
  };
  await call("/clients", "POST", { ...CLIENT_RULES, name: "vpn-1", secret: "a-secret-of-16-octets" });
  await page.addInitScript(() => localStorage.setItem("countersign-language", "de"));
  await enterAs(page, { site, role: "owner", path: "/clients/vpn-1", heading: "vpn-1" });
  await page.getByLabel("NAS-Identifier").fill("edge");
  await call("/clients/vpn-1", "PUT", { ...CLIENT_RULES, device: "hold", version: 1 });
  await page.getByRole("button", { name: "Änderungen prüfen" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Speichern", exact: true }).click();
  await alertOf(page).getByText(new RegExp(`^Sie haben das am ${TIME} in einem anderen Tab geändert\\.$`))
    .waitFor();
});

/** The list offers a second target, "crm". */
async function offerTargets(page: Page): Promise<void> {
  await page.route(/\/console\/api\/users\?*$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...await response.json(), targets: ["people", "crm"] } });
  });
}

test("users: another target starts with an empty list", async ({ page, site, open }) => {
  await site.put("ada");
  await offerTargets(page);
  await open("/users", "Users");
  await page.getByLabel("Select ada").check();
  const other = await holdCalls(page, /\/console\/api\/users\?.*target=crm/);
  const target = page.getByRole("combobox", { name: "Directory" });
  await target.focus();
  await target.selectOption("crm");
  await other.begun;
  assertEquals(await page.getByRole("row", { name: /ada/ }).count(), 0);
  assertEquals(await page.getByRole("region", { name: /selected/ }).count(), 0);
  assertEquals(await target.evaluate((one) => one === document.activeElement), true, "the focus stays");
  other.release();
});

test("users: the page of a user starts empty for another target", async ({ page, site, open }) => {
  await site.put("ada");
  await open("/users/ada", "ada");
  const actions = page.getByRole("button", { name: "More ada" });
  await actions.waitFor();
  const other = await holdCalls(page, /\/console\/api\/users\/ada\?.*target=crm/);
  await goWithin(page, "/users/ada?target=crm");
  await other.begun;
  assertEquals(await actions.count(), 0);
  other.release();
});
