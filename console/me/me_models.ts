// Makes the account page's models and ties them to the browser.

import { createClockModel } from "../web/models/clock_model.ts";
import { createToasts } from "../web/models/toasts_model.ts";
import { createPreferences } from "../web/preferences.ts";
import { createMeCalls } from "./me_calls.ts";
import { createMeSession, tokenIn } from "./me_session.ts";

export type MeModels = ReturnType<typeof createMeModels>;

export function createMeModels(window: Window & typeof globalThis) {
  const { document, history, location } = window;
  const calls = createMeCalls();
  const clock = createClockModel();
  const session = createMeSession(calls, { onServerTime: clock.adjust });
  const preferences = createPreferences(document.documentElement);
  const toasts = createToasts({
    later(delayMs, task) {
      const timer = setTimeout(task, delayMs);
      return () => clearTimeout(timer);
    },
  });
  const takeLink = (): void => {
    const token = tokenIn(location.hash);
    if (token === null) return;
    session.bring(token);
    // The link works once; it need not stay in the address bar and the history.
    history.replaceState(null, "", location.pathname);
  };
  takeLink();
  window.addEventListener("hashchange", takeLink);
  setInterval(clock.tick, 1000);
  return { calls, clock, session, preferences, toasts };
}
