// The Test inbox page: captured SMS messages and calls, with masked numbers. Owners read one on request.

import { assertEquals } from "@std/assert";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems, scrollsSideways } from "./page_checks.ts";

const test = consoleTests(startConsole, { role: "viewer" });

function put(site: TestConsole, kind: "text" | "call" = "text", id = "m1"): void {
  const createdMs = Date.now();
  site.outbox.put({ id, kind, to: "+15550100", createdMs, deadlineMs: createdMs + 300_000 }, "Code 1234");
}

test("a viewer sees masked messages, but reads none", async ({ page, site, open }) => {
  put(site);
  await open("/test-inbox", "Test inbox");
  const reveal = page.getByRole("button", { name: "Reveal the message to +1****100" });
  assertEquals([await reveal.isDisabled(), await reveal.getAttribute("title")], [
    true,
    "Requires the owner role",
  ]);
  assertEquals(await page.getByText("+15550100").count(), 0);
});

test("an owner sees a message as it arrives, reads it by keyboard, and hides it again", async ({ page, site, open }) => {
  await open("/test-inbox", "Test inbox", { role: "owner" });
  await page.getByText("No messages").waitFor();
  put(site, "call");
  const reveal = page.getByRole("button", { name: "Reveal the message" });
  await reveal.focus();
  await page.keyboard.press("Enter");
  await page.getByText("Code 1234").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Code 1234").waitFor({ state: "detached" });
});

test("messages are on their own page, not on Live", async ({ page, site, open }) => {
  put(site);
  await open("/live", "Sign-in log", { role: "owner" });
  await page.getByRole("link", { name: "Test inbox" }).click();
  await page.getByRole("heading", { name: "Test inbox", level: 1 }).waitFor();
  await page.getByText("+1****100").first().waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).waitFor();
  assertEquals(await page.getByText("+1****100").count(), 0);
});

for (const look of ["wide", "narrow"] as const) {
  test(
    `the Test inbox is accessible and does not scroll sideways, ${look}`,
    { look },
    async ({ page, site, open }) => {
      put(site);
      put(site, "call", "m2");
      await open("/test-inbox", "Test inbox", { role: "owner" });
      await page.getByRole("button", { name: "Reveal the message" }).nth(1).waitFor();
      assertEquals([await findAccessibilityProblems(page), await scrollsSideways(page)], [[], false]);
    },
  );
}
