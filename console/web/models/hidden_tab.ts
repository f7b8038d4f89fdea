// Closes the stream of a hidden tab, and opens it again when the tab is visible.

import type { LiveModel } from "./live_model.ts";
import type { SessionModel } from "./session_model.ts";

/** A hidden tab closes its stream: browsers keep few connections to one host. */
const HIDDEN_GRACE_MS = 30_000;

export function letGoWhileHidden(live: LiveModel, session: SessionModel): void {
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiddenTimer);
    if (document.visibilityState === "hidden") {
      hiddenTimer = setTimeout(() => {
        stopped = true;
        live.stop();
      }, HIDDEN_GRACE_MS);
    } else if (stopped) {
      stopped = false;
      if (session.isSignedIn()) live.start();
    }
  });
}
