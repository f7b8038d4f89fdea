// Which modules an address of the console fetches at once, so that its HTML can name them and the browser need not wait.

import { visitOf } from "./web/places.ts";
import { type Area, type Language, LANGUAGES } from "./web/words/words.ts";

const SESSION_COOKIE = /(^|[; ])(__Host-)?countersign=/;

/**
 * Paths below `console/`, by the address, whether a session is there, and the language that the browser asks for.
 * A guess: what is wrong is fetched anyhow by the page itself.
 */
export function lateModules(request: Request): string[] {
  const visit = visitOf(new URL(request.url).pathname);
  if (visit === null) return [];
  const isInside = visit.place.needs === "anyone" || SESSION_COOKIE.test(request.headers.get("cookie") ?? "");
  const areas: readonly Area[] = isInside ? visit.place.words : ["access"];
  const page = isInside ? visit.name : "sign_in";
  const language = languageOf(request.headers.get("accept-language") ?? "");
  return [
    `web/pages/${page}_page.tsx`,
    ...["frame", ...areas].map((area) => `web/words/${language}/${area}.ts`),
  ];
}

function languageOf(header: string): Language {
  const asked = header.split(",").map((one) => one.trim().slice(0, 2).toLowerCase());
  return asked.map((one) => LANGUAGES.find((known) => known === one)).find((one) => one !== undefined) ??
    "en";
}
