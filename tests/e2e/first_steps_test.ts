// What is left after the set-up, on Live: each step goes away when it is done or skipped. In a real browser.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import { historyKey, packFinished } from "../../radius/conversation/login_record.ts";
import { findAccessibilityProblems } from "./axe.ts";
import {
  browserTest,
  closeBrowserAtEnd,
  currentDist,
  enterAs,
  type LookName,
  scrollsSideways,
} from "./browser.ts";

const dist = await currentDist();
closeBrowserAtEnd();

const start = () => startConnectConsole({ dist, shape: { local: "store" } });
const checklist = (page: Page) => page.getByRole("region", { name: "What is left" });

browserTest("Live says what is left, and a first login is watched on the diagram", async ({ page }) => {
  await using site = await start();
  await enterAs(page, { site, role: "owner" });
  const list = checklist(page);
  await list.getByRole("link", { name: "Add a RADIUS client" }).waitFor();
  assertEquals(await list.getByRole("listitem").count(), 3);
  await list.getByRole("button", { name: "Skip Add a RADIUS client" }).click();
  await list.getByRole("button", { name: "Take up again Add a RADIUS client" }).waitFor();
  await page.reload();
  await list.getByRole("button", { name: "Take up again Add a RADIUS client" }).waitFor();
  await list.getByRole("link", { name: "Try a login" }).click();
  const step = page.getByRole("region", { name: "Step 4 of 4: Try a login" });
  await step.getByText("Waiting for a login").waitFor();
  const startedMs = Date.now();
  const view = conversation(1, { startedMs });
  site.watch.put(view);
  await page.locator(".ways path.taken").first().waitFor({ state: "attached" });
  const login = {
    ...{ user: "ada", client: "vpn-1", source: "10.1.0.7", place: "", factor: "device", startedMs },
    ...{ endedMs: startedMs + 4000, outcome: "accepted", refusedFor: null, passwordRight: true, moments: [] },
  };
  const key = historyKey(`${(startedMs * 1024).toString(36).padStart(11, "0")}abcdef`);
  await site.store.commit({ mutations: [{ type: "set", key, value: packFinished(login) }] });
  site.watch.put(ended(view, { outcome: "accepted", row: "approved", atMs: startedMs + 4000 }));
  await step.getByText("A login was let in.").waitFor();
  await step.getByRole("button", { name: "Done" }).click();
  await list.getByRole("listitem").filter({ hasText: /Done:\s*Try a login/ }).waitFor();
  await list.getByRole("button", { name: "Skip Connect a target" }).click();
  await list.waitFor({ state: "detached" });
  await page.reload();
  await page.getByRole("row").getByRole("link", { name: "ada" }).waitFor();
  assertEquals(await list.count(), 0);
});

for (const look of ["light", "small"] as const satisfies readonly LookName[]) {
  browserTest(
    `what is left: nothing that axe objects to, ${look}, and a viewer skips nothing`,
    async ({ page }) => {
      await using site = await start();
      await enterAs(page, { site, role: "viewer" });
      const skip = checklist(page).getByRole("button", { name: "Skip Try a login" });
      await skip.waitFor();
      assertEquals(await skip.isEnabled(), false);
      assertEquals(await skip.getAttribute("title"), "Needs the owner role");
      assertEquals(await findAccessibilityProblems(page), []);
      assertEquals(await scrollsSideways(page), false);
    },
    { look },
  );
}
