// Makes the page's models and ties them to the browser.

import { computed, effect } from "@preact/signals";
import { createApiClient, take } from "../api_client.ts";
import { createRouter, followLinks } from "../router.ts";
import { createBoardModel } from "./board_model.ts";
import { createClockModel } from "./clock_model.ts";
import { createLiveModel } from "./live_model.ts";
import { createSessionModel } from "./session_model.ts";

export type Models = ReturnType<typeof createModels>;

const SHOW_EVERY_MS = 250;
const STAY_EVERY_MS = 60_000;
/** A tab that nobody sees lets its stream go: browsers keep few connections to one host. */
const HIDDEN_GRACE_MS = 30_000;

export function createModels(window: Window & typeof globalThis) {
  const api = createApiClient();
  const router = createRouter(window);
  const clock = createClockModel();
  const session = createSessionModel(api, { onServerTime: clock.adjust });
  const filter = computed(() => ({
    text: router.param("q"),
    state: router.param("state"),
    client: router.param("client"),
  }));
  const board = createBoardModel(filter);
  const live = createLiveModel({
    board,
    fetchSnapshot: () => session.whileSignedIn(() => take(api.live.$get())),
    openChannel: (after) => new EventSource(`/console/api/live/stream?after=${encodeURIComponent(after)}`),
    probe: session.probe,
    onServerTime: clock.adjust,
    localNowMs: Date.now,
    later(delayMs, task) {
      const timer = setTimeout(task, delayMs);
      return () => clearTimeout(timer);
    },
  });
  followLinks(router, window.document);
  window.addEventListener("popstate", router.refresh);
  setInterval(clock.tick, 1000);
  setInterval(live.show, SHOW_EVERY_MS);
  // A stream that was refused waits for somebody to sign in again.
  let wasInterrupted = false;
  effect(() => {
    const isInterrupted = session.interrupted.value;
    if (wasInterrupted && !isInterrupted) live.start();
    wasInterrupted = isInterrupted;
  });
  watchVisibility(window.document, { live, session });
  return { api, router, clock, session, filter, board, live };
}

function watchVisibility(
  document: Document,
  { live, session }: Pick<
    { live: ReturnType<typeof createLiveModel>; session: ReturnType<typeof createSessionModel> },
    "live" | "session"
  >,
): void {
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  const isSignedIn = () => {
    const state = session.session.peek();
    return state.kind === "ready" && state.value !== null;
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiddenTimer);
    if (document.visibilityState === "hidden") {
      hiddenTimer = setTimeout(() => {
        stopped = true;
        live.stop();
      }, HIDDEN_GRACE_MS);
    } else if (stopped) {
      stopped = false;
      if (isSignedIn()) live.start();
    }
  });
  setInterval(() => {
    if (document.visibilityState === "visible" && isSignedIn() && !session.interrupted.peek()) {
      // `stay` keeps its failures to itself.
      void session.stay();
    }
  }, STAY_EVERY_MS);
}
