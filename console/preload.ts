// What the browser fetches at once for an address of the console, so that the HTML names it (preload links).

import { preferredLanguage } from "./accept_language.ts";
import type { Language } from "./web/i18n/catalogue.ts";
import { visitOf } from "./web/places.ts";

const SESSION_COOKIE = /(^|[; ])(__Host-)?countersign=/;

/** What one address needs besides the files of every page. */
export interface Preload {
  /** Paths of modules below `console/`. */
  readonly modules: readonly string[];
  readonly language: Language;
  /** Whether the sign-in page comes first. */
  readonly isSignedOut: boolean;
}

/**
 * A guess from the address, the session cookie, and the language that the browser prefers.
 * The script fetches what the guess misses.
 */
export function consolePreload(request: Request): Preload {
  const visit = visitOf(new URL(request.url).pathname);
  const language = preferredLanguage(request);
  if (visit === null) return { modules: [], language, isSignedOut: false };
  const isOpen = visit.place.needs === "anyone" || SESSION_COOKIE.test(request.headers.get("cookie") ?? "");
  const page = isOpen ? visit.name : "sign_in";
  return { modules: [`web/pages/${page}_page.tsx`], language, isSignedOut: !isOpen };
}

/** For a page with one address: its messages alone. */
export function messagePreload(request: Request): Preload {
  return { modules: [], language: preferredLanguage(request), isSignedOut: false };
}
