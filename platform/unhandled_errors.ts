// Errors that no code handles: logged, so that one of them does not end the process and every login in progress.

import type { Log } from "./log.ts";

/** The log messages. The fault tests search the log of the process for them. */
export const UNHANDLED_MESSAGES = {
  rejection: "a promise was rejected and not handled",
  error: "a task failed",
} as const;

/** Logs unhandled rejections and errors of this process from now on. */
export function logUnhandledErrors(log: Log): void {
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error(UNHANDLED_MESSAGES.rejection, { fault: String(event.reason) });
  });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    log.error(UNHANDLED_MESSAGES.error, { fault: String(event.error) });
  });
}
