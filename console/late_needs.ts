// What an address of the console fetches at once, so that its HTML can name it and the browser need not wait.

import { type Place, PLACES, visitOf } from "./web/places.ts";
import { type Area, type Language, LANGUAGES } from "./web/words/words.ts";

const SESSION_COOKIE = /(^|[; ])(__Host-)?countersign=/;

/** What one address needs besides the frame's own files. */
export interface LateNeeds {
  /** Paths below `console/`. */
  readonly modules: readonly string[];
  /** Areas of words, in one file of that language. */
  readonly areas: readonly Area[];
  readonly language: Language;
}

const OUTSIDE: readonly Area[] = ["frame", "access"];
/** What a person's own page says. */
const OWN: readonly Area[] = ["frame", "me"];

/** Every list of areas that some address needs at once: the build makes one file of each. */
export function wordsTogether(): readonly (readonly Area[])[] {
  const places: readonly Place[] = Object.values(PLACES);
  return [OUTSIDE, OWN, ...places.flatMap(({ words }) => [["frame" as const, ...words], words])].filter((
    list,
  ) => list.length > 1);
}

/**
 * By the address, whether a session is there, and the language that the browser asks for.
 * A guess: what is wrong is fetched anyhow by the page itself.
 */
export function lateNeeds(request: Request): LateNeeds {
  const visit = visitOf(new URL(request.url).pathname);
  if (visit === null) return { modules: [], areas: [], language: "en" };
  const isInside = visit.place.needs === "anyone" || SESSION_COOKIE.test(request.headers.get("cookie") ?? "");
  const page = isInside ? visit.name : "sign_in";
  return {
    modules: [`web/pages/${page}_page.tsx`],
    areas: isInside ? ["frame", ...visit.place.words] : OUTSIDE,
    language: languageOf(request.headers.get("accept-language") ?? ""),
  };
}

/** The words of a person's own page, which has one address. */
export function meNeeds(request: Request): LateNeeds {
  return {
    modules: [],
    areas: OWN,
    language: languageOf(request.headers.get("accept-language") ?? ""),
  };
}

/** The words of the phone page, which has one address. */
export function deviceNeeds(request: Request): LateNeeds {
  return { ...meNeeds(request), areas: ["device"] };
}

function languageOf(header: string): Language {
  const asked = header.split(",").map((one) => one.trim().slice(0, 2).toLowerCase());
  return asked.map((one) => LANGUAGES.find((known) => known === one)).find((one) => one !== undefined) ??
    "en";
}
