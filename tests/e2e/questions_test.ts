// Actions on access that cannot be undone ask first: the focus is on the button that does nothing, and no call is made.

import { assertEquals } from "@std/assert";
import { startFullConsole } from "../fakes/console_full.ts";
import { consoleTests } from "./console_tests.ts";
import { rowOf } from "./pages/page_rows.ts";
import type { Step } from "./pages/page_row.ts";
import { openPage, take } from "./pages/page_walk.ts";

const test = consoleTests(startFullConsole, { role: "owner" });

/** The page, what the user does there, and the question. */
const ROWS: readonly (readonly [page: string, steps: readonly Step[], question: string | RegExp])[] = [
  ["deleted users", [["checkbox", "Select adaz"], ["button", "Restore"]], "Restore 1 user?"],
  ["connection, existing users", [["button", "Accept bob"]], /^Let .+ manage 1 user or group\?$/],
  ["connection, existing users", [["button", "Refuse bob"]], "Refuse 1 user or group?"],
  ["access", [["button", "Change Grace"], ["button", "End sessions"]], "End sessions: Grace?"],
  ["access", [["button", "Change Grace"], ["button", "Reset sign-in"]], "Reset sign-in: Grace?"],
  [
    "access",
    [["button", "Change Invited"], ["button", "Withdraw invitation"]],
    "Withdraw invitation: Invited?",
  ],
  ["user, factors", [["button", /^Revoke Text message/]], /^Revoke /],
];

for (const [name, steps, question] of ROWS) {
  const { length } = steps;
  test(`questions: ${name}, ${String(steps[length - 1]?.[1])}`, async ({ page, site }) => {
    await openPage(page, { site, row: rowOf(name) });
    const calls: string[] = [];
    page.on("request", (request) => {
      if (request.method() !== "GET") calls.push(`${request.method()} ${new URL(request.url()).pathname}`);
    });
    await take(page, steps);
    const dialog = page.getByRole("dialog", { name: question });
    await dialog.waitFor();
    const focused = await page.evaluate(() => document.activeElement?.textContent ?? "");
    assertEquals(["Cancel", "Keep"].includes(focused), true, focused);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    assertEquals(calls.filter((call) => !call.endsWith("/session/stay")), []);
  });
}
