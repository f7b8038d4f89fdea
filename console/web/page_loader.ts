// Fetches the code of pages, once each.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
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
}

const LOADING: LoadedPage = { kind: "loading" };

export function createPageLoader({ routes }: LoaderDeps): PageLoader {
  const pages = signal<ReadonlyMap<PlaceName, LoadedPage>>(new Map());
  const put = (name: PlaceName, page: LoadedPage) => {
    pages.value = new Map(pages.peek()).set(name, page);
  };
  const onTheWay = new Map<PlaceName, Promise<void>>();
  const fetchPage = async ({ name }: Visit): Promise<void> => {
    try {
      put(name, { kind: "ready", page: await routes[name]() });
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
      if (known?.kind === "ready") return null;
      const coming = onTheWay.get(visit.name) ?? fetchPage(visit);
      onTheWay.set(visit.name, coming);
      return coming;
    },
  };
}
