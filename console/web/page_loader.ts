// Fetches pages and their words, once each, and says which are here.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { type Area } from "./words/words.ts";
import { type PlaceName, type Visit, visitOf } from "./places.ts";
import type { Models } from "./models/models.ts";

/** What every page is given. */
export interface PageProps {
  readonly models: Models;
  /** The named segments of the address, decoded: `{ id }` for `/users/:id`. */
  readonly params: Readonly<Record<string, string>>;
}

/** Draws a page, with an `h1` that can take the focus: the default export of its module. */
export type PageView = ComponentType<PageProps>;

/** A page: on its way, here, or not to be had. */
export type LoadedPage = { readonly kind: "loading" } | { readonly kind: "failed" } | {
  readonly kind: "ready";
  readonly page: PageView;
};

export interface PageLoader {
  /** Reads a signal: who asks while drawing is drawn again when the page comes. */
  pageOf(name: PlaceName): LoadedPage;
  /** Fetches what a path needs; `null` when all is here, or the path is no page. Never rejects. */
  prepare(path: string): Promise<void> | null;
}

interface LoaderDeps {
  readonly routes: Readonly<Record<PlaceName, () => Promise<PageView>>>;
  readonly loadWords: (areas: readonly Area[]) => Promise<void> | null;
}

const LOADING: LoadedPage = { kind: "loading" };

export function createPageLoader({ routes, loadWords }: LoaderDeps): PageLoader {
  const pages = signal<ReadonlyMap<PlaceName, LoadedPage>>(new Map());
  const put = (name: PlaceName, page: LoadedPage) => {
    pages.value = new Map(pages.peek()).set(name, page);
  };
  const onTheWay = new Map<PlaceName, Promise<void>>();
  const fetchPage = async ({ name, place }: Visit): Promise<void> => {
    try {
      const [page] = await Promise.all([routes[name](), loadWords(place.words)]);
      put(name, { kind: "ready", page });
    } catch (_notToBeHad) {
      // The browser says why in its own console; here it is enough that the page is not there.
      put(name, { kind: "failed" });
    }
    onTheWay.delete(name);
  };
  return {
    pageOf: (name) => pages.value.get(name) ?? LOADING,
    prepare(path) {
      const visit = visitOf(path);
      if (visit === null) return null;
      const known = pages.peek().get(visit.name);
      if (known?.kind === "ready") return loadWords(visit.place.words);
      const coming = onTheWay.get(visit.name) ?? fetchPage(visit);
      onTheWay.set(visit.name, coming);
      return coming;
    },
  };
}
