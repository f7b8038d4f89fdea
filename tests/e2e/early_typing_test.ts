// What is typed into a form in the frame in which it appears stays: effects that run after that frame must not reset it.

import { assertEquals } from "@std/assert";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { laidOut } from "./axe.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs } from "./browser.ts";

closeBrowserAtEnd();
const dist = await currentDist();

browserTest(
  "early typing: the profile of a user keeps what is typed when its fields appear",
  async ({ page }) => {
    await using site = await startPeopleConsole({ dist });
    await site.put("ada", { title: "old" });
    await page.addInitScript(() => {
      const observer = new MutationObserver(() => {
        const field = document.querySelector("#profile-department");
        if (!(field instanceof HTMLInputElement)) return;
        observer.disconnect();
        field.value = "analysis";
        field.dispatchEvent(new Event("input", { bubbles: true }));
      });
      observer.observe(document, { childList: true, subtree: true });
    });
    await enterAs(page, { site, role: "user_manager", path: "/users/ada", heading: "ada" });
    const field = page.getByLabel("Department");
    await field.waitFor();
    // Preact runs effects at the latest 100 ms after the frame; a later drawing runs them as well.
    await page.getByLabel("Title").fill("Countess");
    await laidOut(page);
    assertEquals([await field.inputValue(), await page.getByLabel("Title").inputValue()], [
      "analysis",
      "Countess",
    ]);
  },
);
