// Draws the icons of the installed phone page from the product's icon: `deno run -A --lock=tests/deno.lock tests/screenshots/app_icons.ts`.

import { closeBrowser, openTab } from "../e2e/browser.ts";

const SOURCE = new URL("../../console/web/icon.svg", import.meta.url);
const FOLDER = new URL("../../console/device/icons/", import.meta.url);

type Change = (svg: string) => string;
const asItIs: Change = (svg) => svg;
/** Without the round corners, because the system cuts the icon to its own shape. */
const fullSquare: Change = (svg) => svg.replace(/ rx="\d+"/, "");
/** Only the arrows: a system shows a badge in one colour. */
const arrowsOnly: Change = (svg) => svg.replace(/<rect[^>]*>/, "");

/** Each icon, with its width and height in pixels. */
export const APP_ICONS = {
  "icon-192.png": { size: 192, change: asItIs },
  "icon-512.png": { size: 512, change: asItIs },
  "maskable-512.png": { size: 512, change: fullSquare },
  "apple-touch-icon.png": { size: 180, change: fullSquare },
  "badge-96.png": { size: 96, change: arrowsOnly },
} as const satisfies Record<string, { size: number; change: Change }>;
type AppIconName = keyof typeof APP_ICONS;

/** Draws the icons in Chromium. */
export async function drawAppIcons(): Promise<ReadonlyMap<AppIconName, Uint8Array>> {
  const svg = await Deno.readTextFile(SOURCE);
  const drawn = new Map<AppIconName, Uint8Array>();
  for (const [name, { size, change }] of Object.entries(APP_ICONS)) {
    const { page, context } = await openTab({ viewport: { width: size, height: size } });
    const picture = `data:image/svg+xml;base64,${btoa(change(svg))}`;
    await page.setContent(
      `<style>body{margin:0}</style><img width="${size}" height="${size}" src="${picture}">`,
    );
    const isReady = () => document.images[0]?.complete === true && document.images[0].naturalWidth > 0;
    await page.waitForFunction(isReady);
    drawn.set(name as AppIconName, await page.screenshot({ omitBackground: true }));
    await context.close();
  }
  return drawn;
}

if (import.meta.main) {
  for (const [name, png] of await drawAppIcons()) await Deno.writeFile(new URL(name, FOLDER), png);
  await closeBrowser();
}
