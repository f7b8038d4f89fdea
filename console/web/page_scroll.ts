// How far down the page is scrolled. The window scrolls it; while messages take room on a small screen, the body does.

function bodyScrolls(): boolean {
  return getComputedStyle(document.body).overflowY === "auto";
}

/** In px. */
export function pageTop(): number {
  return bodyScrolls() ? document.body.scrollTop : scrollY;
}

export function scrollPage(topPx: number): void {
  if (bodyScrolls()) document.body.scrollTop = topPx;
  else scrollTo(0, topPx);
}
