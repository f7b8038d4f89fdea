// The Overview page: each tile opens its list, real RADIUS packets change the counts, and a slow count holds up nothing.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { approval } from "../fakes/console_gateway.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { CODES } from "../support/radius_packets.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { startConsoleProgram } from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";
import { holdCalls } from "./held_calls.ts";
import { assertHoldsInBothLooks } from "./page_checks.ts";
import { runUserAction } from "./user_menu.ts";

const SECRET = "a secret of the overview test";
const SETTINGS = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "${SECRET}"
first_factor = "directory"

[factors.lockout]
failures = 2
`;

const tile = (page: Page, label: string) =>
  page.getByRole("list", { name: "Counts" }).getByRole("link", { name: new RegExp(`^${label}`) });

/** Waits for the count of a tile. The page reads the counts every few seconds. */
async function shows(page: Page, label: string, count: string): Promise<void> {
  await tile(page, label).getByText(count, { exact: true }).waitFor();
}

const programTest = consoleTests(startConsoleProgram, { role: "owner", toml: SETTINGS });

programTest(
  "overview: real packets lock a user; the tile leads to the list and to the user, who is unlocked there",
  async ({ page, site, open }) => {
    await open("/users", "Users");
    await page.getByRole("button", { name: "Create user" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Create user" });
    await dialog.getByLabel("User name").fill("ada");
    await dialog.getByLabel("Display name").fill("Ada Lovelace");
    await dialog.getByLabel("Password").fill("the password of ada");
    await dialog.getByRole("button", { name: "Create user" }).click();
    await page.getByRole("heading", { name: "Ada Lovelace", level: 1 }).waitFor();
    await page.getByText("No sign-ins yet.").waitFor();

    await open("/overview", "Overview");
    await shows(page, "Locked users", "0");
    await shows(page, "Users without a second factor", "1");
    await page.getByText("No rejected sign-ins in the last 24 hours.").waitFor();
    using client = openRadiusClient({ port: site.radiusPort, secret: SECRET });
    for (const password of ["wrong", "wrong again", "the password of ada"]) {
      const { code } = await client.ask({ userName: "ada", password });
      assertEquals(code, CODES.accessReject, password);
    }
    await page.reload();
    await shows(page, "Locked users", "1");
    await shows(page, "Sign-ins", "3");
    await shows(page, "Rejected sign-ins", "3");
    const rejected = page.getByRole("region", { name: "Latest rejected sign-ins" });
    await rejected.getByRole("link", { name: "User locked" }).waitFor();
    assertEquals(await rejected.getByRole("link", { name: "Wrong password" }).count(), 2);
    await page.getByRole("region", { name: "Needs attention" }).getByText("1 user is locked: ada").first()
      .waitFor();

    await tile(page, "Rejected sign-ins").click();
    await page.getByRole("heading", { name: /History|Sign-in log/, level: 1 }).waitFor();
    await page.locator("td").getByText("Wrong password").first().waitFor();
    await page.goBack();
    await tile(page, "Locked users").click();
    await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
    await page.getByRole("link", { name: "ada", exact: true }).click();
    await page.getByRole("heading", { name: "Ada Lovelace", level: 1 }).waitFor();
    const latest = page.getByRole("region", { name: "Latest sign-ins" });
    await latest.getByText("User locked").waitFor();
    assertEquals(await latest.getByText("Wrong password").count(), 2);
    await page.getByText(/^Locked until/).waitFor();
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("ada was unlocked.").waitFor();
    await open("/overview", "Overview");
    await shows(page, "Locked users", "0");

    await tile(page, "Users without a second factor").click();
    await page.getByRole("heading", { name: "Users", level: 1 }).waitFor();
    await page.getByRole("link", { name: "ada", exact: true }).waitFor();
    await page.getByRole("button", { name: /enrolled/i }).first().waitFor();
  },
);

const test = consoleTests(startFullConsole, { role: "owner" });

/** Where each tile leads. */
const TILES: readonly (readonly [label: string, path: string, query: Record<string, string | RegExp>])[] = [
  ["Sign-ins", "/history", { from: /^\d{4}-/ }],
  ["Rejected sign-ins", "/history", { outcome: "rejected", from: /^\d{4}-/ }],
  ["Pending approvals", "/live", { approvals: "open" }],
  ["Users without a second factor", "/users", { status: "active", enrolled: "no" }],
  ["Locked users", "/users", { status: "locked" }],
  ["Sync problems", "/targets", { sync: "problem" }],
];

test("overview: each tile is reached by keyboard and opens its filtered list", async ({ page, open }) => {
  await open("/overview", "Overview");
  for (const [label, path, query] of TILES) {
    const link = tile(page, label);
    await link.getByText(/^[\d ]+$/).waitFor();
    await link.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === path);
    const { searchParams } = new URL(page.url());
    for (const [name, value] of Object.entries(query)) {
      const given = searchParams.get(name) ?? "";
      assert(typeof value === "string" ? given === value : value.test(given), `${label}: ${name}=${given}`);
    }
    await page.goBack();
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  }
});

test("overview: counts that do not answer leave the rest of the page, and come later", async ({ page, site, open }) => {
  const slow = await holdCalls(page, /\/console\/api\/(overview|charts)/);
  await open("/overview", "Overview");
  await slow.begun;
  await page.getByRole("region", { name: "Latest rejected sign-ins" }).getByRole("listitem").first()
    .waitFor();
  await page.getByText("SMS and calls are captured, not sent").first().waitFor();
  assertEquals(await tile(page, "Locked users").innerText().then((text) => text.includes("–")), true);
  site.secondFactorAdmin.wait(approval("of the overview test"));
  slow.release();
  await shows(page, "Locked users", "0");
  assert(/[1-9]/.test(await tile(page, "Pending approvals").innerText()));
});

test("overview: a count that fails is named, the others stay, and a retry brings it", async ({ page, open }) => {
  await page.route("**/console/api/overview", (route) => route.fulfill({ status: 500, json: {} }));
  await open("/overview", "Overview");
  await tile(page, "Locked users").getByText("Unavailable").waitFor();
  await tile(page, "Users without a second factor").getByText(/^\d+$/).waitFor();
  await page.unroute("**/console/api/overview");
  await page.getByRole("region", { name: "Needs attention" }).getByRole("button", { name: "Try again" })
    .click();
  await tile(page, "Locked users").getByText(/^\d+$/).waitFor();
});

test("overview: the home page, light and dark, and at 320 px", async ({ page, open }) => {
  await open("/", "Overview");
  await tile(page, "Sync problems").getByText(/^\d+$/).waitFor();
  await page.locator("main .skeleton").first().waitFor({ state: "detached" });
  await assertHoldsInBothLooks(page);
});

const peopleTest = consoleTests(startPeopleConsole, { role: "user_manager" });

peopleTest(
  "user: the header has one primary action, by the factors of the user; the test speaks words",
  async ({ page, site, open }) => {
    await site.put("ada", { displayName: "Ada Lovelace" });
    await open("/users/ada", "Ada Lovelace");
    const primary = page.locator("main header .button-primary");
    assertEquals(await primary.innerText(), "Pair a phone");
    await page.getByText("User name ada").or(page.getByRole("term").filter({ hasText: "User name" })).first()
      .waitFor();
    await runUserAction(page, "Test sign-in");
    const dialog = page.getByRole("dialog", { name: "Test sign-in of ada" });
    await dialog.getByRole("button", { name: "Test sign-in" }).click();
    await dialog.getByText("No password check is configured for this client").waitFor();
    await dialog.getByText("The user has no factor; menu shown").waitFor();
    assertEquals(await dialog.getByText(/_|\{/).count(), 0, "no row names and no placeholders");
    await page.keyboard.press("Escape");
    await site.pairings.addDevice({ userName: "ada", id: "p1", totpLength: 6, name: "Pixel" });
    await page.reload();
    await page.getByText("Phone (automatic)").waitFor();
    assertEquals(await primary.innerText(), "Test sign-in");
    await primary.click();
    await dialog.getByRole("button", { name: "Test sign-in" }).click();
    await dialog.getByText("Result: a push is sent to the phone; the answer decides.").waitFor();
    await dialog.getByText("Push selected (paired phone)").waitFor();
  },
);
