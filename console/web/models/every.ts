// What a page does again and again.

import { useEffect, useRef } from "preact/hooks";

/** Does something again and again while the page is seen. */
export function useEvery(everyMs: number, task: () => void): void {
  const newest = useRef(task);
  newest.current = task;
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") newest.current();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
