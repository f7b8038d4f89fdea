// The Log export page in a browser: a destination is created, tested, paused and removed.

import { assertEquals } from "@std/assert";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { chooseRowAction } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";
import { staysOpen } from "./one_time_secret.ts";
import { assertHoldsInBothLooks } from "./page_checks.ts";

const test = consoleTests(startConnectConsole, { role: "owner" });

test("a webhook is created, its secret is shown once, and it is tested, paused and removed", async ({ site, page, open }) => {
  await open("/log-export", "Log export");
  await page.getByText("There are no destinations.").waitFor();
  await page.getByRole("button", { name: "Add destination" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Add destination" });
  await dialog.getByLabel("Name").fill("hook");
  await dialog.getByLabel("Kind").selectOption({ label: "Webhook" });
  await dialog.getByLabel("URL").fill("http://hooks.example.com/in");
  await dialog.getByRole("button", { name: "Add destination" }).click();
  await dialog.getByText("The address begins with http:").waitFor();
  await dialog.getByLabel("URL").fill("https://hooks.example.com/in");
  await dialog.getByRole("button", { name: "Add destination" }).click();
  await staysOpen(page, "Signature secret of hook");
  await page.getByLabel("I have saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText("Nothing sent yet").waitFor();
  await chooseRowAction(page, { of: "hook", action: "Send a test record" });
  await page.getByText("hook: Not reachable").waitFor();
  await chooseRowAction(page, { of: "hook", action: "Pause" });
  await page.getByText("Paused", { exact: true }).waitFor();
  await assertHoldsInBothLooks(page, { within: "main" });
  await chooseRowAction(page, { of: "hook", action: "Remove" });
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("There are no destinations.").waitFor();
  assertEquals(await site.logExport.list(), []);
});

test("syslog over TLS has the fields of its kind, and an edit keeps the rest", async ({ site, page, open }) => {
  await open("/log-export", "Log export");
  await page.getByRole("button", { name: "Add destination" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("siem");
  await dialog.getByLabel("Host").fill("logs.example.com");
  await dialog.getByRole("checkbox", { name: "Audit log" }).uncheck();
  await dialog.getByRole("button", { name: "Add destination" }).click();
  await page.getByText("logs.example.com:6514").waitFor();
  await chooseRowAction(page, { of: "siem", action: "Edit" });
  await dialog.getByLabel("Port").fill("10514");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("logs.example.com:10514").waitFor();
  const [only] = await site.logExport.list();
  assertEquals([only?.settings.records, only?.version], [["logins", "alerts"], 2]);
});
