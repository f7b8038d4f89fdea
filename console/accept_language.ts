// The language of a page for a request (Accept-Language, RFC 9110 §12.5.4).

import { type Language, LANGUAGES } from "./web/i18n/catalogue.ts";

const MAX_RANGES = 20;

/** The available language with the highest quality value; English if there is none. */
export function preferredLanguage(request: Request): Language {
  const header = request.headers.get("accept-language") ?? "";
  const ranges = header.split(",").slice(0, MAX_RANGES).map((part) => {
    const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
    const quality = parameters.map((one) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(one)?.[1]).find((q) => q);
    const language = LANGUAGES.find((one) => one === tag.split("-")[0]);
    return { language, quality: quality === undefined ? 1 : Number(quality) };
  });
  const available = ranges.filter(({ language, quality }) => language !== undefined && quality > 0);
  return available.toSorted((a, b) => b.quality - a.quality)[0]?.language ?? "en";
}
