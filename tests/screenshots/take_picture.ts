// Takes one screenshot for the docs, as a small PNG.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { scrollsSideways } from "../e2e/page_checks.ts";
import { shrinkPng } from "./small_png.ts";

const MAX_OCTETS = 120_000;

/** Takes the screenshot. It is small enough for a page of the docs, and the page fits the window. */
export async function takePicture(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  const octets = shrinkPng(await page.screenshot());
  assert(octets.length <= MAX_OCTETS, `${name} has ${octets.length} octets`);
  assertEquals(await scrollsSideways(page), false, name);
  await Deno.writeFile(new URL(`../../docs/images/${name}.png`, import.meta.url), octets);
  console.log(`docs/images/${name}.png is written`);
}
