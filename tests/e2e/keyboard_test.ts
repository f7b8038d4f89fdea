// The most common tasks with the keyboard only, against the real program. The focus is never lost.

import { assert } from "@std/assert";
import { browserTest, currentDist, enterAs, openTab } from "./browser.ts";
import { watchFocus } from "./focus_checks.ts";
import { type KeyStep, runKeySteps } from "./keyboard_run.ts";
import { KEY_LISTS } from "./keyboard_lists.ts";
import { KEY_TASKS } from "./keyboard_tasks.ts";
import { type KeyWorld, startKeyWorld } from "./keyboard_world.ts";

await currentDist();

/** Past the side bar. */
const SKIP: readonly KeyStep<KeyWorld>[] = [["tab to", "button", "Skip to content"], ["press", "Enter"]];

browserTest(
  "keyboard: each common task works without a mouse, and the focus is never lost",
  async ({ page }, { step }) => {
    const { context: phones } = await openTab();
    await using world = await startKeyWorld(phones);
    await watchFocus(page);
    // The program takes a moment for each password.
    const cookie = await world.program.signIn("owner");
    const site = { origin: world.program.origin, signIn: () => Promise.resolve(cookie) };
    for (const [name, { at, atMost, steps }] of Object.entries({ ...KEY_TASKS, ...KEY_LISTS })) {
      await step(name, async () => {
        if (at === null) await page.goto(site.origin);
        else await enterAs(page, { site, role: "owner", ...at });
        const count = await runKeySteps(page, { world, steps: at === null ? steps : [...SKIP, ...steps] });
        assert(count <= atMost, `${count} keys`);
      });
    }
    await phones.close();
  },
);
