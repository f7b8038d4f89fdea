// Moves the focus on Live: into the inspector, and along the list.

const INSPECTOR = ".inspector .body";
const FOCUS_WITHIN_MS = 3000;

/** Goes into the inspector; its file may be on its way. */
export function focusInspector(deadlineMs = performance.now() + FOCUS_WITHIN_MS): void {
  const element = document.querySelector<HTMLElement>(INSPECTOR);
  if (element !== null) element.focus();
  else if (performance.now() < deadlineMs) requestAnimationFrame(() => focusInspector(deadlineMs));
}

/** From the row with the focus to the next one, or to the first. */
export function moveInList(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>(".rows .row a")];
  const row = document.activeElement?.closest(".row") ?? null;
  const at = links.findIndex((link) => row?.contains(link) === true);
  links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
}
