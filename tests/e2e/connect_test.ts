// Targets, credentials and health in a real browser, over the real gateway: a directory server that stops, what is owed.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { startSlapd } from "../support/slapd.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";
import { enter, start, targetWith } from "./connect_pages.ts";

closeBrowserAtEnd();
await currentDist();

browserTest(
  "credentials: one is made, shown once with a line to try, works, and is revoked",
  async ({ page }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/credentials", heading: "SCIM credentials" });
    await page.getByText("No SCIM credentials yet.").waitFor();
    await page.getByRole("button", { name: "Add a credential" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("hr");
    await dialog.getByRole("button", { name: "Add a credential" }).click();
    const password = await page.getByRole("group", { name: "Password of hr" }).innerText();
    assertMatch(await page.getByRole("group", { name: "curl" }).innerText(), /^curl --user 'hr:/);
    const read = async () => {
      const headers = { authorization: `Basic ${btoa(`hr:${password}`)}` };
      const response = await fetch(`${gateway.httpUrl}/idm/scim/default/Users?count=1`, { headers });
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await read(), 200);
    await page.getByLabel("I have kept it").check();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Revoke hr" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("The credential hr was revoked.").waitFor();
    assertEquals(await read(), 401);
  },
);

browserTest("health: a directory server that stops is said, and that it is back", async ({ page }) => {
  const slapd = await startSlapd();
  try {
    await using gateway = await start(targetWith(slapd, "sync"));
    await enter(page, { gateway, path: "/health", heading: "Health" });
    const row = page.getByRole("row", { name: /default \/ ldap/ });
    const test = row.getByRole("button", { name: "Test default / ldap" });
    await test.click();
    await row.getByText("Good").waitFor();
    await page.getByText("2 warnings.").waitFor();
    await slapd.stop();
    await test.click();
    await row.getByText("Failing").waitFor();
    await page.getByText("1 part fails.").waitFor();
    await page.goto(`${gateway.httpUrl}/targets`);
    await page.getByText("ldap: Failing").waitFor();
    await slapd.start();
    await page.getByRole("link", { name: "default" }).click();
    await page.getByRole("button", { name: "Test ldap" }).click();
    // The embedded store is good at any time; what counts is the one that was tested.
    const backends = page.getByRole("region", { name: "Backends" }).getByRole("listitem");
    const tested = page.getByRole("button", { name: "Test ldap" });
    await backends.filter({ has: tested }).getByText("Good", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Refresh now" }).click();
    await page.getByText(/0 created, 0 updated/).waitFor();
  } finally {
    await slapd.dispose();
  }
}, { peers: ["slapd"] });

browserTest(
  "targets: a mapping is tried on a real user, a hostile name is text, and the settings are not written",
  async ({ page }) => {
    await using site = await startConnectConsole({ dist: await currentDist() });
    const hostile = '"><img src=x onerror=alert(1)>';
    await site.people.put("ada", { title: hostile });
    await enterAs(page, { site, role: "owner", path: "/targets/default", heading: "default" });
    await page.getByLabel("Preview on user").fill("nobody");
    await page.getByText("That is not in this target.").waitFor();
    await page.getByLabel("Preview on user").fill("ada");
    await page.getByText("For ada nothing changes.").waitFor();
    await page.getByText(/^[0-9]+ rows$/).click();
    await page.getByLabel("Another SCIM attribute").fill("title");
    await page.getByLabel("Its name at backends").fill("jobTitle");
    await page.getByText("For ada 2 attributes change.").waitFor();
    await page.getByRole("row", { name: /^jobTitle/ }).getByText(hostile).waitFor();
    await page.getByText(/\[targets\.default\.mapping\.user\]/).waitFor();
    assertEquals(await page.locator("img[src=x]").count(), 0);
    assertEquals(await findAccessibilityProblems(page), []);
  },
);

browserTest(
  "targets: the mapping is edited by keyboard alone, from the user to the copied lines",
  async ({ page }) => {
    const shape = { local: "store", ldap: "sync" } as const;
    await using site = await startConnectConsole({ dist: await currentDist(), shape });
    await site.people.put("ada", { title: "Countess" });
    await enterAs(page, { site, role: "owner", path: "/targets/default", heading: "default" });
    await page.getByLabel("Preview on user").waitFor();
    /** Presses Tab until the wanted control has the focus. */
    const tabTo = async (role: "textbox" | "button" | "checkbox" | "group", name: string | RegExp) => {
      const wanted = page.getByRole(role, { name }).first();
      await wanted.waitFor();
      for (let press = 0; press < 200; press += 1) {
        if (await wanted.evaluate((node) => node === document.activeElement)) return;
        await page.keyboard.press("Tab");
      }
      throw new Error(`Tab never came to the ${role} ${name}`);
    };
    await tabTo("textbox", "Preview on user");
    await page.keyboard.type("ada");
    await page.getByText("For ada nothing changes.").waitFor();
    const rows = page.locator("summary", { hasText: /^[0-9]+ rows$/ });
    for (let press = 0; press < 20; press += 1) {
      if (await rows.evaluate((node) => node === document.activeElement)) break;
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await tabTo("checkbox", "ldap keeps manager.displayName: read only");
    await page.keyboard.press("Space");
    await tabTo("textbox", "Another SCIM attribute");
    await page.keyboard.type("title");
    await page.keyboard.press("Tab");
    await page.keyboard.type("jobTitle");
    await page.getByText("For ada 2 attributes change.").waitFor();
    await page.getByText(/read_only = \["manager.displayName"\]/).waitFor();
    await tabTo("button", "Copy");
    await page.keyboard.press("Shift+Tab");
    await tabTo("group", "Mapping");
  },
);

browserTest(
  "targets: what a backend refused is a dead letter, tried again by a button",
  async ({ page }) => {
    const shape = { local: "store", crm: "async" } as const;
    await using site = await startConnectConsole({ dist: await currentDist(), shape });
    const fault = { kind: "refused", detail: "the attribute is not allowed", retry: false } as const;
    site.people.backend("crm").trouble({ operation: "put", how: "before", fault });
    await site.people.put("ada");
    // The page asks once; the write is given up by an outbox that works beside it.
    await eventually("it is a dead letter", () => site.people.target.owed(1)[0]?.nextMs === null);
    await enterAs(page, { site, role: "owner", path: "/targets", heading: "Targets" });
    await page.getByText("crm: Dead letters").waitFor();
    await page.getByRole("link", { name: "default" }).click();
    const owed = page.getByRole("region", { name: "Owed writes" });
    await owed.getByText("the attribute is not allowed").waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
    await page.getByRole("button", { name: "Try again crm" }).click();
    await page.getByText("Dead letters are tried again.").waitFor();
    assert((await site.audits()).some(({ action }) => action === "outbox.retry"));
    await page.goto(`${site.origin}/health`);
    await page.getByRole("heading", { name: "Health", level: 1 }).waitFor();
    await page.getByRole("row", { name: /Outbox/ }).waitFor();
  },
);

const PAGES = [
  ["/clients", "RADIUS clients"],
  ["/clients/of-file", "of-file"],
  ["/targets", "Targets"],
  ["/targets/default", "default"],
  ["/credentials", "SCIM credentials"],
  ["/health", "Health"],
] as const;

for (const look of ["light", "small"] as const) {
  browserTest(`connect: axe finds nothing on the pages and their dialogs, ${look}`, async ({ page }) => {
    await using gateway = await start();
    await enter(page, { gateway, path: "/clients", heading: "RADIUS clients" });
    const problems: string[] = [];
    const check = async (what: string) => {
      if (await scrollsSideways(page)) problems.push(`${what}: scrolls sideways`);
      problems.push(...(await findAccessibilityProblems(page)).map((one) => `${what}: ${one}`));
    };
    for (const [path, heading] of PAGES) {
      await page.goto(gateway.httpUrl + path);
      await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
      await page.locator(".skeleton").waitFor({ state: "detached" });
      for (const scheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        await check(`${path} ${scheme}`);
      }
    }
    await page.goto(`${gateway.httpUrl}/clients`);
    await page.getByRole("button", { name: "Add a client" }).click();
    await page.getByText("Send a login from the client now.").waitFor();
    await check("adding a client");
    await page.goto(`${gateway.httpUrl}/credentials`);
    await page.getByRole("button", { name: "Add a credential" }).click();
    await page.getByRole("dialog").waitFor();
    await check("adding a credential");
    assertEquals(problems, []);
  }, { look });
}
