// Light or dark: the system's choice until somebody makes their own, which is the only thing kept in the browser.

export type Theme = "light" | "dark";
const KEY = "countersign-theme";

/** The theme that is on now. */
export function storedTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function switchTheme(): Theme {
  const next = storedTheme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch (_storageIsOff) {
    // Without storage the choice lasts as long as the page.
  }
  return next;
}

/** Puts the choice of an earlier visit on. */
export function restoreTheme(): void {
  try {
    const kept = localStorage.getItem(KEY);
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch (_storageIsOff) {
    // The system's choice stands.
  }
}
