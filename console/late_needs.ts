// What an address of the console fetches at once, so that its HTML can name it and the browser need not wait.

import { visitOf } from "./web/places.ts";
import { type Area, type Language, LANGUAGES } from "./web/words/words.ts";

const SESSION_COOKIE = /(^|[; ])(__Host-)?countersign=/;

/** What one address needs besides the frame's own files. */
export interface LateNeeds {
  /** Paths below `console/`. */
  readonly modules: readonly string[];
  /** Tables of words, such as `en.frame`. */
  readonly words: readonly string[];
}

/**
 * By the address, whether a session is there, and the language that the browser asks for.
 * A guess: what is wrong is fetched anyhow by the page itself.
 */
export function lateNeeds(request: Request): LateNeeds {
  const visit = visitOf(new URL(request.url).pathname);
  if (visit === null) return { modules: [], words: [] };
  const isInside = visit.place.needs === "anyone" || SESSION_COOKIE.test(request.headers.get("cookie") ?? "");
  const areas: readonly Area[] = isInside ? visit.place.words : ["access"];
  const page = isInside ? visit.name : "sign_in";
  const language = languageOf(request.headers.get("accept-language") ?? "");
  return {
    modules: [`web/pages/${page}_page.tsx`],
    words: ["frame", ...areas].map((area) => `${language}.${area}`),
  };
}

function languageOf(header: string): Language {
  const asked = header.split(",").map((one) => one.trim().slice(0, 2).toLowerCase());
  return asked.map((one) => LANGUAGES.find((known) => known === one)).find((one) => one !== undefined) ??
    "en";
}
