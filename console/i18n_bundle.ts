// The message catalogue of each page and language: the areas of `web/i18n/*.json` that the page uses, as one file.

import de from "./web/i18n/de.json" with { type: "json" };
import en from "./web/i18n/en.json" with { type: "json" };
import type { Catalogue, Language } from "./web/i18n/catalogue.ts";

const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en, de };

/** Areas that only one page uses: `approve` is rendered by the server. */
const OWN_AREAS = { me: ["frame", "me"], device: ["device"] } as const;
const NOT_OF_CONSOLE: readonly string[] = ["me", "device", "approve"];

export type CataloguePage = "web" | "me" | "device";

/** Whether a page's catalogue has the messages of an area (the part of a key before the dot). */
export function usesArea(page: CataloguePage, area: string): boolean {
  if (page === "web") return !NOT_OF_CONSOLE.includes(area);
  return (OWN_AREAS[page] as readonly string[]).includes(area);
}

/** A page's catalogue in one language, as JSON. */
export function catalogueJson(page: CataloguePage, language: Language): string {
  const messages = Object.entries(CATALOGUES[language]);
  return JSON.stringify(
    Object.fromEntries(messages.filter(([key]) => usesArea(page, key.slice(0, key.indexOf("."))))),
  );
}
