// Runs a task with the keyboard only. After each key, the focus must be on an element in view, with a ring.

import { assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { findFocusProblems } from "./focus_checks.ts";
import { listensFor } from "./page_actions.ts";

type RoleOfElement = Parameters<Page["getByRole"]>[0];

/**
 * A step, as keys or as what must be seen.
 *
 * - `press`: keys as in `Keyboard.press`, one after the other
 * - `type`: a text for the field with the focus
 * - `tab to`: Tab until the element has the focus; `back to`: Shift+Tab
 * - `see`: the page shows an element or a text
 * - `focus on`: the element has the focus, or gets it soon
 * - `after`: something happens outside of the console
 */
export type KeyStep<World> =
  | readonly ["press", ...string[]]
  | readonly ["type", string | ((world: World, page: Page) => string | Promise<string>)]
  | readonly ["tab to" | "back to" | "focus on" | "see", RoleOfElement, string | RegExp]
  | readonly ["see text", string | RegExp]
  | readonly ["after", (world: World, page: Page) => Promise<unknown>];

export interface KeyTask<World> {
  /** The page where it starts; `null` for the sign-in page. */
  readonly at: { readonly path: string; readonly heading: string } | null;
  /** The most keys that it may need, without those of texts: a bad tab order needs more. */
  readonly atMost: number;
  readonly steps: readonly KeyStep<World>[];
}

/** A task that needs more has a bad order. */
const MAX_TABS = 30;

/** Runs the steps. Returns the number of pressed keys, without those of texts. Throws at the first problem. */
export async function runKeySteps<World>(
  page: Page,
  { world, steps }: { world: World; steps: readonly KeyStep<World>[] },
): Promise<number> {
  let count = 0;
  const pressed: string[] = [];
  const check = async () =>
    assertEquals(await findFocusProblems(page), [], `after ${pressed.slice(-6).join(", ")}`);
  const press = async (key: string) => {
    count += 1;
    pressed.push(key);
    await page.keyboard.press(key);
    await check();
  };
  for (const step of steps) {
    pressed.push(`[${step.filter((part) => typeof part !== "function").join(" ")}]`);
    if (step[0] === "press") {
      const [, ...keys] = step;
      if (!await isInField(page)) await listensFor(page, keys);
      for (const key of keys) await press(key);
    } else if (step[0] === "type") {
      const [, text] = step;
      await page.keyboard.type(typeof text === "string" ? text : await text(world, page));
      await check();
    } else if (step[0] === "after") {
      await step[1](world, page);
    } else if (step[0] === "see text") {
      await page.getByText(step[1]).first().waitFor();
      await check();
    } else {
      const element = page.getByRole(step[1], { name: step[2], exact: typeof step[2] === "string" });
      if (step[0] === "see") await element.first().waitFor();
      else if (step[0] === "focus on") await element.and(page.locator(":focus")).waitFor();
      else await tabTo({ page, element, key: step[0] === "tab to" ? "Tab" : "Shift+Tab", press });
      await check();
    }
  }
  return count;
}

interface TabRun {
  readonly page: Page;
  readonly element: ReturnType<Page["getByRole"]>;
  readonly key: string;
  readonly press: (key: string) => Promise<void>;
}

async function tabTo({ page, element, key, press }: TabRun): Promise<void> {
  await element.first().waitFor();
  for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
    if (await element.and(page.locator(":focus")).count() > 0) return;
    await press(key);
  }
  throw new Error(`${MAX_TABS} times ${key} does not reach it`);
}

/** Whether letters go into a field. */
function isInField(page: Page): Promise<boolean> {
  return page.evaluate(() =>
    document.activeElement?.matches("textarea, select, input:not([type=checkbox], [type=radio])") === true
  );
}
