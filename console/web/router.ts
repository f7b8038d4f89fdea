// The address bar as signals: the path, the filters in the query, and links that change them without a reload.

import { computed, type ReadonlySignal, signal } from "@preact/signals";

/** What the router needs of the browser; tests bring their own. */
export interface AddressBar {
  readonly location: { readonly pathname: string; readonly search: string; readonly hash: string };
  readonly history: {
    readonly state: unknown;
    pushState(data: unknown, unused: string, url: string): void;
    replaceState(data: unknown, unused: string, url: string): void;
  };
  readonly scrollY: number;
}

export interface Router {
  readonly path: ReadonlySignal<string>;
  /** `#timeline` without its sign; "" when absent. */
  readonly hash: ReadonlySignal<string>;
  /** How far down the page was when it was left: for coming back. 0 for a page that is new. */
  readonly topPx: ReadonlySignal<number>;
  /** Counts the pages that were gone to; 0 for the one that the browser opened. */
  readonly visits: ReadonlySignal<number>;
  /** The path of the page that was shown before this one; "" for the first page. */
  readonly leftPath: ReadonlySignal<string>;
  /** How many entries of the history lie between this page and `path`, when this page was opened from there; else 0. */
  stepsBackTo(path: string): number;
  /** One filter of the query; "" when absent. */
  param(name: string): string;
  /** Writes filters into the address without a new entry in the history; "" removes one. */
  setParams(changes: Readonly<Record<string, string>>): void;
  /** Goes to one of our own pages, as soon as its files are here. */
  go(url: string): void;
  /** Reads the address again: after back and forward. */
  refresh(): void;
  /**
   * Holds the page: whatever would leave it calls `ask` instead, with what continues. Returns what ends this. The
   * latest holder counts.
   */
  hold(ask: (proceed: () => void) => void): () => void;
}

interface RouterOptions {
  /** Fetches what a path needs; `null` when it is here. The old page stays until then. */
  readonly prepare?: (path: string) => Promise<void> | null;
}

export function createRouter(bar: AddressBar, { prepare = () => null }: RouterOptions = {}): Router {
  const { location, history } = bar;
  const here = () => location.pathname + location.search + location.hash;
  const url = signal(here());
  const parts = computed(() => splitUrl(url.value));
  const path = computed(() => parts.value.path);
  const query = computed(() => new URLSearchParams(parts.value.query));
  const topPx = signal(0);
  const visits = signal(0);
  const leftPath = signal("");
  /** From which page each entry of the history was opened, and how many entries ago. */
  const origins = new Map<unknown, { readonly path: string; readonly steps: number }>();
  /** By the entry of the history, which its state names. */
  const tops = new Map<unknown, number>();
  let entry = history.state;
  let turn = 0;
  let holder: ((proceed: () => void) => void) | null = null;

  /** Runs `arrive` when the page is loaded, unless the user navigated elsewhere meanwhile. */
  const travel = (to: string, arrive: () => void): void => {
    turn += 1;
    const mine = turn;
    const waiting = prepare(splitUrl(to).path);
    if (waiting === null) arrive();
    else void waiting.then(() => mine === turn && arrive());
  };
  const arriveAt = (to: string, topOf: () => number): void => {
    entry = history.state;
    if (splitUrl(to).path !== path.peek()) {
      leftPath.value = path.peek();
      visits.value += 1;
    }
    topPx.value = topOf();
    url.value = to;
  };
  const askFirst = (to: string): void => {
    holder?.(() => {
      holder = null;
      router.go(to);
    });
  };
  const router: Router = {
    path,
    hash: computed(() => parts.value.hash),
    topPx,
    visits,
    leftPath,
    stepsBackTo(wanted) {
      const origin = origins.get(entry);
      return origin?.path === wanted ? origin.steps : 0;
    },
    param: (name) => query.value.get(name) ?? "",
    setParams(changes) {
      const next = new URLSearchParams(query.peek());
      for (const [name, value] of Object.entries(changes)) {
        if (value === "") next.delete(name);
        else next.set(name, value);
      }
      const { path, hash } = parts.peek();
      const text = next.toString();
      url.value = path + (text === "" ? "" : `?${text}`) + (hash === "" ? "" : `#${hash}`);
      history.replaceState(history.state, "", url.value);
    },
    go(to) {
      if (holder !== null) return askFirst(to);
      travel(to, () => {
        tops.set(entry, bar.scrollY);
        const origin = origins.get(entry);
        const isSamePage = splitUrl(to).path === path.peek();
        history.pushState(crypto.randomUUID(), "", to);
        if (!isSamePage) origins.set(history.state, { path: path.peek(), steps: 1 });
        else if (origin !== undefined) {
          origins.set(history.state, { ...origin, steps: origin.steps + 1 });
        }
        arriveAt(to, () => 0);
      });
    },
    refresh() {
      const to = here();
      if (holder !== null && to !== url.peek()) {
        // The browser is there already; the address of the page that stays goes back on top.
        history.pushState(entry, "", url.peek());
        return askFirst(to);
      }
      travel(to, () => {
        tops.set(entry, bar.scrollY);
        arriveAt(to, () => tops.get(history.state) ?? 0);
      });
    },
    hold(ask) {
      holder = ask;
      return () => {
        if (holder === ask) holder = null;
      };
    },
  };
  return router;
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

/** Follows plain clicks on links to our own pages; everything else stays the browser's. */
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
