// Loads the code of each page once.

import { signal } from "@preact/signals";
import { loadMessages } from "../i18n/translate.ts";
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
  /** Preloads the scripts of a page, so that nested imports load in parallel, and loads its messages. */
  readonly loadFiles?: (name: RouteName) => Promise<void>;
}

/** The files of a page in the HTML, which lists them by the name of the page (`console/html_shell.ts`). */
export interface LinkedFiles {
  readonly scripts: readonly string[];
  readonly messages?: string | undefined;
}

/** Adds preload links for the scripts of a page, and loads its messages. */
export async function loadPageFiles(document: Document, name: RouteName): Promise<void> {
  const list = document.getElementById("app")?.dataset.pages ?? "{}";
  const { scripts = [], messages } = (JSON.parse(list) as Partial<Record<RouteName, LinkedFiles>>)[name] ??
    {};
  for (const file of scripts) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = `/assets/${file}`;
    document.head.append(link);
  }
  if (messages !== undefined) await loadMessages(messages);
}

const LOADING = { kind: "loading" } as const;

export function createPageLoader<View>({ imports, loadFiles }: LoaderDeps<View>): PageLoader<View> {
  const pages = signal<ReadonlyMap<RouteName, LoadedPage<View>>>(new Map());
  const put = (name: RouteName, page: LoadedPage<View>) => {
    pages.value = new Map(pages.peek()).set(name, page);
  };
  const loading = new Map<RouteName, Promise<void>>();
  const fetchPage = async ({ name }: RouteMatch): Promise<void> => {
    try {
      const [page] = await Promise.all([imports[name](), loadFiles?.(name)]);
      put(name, { kind: "ready", page });
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
