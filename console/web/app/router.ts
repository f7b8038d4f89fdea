// The address bar as signals: the path, the filters in the query, links that change them without a reload, and the scroll position.

import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";

/** The part of the browser that the router uses. */
interface AddressBar {
  readonly location: { readonly pathname: string; readonly search: string; readonly hash: string };
  readonly history: {
    readonly state: unknown;
    pushState(data: unknown, unused: string, url: string): void;
    replaceState(data: unknown, unused: string, url: string): void;
  };
  readonly scrollY: number;
}

interface RouterOptions {
  /** Loads what a path needs; `null` when it is loaded. The old page stays until then. */
  readonly prepare?: (path: string) => Promise<void> | null;
}

type AskFirst = (proceed: () => void) => void;

interface Blocker {
  readonly ask: AskFirst;
  /** Pages below this path are open without a question: they share the input. */
  readonly within: string | undefined;
}

export class Router {
  readonly #bar: AddressBar;
  readonly #prepare: NonNullable<RouterOptions["prepare"]>;
  readonly #url: Signal<string>;
  readonly #parts = computed(() => splitUrl(this.#url.value));
  readonly #query = computed(() => new URLSearchParams(this.#parts.value.query));
  readonly #scrollTopPx = signal(0);
  readonly #visits = signal(0);
  readonly #previousPath = signal("");
  /** From which page each entry of the history was opened, and how many entries ago. */
  readonly #origins = new Map<unknown, { readonly path: string; readonly steps: number }>();
  /** Scroll positions by the entry of the history, which its state names. */
  readonly #tops = new Map<unknown, number>();
  #entry: unknown;
  /** Numbers the navigations: the latest one wins. */
  #turn = 0;
  #blocker: Blocker | null = null;

  readonly path = computed(() => this.#parts.value.path);
  /** `timeline` for `#timeline`; "" when absent. */
  readonly hash = computed(() => this.#parts.value.hash);
  /** The scroll position of a page that the user comes back to; 0 for a new page. */
  readonly scrollTopPx: ReadonlySignal<number> = this.#scrollTopPx;
  /** Counts the navigations to other pages; 0 for the page that the browser opened. */
  readonly visits: ReadonlySignal<number> = this.#visits;
  /** The path of the page that was shown before this one; "" for the first page. */
  readonly previousPath: ReadonlySignal<string> = this.#previousPath;

  constructor(bar: AddressBar, { prepare = () => null }: RouterOptions = {}) {
    this.#bar = bar;
    this.#prepare = prepare;
    this.#url = signal(addressOf(bar));
    this.#entry = bar.history.state;
  }

  /** How many entries of the history lie between this page and `path`, if this page was opened from there; else 0. */
  stepsBackTo(path: string): number {
    const origin = this.#origins.get(this.#entry);
    return origin?.path === path ? origin.steps : 0;
  }

  /** One filter of the query; "" when absent. */
  readonly param = (name: string): string => this.#query.value.get(name) ?? "";

  /** Writes filters into the address without a new entry in the history; "" removes one. */
  setParams(changes: Readonly<Record<string, string>>): void {
    const next = new URLSearchParams(this.#query.peek());
    for (const [name, value] of Object.entries(changes)) {
      if (value === "") next.delete(name);
      else next.set(name, value);
    }
    const { path, hash } = this.#parts.peek();
    const text = next.toString();
    const url = path + (text === "" ? "" : `?${text}`) + (hash === "" ? "" : `#${hash}`);
    const { history } = this.#bar;
    this.#url.value = url;
    history.replaceState(history.state, "", url);
  }

  /** Navigates to a page of the console, as soon as its files are loaded. */
  go(to: string): void {
    if (this.#isBlocked(to)) return this.#askFirst(to);
    this.#travel(to, () => {
      const { history } = this.#bar;
      const origin = this.#origins.get(this.#entry);
      const path = this.path.peek();
      history.pushState(crypto.randomUUID(), "", to);
      if (splitUrl(to).path !== path) this.#origins.set(history.state, { path, steps: 1 });
      else if (origin !== undefined) {
        this.#origins.set(history.state, { ...origin, steps: origin.steps + 1 });
      }
      return 0;
    });
  }

  /** Reads the address again, after Back and Forward. */
  readonly refresh = (): void => {
    const to = addressOf(this.#bar);
    const { history } = this.#bar;
    if (this.#isBlocked(to) && to !== this.#url.peek()) {
      // The browser shows the new address already: push the address of the page that stays.
      history.pushState(this.#entry, "", this.#url.peek());
      return this.#askFirst(to);
    }
    this.#travel(to, () => this.#tops.get(history.state) ?? 0);
  };

  /**
   * Blocks navigation: `ask` is called instead of leaving the page, with a function that continues. Returns a function
   * that ends this. Only the latest block counts.
   */
  block(ask: AskFirst, { within }: { readonly within?: string | undefined } = {}): () => void {
    const blocker = { ask, within };
    this.#blocker = blocker;
    return () => {
      if (this.#blocker === blocker) this.#blocker = null;
    };
  }

  #isBlocked(to: string): boolean {
    if (this.#blocker === null) return false;
    const { within } = this.#blocker;
    const { path } = splitUrl(to);
    return within === undefined || (path !== within && !path.startsWith(`${within}/`));
  }

  #askFirst(to: string): void {
    this.#blocker?.ask(() => {
      this.#blocker = null;
      this.go(to);
    });
  }

  /**
   * Shows another page when it is loaded, unless the user navigated elsewhere meanwhile.
   *
   * @param enter changes the history. Returns the scroll position of the page.
   */
  #travel(to: string, enter: () => number): void {
    const turn = this.#turn += 1;
    const arrive = () => {
      if (turn !== this.#turn) return;
      this.#tops.set(this.#entry, this.#bar.scrollY);
      const topPx = enter();
      const path = this.path.peek();
      this.#entry = this.#bar.history.state;
      if (splitUrl(to).path !== path) {
        this.#previousPath.value = path;
        this.#visits.value += 1;
      }
      this.#scrollTopPx.value = topPx;
      this.#url.value = to;
    };
    const loading = this.#prepare(splitUrl(to).path);
    if (loading === null) arrive();
    else void loading.then(arrive);
  }
}

function addressOf({ location }: AddressBar): string {
  return location.pathname + location.search + location.hash;
}

function splitUrl(url: string): { path: string; query: string; hash: string } {
  const [rest = "", hash = ""] = cut(url, "#");
  const [path = "/", query = ""] = cut(rest, "?");
  return { path, query, hash };
}

function cut(text: string, sign: string): [string, string] {
  const at = text.indexOf(sign);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Handles plain clicks on links to pages of the console. The browser handles everything else. */
export function followLinks(router: Router, { document, isPage }: {
  document: Document;
  isPage: (path: string) => boolean;
}): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || link.dataset.reload !== undefined || !isPage(link.pathname)) {
      return;
    }
    event.preventDefault();
    // A link back to the list that this page was opened from restores the filters and the position of the list.
    const steps = link.classList.contains("back") ? router.stepsBackTo(link.pathname) : 0;
    if (steps > 0) history.go(-steps);
    else router.go(link.pathname + link.search + link.hash);
  });
}

function isBodyScrolling(): boolean {
  return getComputedStyle(document.body).overflowY === "auto";
}

export function pageTop(): number {
  return isBodyScrolling() ? document.body.scrollTop : scrollY;
}

export function scrollPage(topPx: number): void {
  if (isBodyScrolling()) document.body.scrollTop = topPx;
  else scrollTo(0, topPx);
}

const SCROLL_TIMEOUT_MS = 3000;
const MOVES = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

export function restoreScroll(topPx: number): void {
  scrollPage(topPx);
  if (topPx === 0) return;
  const end = new AbortController();
  const observer = new ResizeObserver(() => {
    scrollPage(topPx);
    if (Math.abs(pageTop() - topPx) < 1) end.abort();
  });
  end.signal.addEventListener("abort", () => observer.disconnect());
  for (const move of MOVES) addEventListener(move, () => end.abort(), { signal: end.signal, passive: true });
  setTimeout(() => end.abort(), SCROLL_TIMEOUT_MS);
  observer.observe(document.body);
}

const FOCUS_TIMEOUT_MS = 3000;

/** @param path of the page that the row links to. Ends when the user moves the focus. */
export function focusRowLink(path: string): void {
  const start = document.activeElement;
  const observer = new MutationObserver(tryNow);
  observer.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), FOCUS_TIMEOUT_MS);
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
