// Read-only attributes of a backend on the pages: shown as marked text, and selected in the mapping.

import { assertEquals } from "@std/assert";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { findAccessibilityProblems } from "./page_checks.ts";
import { browserTest, currentDist, enterAs } from "./browser.ts";

browserTest(
  "users: an attribute that is read-only in every backend is marked text, and others are fields",
  async ({ page }) => {
    const shape = { local: "store", "ldap-a": "sync" } as const;
    const readOnly = { "ldap-a": ["title", "emails[].value"] };
    await using site = await startPeopleConsole({ shape, readOnly, dist: await currentDist() });
    await site.put("ada", { displayName: "Ada Lovelace" });
    const held = site.backend("ldap-a").users.get("ada");
    const hostile = '"><img src=x onerror=alert(1)>';
    if (held === undefined) throw new Error("The backend does not have the user");
    const content = { ...held.content, attributes: { ...held.content.attributes, title: hostile } };
    site.backend("ldap-a").users.set("ada", { ...held, content });
    await enterAs(page, { site, role: "user_manager", path: "/users/ada#backends", heading: "ada" });
    await page.getByRole("button", { name: "Refresh from connectors" }).click();
    const truth = page.getByRole("region", { name: "Attributes by connector, for ada" });
    const row = truth.getByRole("row", { name: /^title/ });
    await row.getByText("read-only at ldap-a").waitFor();
    assertEquals(await row.getByText(hostile).count(), 2);
    assertEquals(await truth.getByText("Differs").count(), 0);
    assertEquals(await findAccessibilityProblems(page), []);
    await page.getByRole("link", { name: "Profile", exact: true }).click();
    await page.getByText("Read-only: the connectors manage this value.").first().waitFor();
    assertEquals(await page.getByRole("textbox", { name: "Title" }).count(), 0);
    assertEquals(await page.getByRole("button", { name: "Add email address" }).count(), 0);
    await page.getByRole("textbox", { name: "Department" }).fill("Engines");
    assertEquals(await findAccessibilityProblems(page), []);
  },
);

browserTest(
  "users: an attribute that is read-only in one of two backends is announced before saving, and written to the other",
  async ({ page }) => {
    const shape = { "ldap-a": "sync", "ldap-b": "sync" } as const;
    const readOnly = { "ldap-a": ["title"] };
    await using site = await startPeopleConsole({ shape, readOnly, dist: await currentDist() });
    await site.put("ada");
    await enterAs(page, { site, role: "user_manager", path: "/users/ada#profile", heading: "ada" });
    await page.getByLabel("Title").fill("Countess");
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("row", { name: /^Job title/ }).getByText("read-only at ldap-a").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("ada was changed.").waitFor();
    const titles = ["ldap-a", "ldap-b"].map((name) =>
      site.backend(name).users.get("ada")?.content.attributes.title
    );
    assertEquals(titles, [undefined, "Countess"]);
  },
);

browserTest(
  "targets: a row is marked as read only by keyboard, shown beside the user's value, and counted",
  async ({ page }) => {
    const toml = `[targets.default.backends.ldap]\nkind = "ldap"\nurl = "ldap://127.0.0.1:1"\n` +
      `users_dn = "ou=people"\nread_only = ["title"]\n`;
    await using site = await startConnectConsole({ toml, dist: await currentDist() });
    await site.people.put("ada", { emails: [{ value: "ada@example.org" }] });
    await enterAs(page, { site, role: "owner", path: "/targets", heading: "Directories" });
    await page.getByRole("row", { name: /default/ }).getByText("1", { exact: true }).first().waitFor();
    await page.getByRole("columnheader", { name: "Read-only" }).waitFor();
    await page.getByRole("link", { name: "default" }).click();
    await page.getByLabel("Preview for user").fill("ada");
    // The row of an attribute has the user's value beside its checkbox.
    const emails = page.locator(".mapping-row").filter({ has: page.getByText("ada@example.org") });
    await emails.waitFor();
    assertEquals(await page.getByRole("checkbox", { name: "Read-only at ldap Job title" }).isChecked(), true);
    const always = /^Read-only at ldap (User name|ID|External ID|Active)$/;
    assertEquals(await page.getByRole("checkbox", { name: always }).count(), 0);
    const box = emails.getByRole("checkbox", { name: /^Read-only at ldap / });
    assertEquals(await box.isChecked(), false);
    await box.focus();
    await page.keyboard.press("Space");
    assertEquals(await box.isChecked(), true);
    await page.getByText("No changes for ada.").waitFor();
    await page.getByText(/\[targets\.default\.backends\.ldap\]/).waitFor();
    await page.getByText('read_only = ["title","emails[].value"]').waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
  },
);
