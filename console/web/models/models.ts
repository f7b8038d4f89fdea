// Makes the page's models and ties them to the browser. A page's own models are made in its own files.

import { createApiClient } from "../api_client.ts";
import { signal } from "@preact/signals";
import { createPreferences } from "../preferences.ts";
import { createPageLoader, type PageView } from "../page_loader.ts";
import { pageTop } from "../page_scroll.ts";
import { type PlaceName, visitOf } from "../places.ts";
import { createRouter, followLinks } from "../router.ts";
import { createClockModel } from "./clock_model.ts";
import type { Selection } from "./selection.ts";
import { createSessionModel } from "./session_model.ts";
import { createToasts } from "./toasts_model.ts";

/** What can be open over every page. */
export type Overlay = "palette" | "help" | "look";
export type Models = ReturnType<typeof createModels>;

const STAY_EVERY_MS = 60_000;

interface ModelsDeps {
  /** What fetches the page of each place: models know of no page. */
  readonly routes: Readonly<Record<PlaceName, () => Promise<PageView>>>;
}

export function createModels(window: Window & typeof globalThis, { routes }: ModelsDeps) {
  const { document, history } = window;
  const api = createApiClient();
  const pages = createPageLoader({ routes });
  const bar = {
    location: window.location,
    history,
    get scrollY() {
      return pageTop();
    },
  };
  const router = createRouter(bar, { prepare: pages.prepare });
  const clock = createClockModel();
  const session = createSessionModel(api, { onServerTime: clock.adjust });
  const preferences = createPreferences(document.documentElement);
  /** Which of them is open. */
  const overlay = signal<Overlay | null>(null);
  /** The selection of each list that was left for the page of one of its rows, with what was listed and for whom. */
  const selections = new Map<string, { readonly listed: string; readonly selection: Selection }>();
  const toasts = createToasts({
    later(delayMs, task) {
      const timer = setTimeout(task, delayMs);
      return () => clearTimeout(timer);
    },
  });
  history.scrollRestoration = "manual";
  followLinks(router, { document, isPage: (path) => visitOf(path) !== null });
  window.addEventListener("popstate", router.refresh);
  setInterval(clock.tick, 1000);
  setInterval(() => {
    if (document.visibilityState === "visible" && session.isSignedIn() && !session.interrupted.peek()) {
      // `stay` keeps its failures to itself.
      void session.stay();
    }
  }, STAY_EVERY_MS);
  return { api, pages, router, clock, session, toasts, preferences, overlay, selections };
}
