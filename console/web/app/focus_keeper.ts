// Keeps the keyboard focus when its element is removed, hidden or disabled: the browser would move it to the body, and
// the next Tab would start at the top of the page.

/** Where an element was when it was removed. */
interface FormerPlace {
  /** The root of the removed part. */
  readonly removed: Element;
  readonly parent: Node;
  readonly next: Node | null;
  readonly previous: Node | null;
}

/** Enough for all controls of a dialog, so that the control that opened it is still known at its end. */
const MAX_TRAIL = 100;
const FOCUSABLE =
  "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]:not([tabindex='-1'])";

/**
 * Starts to watch the document. A lost focus goes, in this order, to
 *
 * 1. the same control, if it was only rendered again;
 * 2. the row that took the place of a removed row;
 * 3. the element that had the focus before;
 * 4. the open dialog, or the heading of the page.
 *
 * Returns a function that ends this.
 */
export function keepFocus(document: Document): () => void {
  const keeper = new FocusKeeper(document);
  const end = new AbortController();
  document.addEventListener("focusin", keeper.onFocusIn, { signal: end.signal });
  document.addEventListener("focusout", keeper.onFocusOut, { signal: end.signal });
  document.addEventListener("pointerdown", keeper.onPointer, { signal: end.signal, capture: true });
  document.addEventListener("keydown", keeper.onKey, { signal: end.signal, capture: true });
  const observer = new MutationObserver(keeper.onChange);
  observer.observe(document, {
    ...{ subtree: true, childList: true },
    attributeFilter: ["disabled", "hidden"],
  });
  return () => {
    end.abort();
    observer.disconnect();
  };
}

class FocusKeeper {
  readonly #document: Document;
  /** The elements that had the focus, the newest last. */
  #trail: HTMLElement[] = [];
  readonly #places = new WeakMap<Element, FormerPlace>();
  /** Whether an element has the focus, or lost it without the user. */
  #isHeld = false;
  #usesKeys = false;

  constructor(document: Document) {
    this.#document = document;
    const { activeElement } = document;
    if (activeElement !== null && !this.#isOnBody()) this.#hold(activeElement);
  }

  readonly onKey = (): void => {
    this.#usesKeys = true;
  };

  readonly onPointer = (): void => {
    this.#usesKeys = false;
  };

  readonly onFocusIn = ({ target }: FocusEvent): void => {
    this.#hold(target);
  };

  readonly onFocusOut = (): void => {
    queueMicrotask(() => {
      const last = this.#trail.at(-1);
      // If it was removed, onChange() follows, which knows from where.
      if (!this.#isOnBody() || last?.isConnected !== true) return;
      // A click beside all controls.
      if (canHaveFocus(last)) this.#isHeld = false;
      else this.#restore();
    });
  };

  readonly onChange = (records: readonly MutationRecord[]): void => {
    for (const element of this.#trail) {
      if (element.isConnected || this.#places.has(element)) continue;
      const place = formerPlace(element, records);
      if (place !== undefined) this.#places.set(element, place);
    }
    const last = this.#trail.at(-1);
    // The browser moves the focus from a disabled element only in the next frame.
    if (last !== undefined && !canHaveFocus(last)) this.#restore();
  };

  #hold(target: EventTarget | null): void {
    if (!(target instanceof HTMLElement)) return;
    this.#isHeld = true;
    this.#trail = [...this.#trail.filter((one) => one !== target), target].slice(-MAX_TRAIL);
  }

  #isOnBody(): boolean {
    const { activeElement, body } = this.#document;
    return activeElement === null || activeElement === body;
  }

  #restore(): void {
    const last = this.#trail.at(-1);
    if (!this.#isHeld || (!this.#isOnBody() && this.#document.activeElement !== last)) return;
    for (const element of this.#trail.toReversed()) {
      const target = this.#replacement(element);
      if (target !== undefined && this.#focus(target)) return;
    }
    const dialog = this.#modal();
    const page = this.#document.querySelector<HTMLElement>("main h1[tabindex]") ??
      this.#document.querySelector<HTMLElement>("main[tabindex]");
    const fallback = dialog === null ? page : controlsOf(dialog)[0] ?? dialog;
    if (fallback !== null) this.#focus(fallback);
  }

  /** Returns whether it has the focus now. Elements behind a dialog cannot have it. */
  #focus(target: HTMLElement): boolean {
    target.focus({ preventScroll: !this.#usesKeys });
    return this.#document.activeElement === target;
  }

  #modal(): HTMLElement | null {
    return [...this.#document.querySelectorAll<HTMLElement>("dialog:modal")].at(-1) ?? null;
  }

  /** The element itself, or the one that took its place. */
  #replacement(element: HTMLElement): HTMLElement | undefined {
    if (canHaveFocus(element)) return element;
    const place = this.#places.get(element);
    if (place === undefined) return undefined;
    return sameControl(element, place) ?? neighbour(place);
  }
}

function canHaveFocus(element: HTMLElement): boolean {
  return element.isConnected && !element.matches(":disabled") && element.checkVisibility();
}

function formerPlace(element: Element, records: readonly MutationRecord[]): FormerPlace | undefined {
  for (const { removedNodes, target, nextSibling, previousSibling } of records) {
    const removed = [...removedNodes].find((node) => node.contains(element));
    if (!(removed instanceof Element)) continue;
    return {
      removed,
      parent: target,
      next: survivor(nextSibling, { records, side: "nextSibling" }),
      previous: survivor(previousSibling, { records, side: "previousSibling" }),
    };
  }
  return undefined;
}

/** The node, or the first one on this side of it that was not removed at the same time. */
function survivor(
  node: Node | null,
  { records, side }: { records: readonly MutationRecord[]; side: "nextSibling" | "previousSibling" },
): Node | null {
  let found = node;
  for (const record of records) {
    if (found === null || found.isConnected) break;
    if ([...record.removedNodes].includes(found)) found = record[side];
  }
  return found;
}

/** A control with the same name in the same place: the list was rendered again. */
function sameControl(element: HTMLElement, { parent }: FormerPlace): HTMLElement | undefined {
  if (!(parent instanceof Element) || !parent.isConnected) return undefined;
  const name = nameOf(element);
  return controlsOf(parent).find((one) => one.tagName === element.tagName && nameOf(one) === name);
}

/**
 * The link of the next row, or of the row before. Not the same control: the row can disappear on its own, and the next
 * Enter must not act on another row.
 */
function neighbour({ removed, next, previous }: FormerPlace): HTMLElement | undefined {
  if (!removed.matches("tr, li, [role=row], [role=listitem]")) return undefined;
  for (const row of [next, previous]) {
    if (!(row instanceof Element) || !row.isConnected || row.tagName !== removed.tagName) continue;
    const controls = controlsOf(row);
    const target = controls.find((one) => one.matches("a")) ?? controls[0];
    if (target !== undefined) return target;
  }
  return undefined;
}

function controlsOf(part: Element): HTMLElement[] {
  return [...part.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(canHaveFocus);
}

function nameOf(element: HTMLElement): string {
  return element.id || element.getAttribute("aria-label") || element.textContent || "";
}
