// Restores the scroll position of a page: repeatedly while its rows load, until the user scrolls.

import { pageTop, scrollPage } from "./page_scroll.ts";

const GIVE_UP_MS = 3000;
const MOVES = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

export function scrollBackTo(topPx: number): void {
  scrollPage(topPx);
  if (topPx === 0) return;
  const end = new AbortController();
  const observer = new ResizeObserver(() => {
    scrollPage(topPx);
    if (Math.abs(pageTop() - topPx) < 1) end.abort();
  });
  end.signal.addEventListener("abort", () => observer.disconnect());
  for (const move of MOVES) addEventListener(move, () => end.abort(), { signal: end.signal, passive: true });
  setTimeout(() => end.abort(), GIVE_UP_MS);
  observer.observe(document.body);
}
