// The address bar as signals: the path, the filters in the query, and links that change them without a reload.

import { computed, type ReadonlySignal, signal } from "@preact/signals";

/** What the router needs of the browser; tests bring their own. */
export interface AddressBar {
  readonly location: { readonly pathname: string; readonly search: string; readonly hash: string };
  readonly history: {
    pushState(data: null, unused: string, url: string): void;
    replaceState(data: null, unused: string, url: string): void;
  };
}

export interface Router {
  readonly path: ReadonlySignal<string>;
  /** One filter of the query; "" when absent. */
  param(name: string): string;
  /** Writes filters into the address without a new entry in the history; "" removes one. */
  setParams(changes: Readonly<Record<string, string>>): void;
  go(url: string): void;
  /** Reads the address again: after back and forward. */
  refresh(): void;
}

export function createRouter({ location, history }: AddressBar): Router {
  const url = signal(location.pathname + location.search);
  const path = computed(() => url.value.split("?")[0] ?? "/");
  const query = computed(() => new URLSearchParams(url.value.split("?")[1] ?? ""));
  return {
    path,
    param: (name) => query.value.get(name) ?? "",
    setParams(changes) {
      const next = new URLSearchParams(query.peek());
      for (const [name, value] of Object.entries(changes)) {
        if (value === "") next.delete(name);
        else next.set(name, value);
      }
      const text = next.toString();
      url.value = path.peek() + (text === "" ? "" : `?${text}`);
      history.replaceState(null, "", url.value);
    },
    go(to) {
      history.pushState(null, "", to);
      url.value = to;
    },
    refresh() {
      url.value = location.pathname + location.search;
    },
  };
}

/** Follows plain clicks on links to our own pages; everything else stays the browser's. */
export function followLinks(router: Router, document: Document): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || link.dataset.reload !== undefined) return;
    event.preventDefault();
    router.go(link.pathname + link.search);
  });
}
