// What a page does again and again.

import { useEffect } from "preact/hooks";

/** Does something again and again while the page is seen. */
export function useEvery(everyMs: number, task: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") task();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
