// Checks of the keyboard focus: it is on an element, in view, not covered, with a visible ring, and was never lost.

import type { Page } from "../packages/playwright.ts";
import { sessionOf } from "./browser.ts";

/**
 * Watches the focus of a page in each frame: once an element has the focus, one always has. Call it before the page is
 * opened.
 */
export async function watchFocus(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const lost: string[] = [];
    Object.assign(globalThis, { lostFocus: lost });
    let last: Element | null = null;
    const nameOf = (element: Element) =>
      `<${element.tagName.toLowerCase()} class="${element.className}"> ${
        (element.getAttribute("aria-label") ?? element.textContent ?? "").slice(0, 60)
      }`;
    const look = () => {
      const { activeElement } = document;
      if (activeElement !== null && activeElement !== document.body) last = activeElement;
      else if (last !== null) {
        lost.push(`lost by ${nameOf(last)}${last.isConnected ? "" : " (removed)"}`);
        last = null;
      }
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}

/** What is wrong with the focus now, and where it was lost since the last call; empty if nothing is. */
export async function findFocusProblems(page: Page): Promise<string[]> {
  // One call, after two frames as in laidOut(): the check follows each key.
  const { lost, state } = await page.evaluate<{ lost: string[]; state: FocusState }>(`(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return { lost: globalThis.lostFocus?.splice(0) ?? [], state: (${readFocusNow})() };
  })()`);
  const { name, problem, isOnBody } = state;
  if (isOnBody) return [...lost, "nothing has the focus"];
  return problem === "" ? lost : [...lost, `${problem}: ${name}`];
}

export interface FocusState {
  /** The beginning of the element; empty if nothing has the focus. */
  readonly name: string;
  /** Empty when a user sees the focus. */
  readonly problem: string;
  readonly isOnBody: boolean;
}

/** Where the focus is, and whether it is visible in the window (WCAG 2.4.7, 2.4.11). */
export function readFocus(page: Page): Promise<FocusState> {
  return page.evaluate(readFocusNow);
}

/** Runs in the page, so it uses nothing of this file. */
function readFocusNow(): FocusState {
  const element = document.activeElement;
  if (!(element instanceof HTMLElement) || element === document.body) {
    return { name: "", problem: "", isOnBody: true };
  }
  const state = { name: element.outerHTML.slice(0, 120), isOnBody: false };
  // A label draws its file chooser or checkbox.
  const shown = element.closest("label") ?? element;
  if (!shown.checkVisibility({ visibilityProperty: true, opacityProperty: true })) {
    return { ...state, problem: "is invisible" };
  }
  // The first line of a link that is wrapped.
  const box = shown.getClientRects()[0] ?? shown.getBoundingClientRect();
  const edges = { left: Math.max(box.left, 0), right: Math.min(box.right, innerWidth) };
  const heights = { top: Math.max(box.top, 0), bottom: Math.min(box.bottom, innerHeight) };
  if (edges.right - edges.left < 4 || heights.bottom - heights.top < 4) {
    return { ...state, problem: "is outside the window" };
  }
  const isSeenAt = (across: number, down: number) => {
    const x = edges.left + (edges.right - edges.left) * across;
    const y = heights.top + (heights.bottom - heights.top) * down;
    const top = document.elementFromPoint(x, y);
    return top !== null && shown.contains(top);
  };
  const points = [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5], [0.5, 0.15], [0.5, 0.85]] as const;
  if (points.filter(([across, down]) => isSeenAt(across, down)).length < 3) {
    return { ...state, problem: "is covered" };
  }
  const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(element);
  const isTransparent = /^transparent$|, 0\)$|\/ 0\)$/.test(outlineColor);
  const hasOutline = outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 1 && !isTransparent;
  return { ...state, problem: hasOutline || boxShadow !== "none" ? "" : "has no mark of the focus" };
}

const TAB = { type: "rawKeyDown", key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 } as const;

/**
 * Presses Tab `count` times; returns the focus after each. The page reads it at the next key, when it has scrolled to the
 * element. The keys are sent together: an answer to each one takes processor time in three processes.
 */
export async function readStops(page: Page, count: number): Promise<FocusState[]> {
  await page.evaluate(`{
    const readFocusNow = ${readFocusNow};
    let keys = 0;
    globalThis.tabStops = [];
    globalThis.readStop = () => keys++ > 0 && globalThis.tabStops.push(readFocusNow());
    globalThis.endStops?.abort();
    globalThis.endStops = new AbortController();
    document.addEventListener("keydown", globalThis.readStop, { capture: true, signal: globalThis.endStops.signal });
  }`);
  const session = await sessionOf(page);
  await Promise.all(Array.from({ length: count }, () => session.send("Input.dispatchKeyEvent", TAB)));
  return await page.evaluate<FocusState[]>(`{
    globalThis.endStops.abort();
    globalThis.readStop();
    globalThis.tabStops;
  }`);
}

/**
 * Moves the focus to each control inside the element by a script; returns the focus after each. Faster than Tab: for
 * what does not depend on the order.
 */
export async function readControls(page: Page, within: string): Promise<FocusState[]> {
  // After a key, elements that a script focuses show their ring.
  await page.keyboard.press("Tab");
  return await page.evaluate<FocusState[]>(`{
    const readFocusNow = ${readFocusNow};
    [...document.querySelectorAll("${within} :is(a, button, input, select, textarea, summary, [tabindex])")]
      .filter((one) => one.tabIndex >= 0 && one.checkVisibility())
      .flatMap((one) => {
        one.focus();
        return one === document.activeElement ? [readFocusNow()] : [];
      });
  }`);
}
