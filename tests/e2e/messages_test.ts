// The messages of a page load with the page, in the language of the administrator.

import { assertEquals } from "@std/assert";
import { startConsole } from "../fakes/console_app.ts";
import { consoleTests } from "./console_tests.ts";
import { findMessageKeys } from "./page_checks.ts";

const test = consoleTests(startConsole, { role: "owner" });

test("pages have the messages of the new language after a change, also those that were opened earlier", async ({ page, open }) => {
  await open("/users", "Users");
  await page.getByRole("link", { name: "RADIUS clients" }).click();
  await page.getByRole("heading", { name: "RADIUS clients", level: 1 }).waitFor();
  assertEquals(await findMessageKeys(page), []);
  await page.getByRole("button", { name: "Appearance" }).click();
  await page.getByRole("dialog").getByLabel("Language").selectOption("Deutsch");
  await page.getByRole("dialog", { name: "Darstellung" }).waitFor();
  await page.keyboard.press("Escape");
  for (const [link, heading] of [["Benutzer", "Benutzer"], ["Verzeichnisse", "Verzeichnisse"]] as const) {
    await page.getByRole("link", { name: link, exact: true }).click();
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    assertEquals(await findMessageKeys(page), [], heading);
  }
});

test("a page whose messages do not load shows their keys, and those of the frame", async ({ page, open, complaints }) => {
  await page.route("**/assets/messages-web-users-*", (route) => route.abort());
  await open("/users", "Users");
  assertEquals((await findMessageKeys(page)).every((line) => line.includes("users.")), true);
  assertEquals((await findMessageKeys(page)).length > 0, true);
  await page.getByRole("link", { name: "RADIUS clients" }).click();
  await page.getByRole("heading", { name: "RADIUS clients", level: 1 }).waitFor();
  assertEquals(await findMessageKeys(page), []);
  complaints.length = 0;
});
