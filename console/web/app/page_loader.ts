// Loads the code of each page once.

import { signal } from "@preact/signals";
import { matchRoute, type RouteMatch, type RouteName } from "./routes.ts";

/** The code of a page. `View` renders it. */
type LoadedPage<View> =
  | { readonly kind: "loading" }
  | { readonly kind: "failed" }
  | { readonly kind: "ready"; readonly page: View };

interface PageLoader<View> {
  /** Reads a signal: a component that calls this renders again when the page is loaded. */
  find(name: RouteName): LoadedPage<View>;
  /** Loads the page of a path. `null`: it is loaded, or the path has no page. Never rejects. */
  prepare(path: string): Promise<void> | null;
}

interface LoaderDeps<View> {
  readonly imports: Readonly<Record<RouteName, () => Promise<View>>>;
  /** Preloads all files of a page, so that nested imports load in parallel. */
  readonly preload?: (name: RouteName) => void;
}

/** Adds preload links for the files of a page. The HTML has them by the name of the page (`console/html_shell.ts`). */
export function preloadPage(document: Document, name: RouteName): void {
  const list = document.getElementById("app")?.dataset.pages ?? "{}";
  const files = (JSON.parse(list) as Partial<Record<RouteName, readonly string[]>>)[name] ?? [];
  for (const file of files) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = `/assets/${file}`;
    document.head.append(link);
  }
}

const LOADING = { kind: "loading" } as const;

export function createPageLoader<View>({ imports, preload }: LoaderDeps<View>): PageLoader<View> {
  const pages = signal<ReadonlyMap<RouteName, LoadedPage<View>>>(new Map());
  const put = (name: RouteName, page: LoadedPage<View>) => {
    pages.value = new Map(pages.peek()).set(name, page);
  };
  const loading = new Map<RouteName, Promise<void>>();
  const fetchPage = async ({ name }: RouteMatch): Promise<void> => {
    try {
      preload?.(name);
      put(name, { kind: "ready", page: await imports[name]() });
    } catch (_notLoaded) {
      // The browser logs the reason.
      put(name, { kind: "failed" });
    }
    loading.delete(name);
  };
  return {
    find: (name) => pages.value.get(name) ?? LOADING,
    prepare(path) {
      const match = matchRoute(path);
      if (match === null) return null;
      const known = pages.peek().get(match.name);
      if (known?.kind === "ready") return null;
      const current = loading.get(match.name) ?? fetchPage(match);
      loading.set(match.name, current);
      return current;
    },
  };
}
