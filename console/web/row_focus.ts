// Moves the focus to the row of a list that leads to a page, as soon as the row is there.

const GIVE_UP_MS = 3000;

/** @param path of the page that the row links to. Ends when the user moves the focus. */
export function focusRowOf(path: string): void {
  const start = document.activeElement;
  const observer = new MutationObserver(tryNow);
  observer.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), GIVE_UP_MS);
  tryNow();

  function tryNow(): void {
    if (document.activeElement !== start) return observer.disconnect();
    const links = document.querySelectorAll<HTMLAnchorElement>("main a.row-link");
    const link = [...links].find(({ pathname }) => pathname === path);
    if (link === undefined) return;
    observer.disconnect();
    link.focus();
  }
}
