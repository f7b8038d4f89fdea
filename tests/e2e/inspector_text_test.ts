// The inspector beside the list on Live shows each text as a whole, at every width of a window.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { STEPS } from "../../radius/protocol/steps.ts";
import { startConsole } from "../fakes/console_app.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs } from "./browser.ts";

closeBrowserAtEnd();

const dist = await currentDist();
const WIDTHS_PX = [1440, 1280, 1100, 1024, 390, 320] as const;
const USER = "a.rather.long.user.name.of.a.contractor@subsidiary.example.org";
const CALLER = "2001:db8:85a3:8d3:1319:8a2e:370:7348";

/** Texts of the inspector that are cut off at the edge of their box. */
function cutTexts(page: Page): Promise<string[]> {
  return page.getByRole("complementary").evaluate((inspector) => {
    const cut: string[] = [];
    for (const element of inspector.querySelectorAll("*")) {
      const { overflowX, clipPath } = getComputedStyle(element);
      const isHidden = clipPath !== "none" || !element.checkVisibility();
      if (isHidden || overflowX === "visible" || element.textContent.trim() === "") continue;
      if (element.scrollWidth > element.clientWidth) cut.push(element.textContent);
    }
    return cut;
  });
}

for (const language of ["en", "de"] as const) {
  browserTest(`the inspector cuts no text off, whatever the step, in ${language}`, async ({ page }) => {
    await using site = await startConsole({ dist });
    await page.addInitScript((language) => localStorage.setItem("countersign-language", language), language);
    const steps = Object.keys(STEPS);
    const startedMs = Date.now() - 20_000;
    const views = steps.map((step, at) =>
      conversation(at + 1, {
        user: USER,
        place: CALLER,
        startedMs,
        step,
        moments: [{ atMs: startedMs, step, row: "pushed" }],
      })
    );
    const over = conversation(steps.length + 1, { user: USER, place: CALLER, startedMs });
    for (const view of views) site.watch.put(view);
    site.watch.put(ended(over, { outcome: "rejected", row: "not_approved", atMs: startedMs + 6240 }));
    await page.setViewportSize({ width: 1440, height: 900 });
    await enterAs(page, { site, role: "viewer" });
    const problems: string[] = [];
    for (const { id, step } of [...views, over]) {
      await page.goto(`${site.origin}/live?c=${id}`);
      // The replay and the steps come with the stream; the third section is fetched, and the explanation with it.
      await page.locator(".inspector section").nth(2).waitFor();
      for (const width of WIDTHS_PX) {
        await page.setViewportSize({ width, height: 900 });
        problems.push(...(await cutTexts(page)).map((text) => `${step}, ${width} px: ${text}`));
      }
    }
    assertEquals(problems, []);
  });
}
