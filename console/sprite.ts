// The sprite: the icons that the console uses, out of lucide's own files, and its own line icons, as one SVG of symbols.

import { ICON_PATHS } from "./web/line_icons.ts";
import { SPRITE_ICONS } from "./web/icons.ts";

const ICONS = new URL("../node_modules/lucide-static/icons/", import.meta.url);

/** Reads the icons and joins them. Throws when one of them is not in the package. */
export async function makeSprite(): Promise<string> {
  const symbols = await Promise.all(SPRITE_ICONS.map(symbolOf));
  const lines = Object.entries(ICON_PATHS).map(([name, path]) =>
    `<symbol id="line-${name}" viewBox="0 0 16 16"><path stroke-width="1.6" d="${path}"/></symbol>`
  );
  return `<svg xmlns="http://www.w3.org/2000/svg">${[...symbols, ...lines].join("")}</svg>\n`;
}

async function symbolOf(name: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(`${name}.svg`, ICONS));
  const start = text.indexOf(">", text.indexOf("<svg")) + 1;
  const end = text.lastIndexOf("</svg>");
  if (start === 0 || end < start) throw new Error(`Cannot read the icon "${name}": it is no SVG`);
  const shapes = text.slice(start, end).replace(/\s*\n\s*/g, "");
  return `<symbol id="${name}" viewBox="0 0 24 24">${shapes}</symbol>`;
}
