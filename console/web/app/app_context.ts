// Creates the models that all pages share, and connects them to the browser.

import { createApiClient } from "./api_client.ts";
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import type { Question } from "./action.ts";
import { createPreferences } from "./preferences.ts";
import { createPageLoader, loadPageFiles } from "./page_loader.ts";
import { followLinks, pageTop, Router } from "./router.ts";
import { matchRoute, type RouteName } from "./routes.ts";
import { createClockModel, runLater } from "./clock_model.ts";
import type { Selection } from "./selection.ts";
import { SessionModel } from "./session_model.ts";
import { createToasts } from "./toasts.tsx";

/** Overlays that every page can open. */
export type Overlay = "palette" | "help" | "look";
export type Models = ReturnType<typeof createModels>;

/** The props of every page. */
export interface PageProps {
  readonly models: Models;
  /** The named segments of the address, decoded: `{ id }` for `/users/:id`. */
  readonly params: Readonly<Record<string, string>>;
}

/** A page with a focusable `h1`: the default export of its module. */
export type PageView = ComponentType<PageProps>;

const STAY_EVERY_MS = 60_000;

interface ModelsDeps {
  /** Loads the page of each route. */
  readonly imports: Readonly<Record<RouteName, () => Promise<PageView>>>;
}

export function createModels(window: Window & typeof globalThis, { imports }: ModelsDeps) {
  const { document, history } = window;
  const api = createApiClient();
  const pages = createPageLoader({ imports, loadFiles: (name) => loadPageFiles(document, name) });
  const bar = {
    location: window.location,
    history,
    get scrollY() {
      return pageTop();
    },
  };
  const router = new Router(bar, { prepare: pages.prepare });
  const clock = createClockModel();
  const session = new SessionModel(api, { onServerTime: clock.adjust });
  const preferences = createPreferences(document.documentElement);
  /** The open overlay. */
  const overlay = signal<Overlay | null>(null);
  /** The question before an action of a page. */
  const question = signal<Question | null>(null);
  /** What was typed for the palette before its code was loaded. */
  const typedAhead = signal("");
  /** The selection of each list, by path, so that Back restores it. `listed` names the query and the administrator. */
  const selections = new Map<string, { readonly listed: string; readonly selection: Selection }>();
  const toasts = createToasts({ later: runLater });
  history.scrollRestoration = "manual";
  followLinks(router, { document, isPage: (path) => matchRoute(path) !== null });
  window.addEventListener("popstate", router.refresh);
  setInterval(clock.tick, 1000);
  setInterval(() => {
    if (document.visibilityState === "visible" && session.isSignedIn() && !session.isInterrupted.peek()) {
      // `extend` handles its own failures.
      void session.extend();
    }
  }, STAY_EVERY_MS);
  return {
    api,
    pages,
    router,
    clock,
    session,
    toasts,
    preferences,
    overlay,
    question,
    typedAhead,
    selections,
  };
}
