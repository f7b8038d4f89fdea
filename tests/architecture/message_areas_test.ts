// The area of a message (the part of its key before the dot) is that of the page that shows it, or a shared area.

import { assertEquals } from "@std/assert";
import de from "../../console/web/i18n/de.json" with { type: "json" };

const CONSOLE = new URL("../../console/", import.meta.url);
/** Areas that each page and component of the console may use. */
const SHARED = ["common", "shell", "login", "explain", "errors", "problems"];
/** The areas of the other folders below `console/`. The area of a page is the name of its folder, without "_". */
const AREAS: Readonly<Record<string, readonly string[]>> = {
  "web/app": SHARED,
  "web/components": SHARED,
  "web/pages/live/onboarding.tsx": ["firstrun", ...SHARED],
  "account": ["account", "common", "errors"],
  "device": ["device", "common", "errors"],
  "approval": ["approve", "common", "device"],
};
const PAGE = /^web\/pages\/(\w+)/;
const COMMENT = /^\s*(?:\/\/|\/?\*).*$/gm;
const KEY = /["'`]([a-z]+)\.(\w+)["'`]/g;
const TEMPLATE = /`([a-z]+)\.\w*\$\{/g;

const areas = new Set(Object.keys(de).map((key) => key.split(".", 1)[0]));

async function* sourcesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, CONSOLE))) {
    if (isDirectory) yield* sourcesBelow(`${folder}${name}/`);
    else if (/\.tsx?$/.test(name)) yield folder + name;
  }
}

function areasOf(path: string): readonly string[] {
  const row = Object.entries(AREAS).find(([start]) => path.startsWith(start));
  return row?.[1] ?? [PAGE.exec(path)?.[1]?.replaceAll("_", "") ?? "", ...SHARED];
}

function usedAreas(source: string): string[] {
  const text = source.replace(COMMENT, "");
  const keys = [...text.matchAll(KEY)].filter(([, area, name]) => `${area}.${name}` in de);
  return [...keys, ...text.matchAll(TEMPLATE)].map(([, area = ""]) => area).filter((area) => areas.has(area));
}

Deno.test("each page uses the messages of its own area and of the shared areas", async () => {
  const foreign: string[] = [];
  let count = 0;
  for (const folder of ["web/app/", "web/components/", "web/pages/", "account/", "device/", "approval/"]) {
    for await (const path of sourcesBelow(folder)) {
      const used = usedAreas(await Deno.readTextFile(new URL(path, CONSOLE)));
      const allowed = areasOf(path);
      count += used.length;
      foreign.push(...used.filter((area) => !allowed.includes(area)).map((area) => `${path}: ${area}`));
    }
  }
  assertEquals(foreign, []);
  assertEquals(count > 1000, true);
});

Deno.test("each area belongs to a folder of the console", async () => {
  const known = new Set(Object.values(AREAS).flat());
  for await (const { name } of Deno.readDir(new URL("web/pages/", CONSOLE))) {
    known.add(name.replaceAll("_", ""));
  }
  assertEquals([...areas].filter((area = "") => !known.has(area)), []);
});
