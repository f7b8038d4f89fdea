// The icons of the installed phone page are drawings of the product's icon: `tests/screenshots/app_icons.ts` writes them.

import { assertEquals } from "@std/assert";
import { APP_ICONS, drawAppIcons } from "../screenshots/app_icons.ts";
import { browserTest } from "./browser.ts";

/** The part of pixels that may differ: another version of Chromium draws edges slightly differently. */
const MAX_DIFFERENT = 0.01;
const FOLDER = new URL("../../console/device/icons/", import.meta.url);

browserTest("each icon has its size and shows the product's icon", async ({ page }) => {
  const drawn = await drawAppIcons();
  for (const [name, png] of drawn) {
    const stored = await Deno.readFile(new URL(name, FOLDER));
    const result = await page.evaluate(compare, [stored.toBase64(), png.toBase64()]);
    const { size } = APP_ICONS[name];
    assertEquals([result.width, result.height, result.different <= MAX_DIFFERENT], [size, size, true], name);
  }
});

/** Runs in the page: the size of the first picture, and the part of the pixels in which the second differs. */
async function compare(
  [first = "", second = ""]: readonly string[],
): Promise<{ width: number; height: number; different: number }> {
  const read = async (base64: string) => {
    const octets = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([octets], { type: "image/png" }));
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    const context = canvas.getContext("2d");
    context?.drawImage(picture, 0, 0);
    const { data = new Uint8ClampedArray() } = context?.getImageData(0, 0, picture.width, picture.height) ??
      {};
    return { data, width: picture.width, height: picture.height };
  };
  const [a, b] = [await read(first), await read(second)];
  const far = a.data.filter((value, at) => Math.abs(value - (b.data[at] ?? 0)) > 16).length;
  return { width: a.width, height: a.height, different: far / a.data.length };
}
