// The audit's page in a real browser: hostile names are text, filters live in the address, and axe finds nothing.

import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { findAccessibilityProblems } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, scrollsSideways } from "./browser.ts";

closeBrowserAtEnd();

const HOSTILE = '"><img src=x onerror=alert(1)>';

async function open(site: TestConsole, page: Page): Promise<void> {
  await site.store.commit({
    mutations: [
      { actor: "radius", action: "user.locked", user: "ada", client: "vpn-1" },
      {
        actor: "owner",
        action: "client.changed",
        object: "client:vpn-1",
        before: "10.0.0.1",
        after: HOSTILE,
      },
      { actor: HOSTILE, action: "pairing.revoked", object: `user:${HOSTILE}`, source: "192.0.2.7" },
    ].map((record, at) => ({
      type: "set",
      key: ["audit", `0000000000${at}`],
      value: { atMs: Date.now() - 60_000, ...record },
    })),
  });
  await enterAs(page, { site, role: "viewer", path: "/audit", heading: "Audit" });
  await page.getByRole("table", { name: "What was done" }).waitFor();
}

browserTest(
  "/audit lists deeds, is narrowed by a click and by the address, and shows names as text",
  async ({ page }) => {
    await using site = await startConsole({ dist: await currentDist() });
    await open(site, page);
    const rows = page.getByRole("table").locator("tbody tr");
    assertEquals(await rows.count(), 3);
    assertEquals(await page.locator("img[src=x]").count(), 0);
    await page.getByRole("button", { name: "client:vpn-1" }).first().click();
    await page.getByRole("cell", { name: `10.0.0.1 → ${HOSTILE}` }).waitFor();
    await page.getByText("Pairing revoked").waitFor({ state: "detached" });
    assertEquals(new URL(page.url()).searchParams.get("object"), "client:vpn-1");
    assertEquals(await rows.count(), 2);
    assertEquals(await findAccessibilityProblems(page), []);
    await page.goto(`${site.origin}/audit?actor=nobody`);
    await page.getByText("No record matches").waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
  },
);

browserTest("/audit holds at 320 px", async ({ page }) => {
  await using site = await startConsole({ dist: await currentDist() });
  await open(site, page);
  assertEquals(await scrollsSideways(page), false);
  assertEquals(await findAccessibilityProblems(page), []);
}, { look: "small" });
