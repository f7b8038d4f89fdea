// Models of the page frame, without a browser: routes, navigation, selections, messages, and the order of the palette.

import { assert, assertEquals } from "@std/assert";
import { matchingItems, type PaletteItem } from "../../console/web/app/palette.tsx";
import { createSelection } from "../../console/web/app/selection.ts";
import { createToasts } from "../../console/web/app/toasts.tsx";
import { createPageLoader, loadPageFiles } from "../../console/web/app/page_loader.ts";
import {
  matchRoute,
  openableRoutes,
  PAGE_ROUTES,
  type PageRoute,
  REDIRECT_PATTERNS,
  redirectedPath,
  sidebarRoutes,
} from "../../console/web/app/routes.ts";
import { Router } from "../../console/web/app/router.ts";
import { signal } from "@preact/signals";
import type { Models, Overlay } from "../../console/web/app/app_context.ts";
import { listenForFrameKeys } from "../../console/web/app/app.tsx";
import { activeShortcuts, addShortcuts } from "../../console/web/app/shortcuts.ts";
import { PAGE_IMPORTS } from "../../console/web/app/page_imports.ts";

const ROWS: readonly [string, PageRoute][] = Object.entries(PAGE_ROUTES);

Deno.test("matchRoute() finds every route by its own pattern, and the home page at the root", () => {
  for (const [name, { pattern }] of ROWS) {
    const path = pattern.replace(/:\w+/g, "x%20y");
    assertEquals(matchRoute(path)?.name, name, path);
    for (const value of Object.values(matchRoute(path)?.params ?? {})) assertEquals(value, "x y");
  }
  assertEquals(matchRoute("/")?.name, "overview");
});

Deno.test("matchRoute() accepts no empty segment and no longer path, and survives a bad escape", () => {
  assertEquals([matchRoute("/users/"), matchRoute("/users/a/b/c/d"), matchRoute("/nowhere")], [
    null,
    null,
    null,
  ]);
  assertEquals(matchRoute("/users/%ZZ")?.params, { id: "%ZZ" });
  assertEquals(matchRoute("/users/Sales%2Fada")?.params, { id: "Sales/ada" });
  assertEquals(matchRoute("/groups/Sales%2fEMEA")?.params, { id: "Sales/EMEA" });
});

Deno.test("PLACES gives each place its own address and key, and the navigation bar of small screens at most four", () => {
  const patterns = ROWS.map(([, { pattern }]) => pattern.replace(/:\w+/g, ":"));
  assertEquals(new Set(patterns).size, patterns.length);
  const keys = openableRoutes().flatMap(([, { key }]) => key ?? []);
  assertEquals(new Set(keys).size, keys.length);
  assert(sidebarRoutes().filter(([, { sidebar }]) => sidebar.isInBottomBar).length <= 4);
  assertEquals(Object.keys(PAGE_IMPORTS).toSorted(), Object.keys(PAGE_ROUTES).toSorted());
});

Deno.test("redirectedPath() leads each name of a page to its address, and nothing else", () => {
  const rows = [
    ["/directories", "/targets"],
    ["/connectors/hq", "/targets/hq"],
    ["/authenticators", "/devices"],
    ["/administrators", "/access"],
    ["/reports", "/charts"],
    ["/users", null],
    ["/constructor", null],
    ["/", null],
  ] as const;
  for (const [from, to] of rows) assertEquals(redirectedPath(from), to, from);
  for (const pattern of REDIRECT_PATTERNS) {
    assertEquals(matchRoute(pattern), null, pattern);
    assert(matchRoute(redirectedPath(pattern) ?? "") !== null || pattern.endsWith("/:id"), pattern);
  }
});

function setUpRouter(prepare: (path: string) => Promise<void> | null) {
  const location = { pathname: "/live", search: "", hash: "" };
  const entries: unknown[] = [];
  const at = (url: string) => {
    const { pathname, search, hash } = new URL(url, "http://x");
    Object.assign(location, { pathname, search, hash });
  };
  const bar = {
    location,
    scrollY: 0,
    history: {
      state: null as unknown,
      pushState(state: unknown, _unused: string, url: string) {
        entries.push(state);
        bar.history.state = state;
        at(url);
      },
      replaceState(_state: unknown, _unused: string, url: string) {
        at(url);
      },
    },
  };
  return { router: new Router(bar, { prepare }), bar, at, entries };
}

Deno.test("Router keeps the old page until the new one is loaded, and the last click wins", async () => {
  const gates: (() => void)[] = [];
  const { router, entries } = setUpRouter(() => new Promise((resolve) => gates.push(resolve)));
  router.go("/users");
  router.go("/access#tokens");
  assertEquals(router.path.value, "/live");
  for (const open of gates.toReversed()) open();
  await Promise.resolve();
  await Promise.resolve();
  assertEquals([router.path.value, router.hash.value, router.visits.value], ["/access", "tokens", 1]);
  assertEquals(entries.length, 1);
});

Deno.test("Router restores the scroll position of a page when the user comes back", () => {
  const { router, bar, at } = setUpRouter(() => null);
  bar.scrollY = 700;
  router.go("/users/ada");
  assertEquals(router.scrollTopPx.value, 0);
  bar.scrollY = 30;
  bar.history.state = null;
  at("/live");
  router.refresh();
  assertEquals([router.path.value, router.scrollTopPx.value], ["/live", 700]);
});

Deno.test("Router.block() asks before another page is opened, but not within the pages that share the input", () => {
  const { router, bar, at } = setUpRouter(() => null);
  const asked: (() => void)[] = [];
  router.go("/settings/limits");
  const release = router.block((proceed) => asked.push(proceed), { within: "/settings" });
  for (const path of ["/settings/factors", "/settings", "/settings/limits?q=lock#factors.lockout.failures"]) {
    router.go(path);
  }
  bar.history.state = null;
  at("/settings/factors");
  router.refresh();
  assertEquals([router.path.value, asked.length], ["/settings/factors", 0]);
  router.go("/settings-of-others");
  at("/users");
  router.refresh();
  assertEquals([router.path.value, asked.length], ["/settings/factors", 2]);
  asked[0]?.();
  assertEquals(router.path.value, "/settings-of-others");
  release();
  router.go("/users");
  assertEquals([router.path.value, asked.length], ["/users", 2]);
});

Deno.test("createPageLoader() fetches once, reports a failure, and tries again", async () => {
  let calls = 0;
  let works = false;
  const page = { default: () => null };
  const fetchPage = () => {
    calls += 1;
    return works ? Promise.resolve(page) : Promise.reject(new Error("gone"));
  };
  const imports = new Proxy(PAGE_IMPORTS, { get: () => fetchPage });
  const loader = createPageLoader({ imports });
  assertEquals(loader.find("live").kind, "loading");
  await loader.prepare("/live");
  assertEquals(loader.find("live").kind, "failed");
  works = true;
  await loader.prepare("/live");
  assertEquals([loader.find("live").kind, loader.prepare("/live"), loader.prepare("/no"), calls], [
    "ready",
    null,
    null,
    2,
  ]);
});

Deno.test("createPageLoader() shows a page when its messages are there, and an error when they do not load", async () => {
  const page = { default: () => null };
  const imports = new Proxy(PAGE_IMPORTS, { get: () => () => Promise.resolve(page) });
  for (const [end, kind] of [["resolve", "ready"], ["reject", "failed"]] as const) {
    const files = Promise.withResolvers<void>();
    const loader = createPageLoader({ imports, loadFiles: () => files.promise });
    const prepared = loader.prepare("/live");
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    assertEquals(loader.find("live").kind, "loading");
    files[end]();
    await prepared;
    assertEquals(loader.find("live").kind, kind);
  }
});

Deno.test("loadPageFiles() adds a link for each script of the page that the HTML lists", async () => {
  const links: { rel: string; href: string }[] = [];
  const document = {
    getElementById: () => ({ dataset: { pages: '{"users":{"scripts":["a.js","b.js"]}}' } }),
    createElement: () => ({ rel: "", href: "" }),
    head: { append: (link: { rel: string; href: string }) => links.push(link) },
  } as unknown as Document;
  await loadPageFiles(document, "users");
  await loadPageFiles(document, "live");
  assertEquals(links, [
    { rel: "modulepreload", href: "/assets/a.js" },
    { rel: "modulepreload", href: "/assets/b.js" },
  ]);
});

Deno.test("createSelection() toggles, extends from the last item in both directions, and selects all", () => {
  const keys = ["a", "b", "c", "d", "e"];
  const selection = createSelection();
  selection.toggle("d");
  selection.extend("b", keys);
  assertEquals([...selection.selected.value].toSorted(), ["b", "c", "d"]);
  selection.toggle("c");
  assertEquals(selection.has("c"), false);
  selection.selectEverything();
  assert(selection.has("on another page"));
  selection.toggle("a");
  assertEquals(selection.isEverything.value, false);
  selection.clear();
  assertEquals(selection.selected.value.size, 0);
  selection.extend("b", keys);
  assertEquals([...selection.selected.value], ["b"]);
});

Deno.test("createToasts() shows at most four, each for its time, and longer while the pointer is over them", () => {
  const due: (() => void)[] = [];
  const toasts = createToasts({
    later: (_delayMs, task) => {
      due.push(task);
      return () => {};
    },
  });
  for (const text of ["1", "2", "3", "4", "5"]) toasts.show(text);
  assertEquals(toasts.list.value.map(({ text }) => text), ["2", "3", "4", "5"]);
  toasts.pause(true);
  for (const task of due.splice(0)) task();
  assertEquals(toasts.list.value.length, 4);
  toasts.pause(false);
  for (const task of due.splice(0)) task();
  assertEquals(toasts.list.value, []);
});

Deno.test("matchingItems() requires every word, and lists items that begin with them first", () => {
  const offer = (label: string): PaletteItem => ({ id: label, kind: "go", label, run: () => {} });
  const offers = ["RADIUS clients", "Clients of today", "Users"].map(offer);
  const labels = (typed: string) => matchingItems(offers, typed).map(({ label }) => label);
  assertEquals(labels("clients"), ["Clients of today", "RADIUS clients"]);
  assertEquals(labels("CLI rad"), ["RADIUS clients"]);
  assertEquals([labels("  ").length, labels("zzz").length], [3, 0]);
});

Deno.test("listenForFrameKeys() ends both listeners, so that a second frame runs each key once", () => {
  const document = Object.assign(new EventTarget(), { querySelector: () => null });
  const overlay = signal<Overlay | null>(null);
  const typedAhead = signal("");
  const models = {
    ...{ overlay, typedAhead },
    session: { hasRole: () => true },
    preferences: { singleKeys: signal(true) },
  };
  const listen = () => listenForFrameKeys(document as unknown as Document, models as unknown as Models);
  let runs = 0;
  const removeRows = addShortcuts(() => [{ keys: "y", label: "shell.key_help", run: () => runs += 1 }]);
  const press = (key: string, ctrlKey = false) =>
    document.dispatchEvent(Object.assign(new Event("keydown", { cancelable: true }), { key, ctrlKey }));
  const original = globalThis.HTMLElement;
  globalThis.HTMLElement = class {} as typeof HTMLElement;
  try {
    listen()();
    const end = listen();
    press("y");
    press("k", true);
    assertEquals([runs, overlay.value], [1, "palette"]);
    // The dialog is not open yet.
    press("y");
    assertEquals([runs, typedAhead.value], [1, "y"]);
    press("Escape");
    assertEquals(overlay.value, null);
    press("k", true);
    end();
    overlay.value = null;
    press("y");
    press("k", true);
    assertEquals([runs, overlay.value], [1, null]);
  } finally {
    globalThis.HTMLElement = original;
    removeRows();
  }
});

Deno.test("the page of a link adds its shortcuts before the frame, and they still come last and win", () => {
  const add = (label: "live.key_close" | "shell.key_back", options?: { isFrame: boolean }) =>
    addShortcuts(() => [{ keys: "Escape", label, run: () => {} }], options);
  const removals = [add("live.key_close"), add("shell.key_back", { isFrame: true })];
  try {
    assertEquals(activeShortcuts().map(({ label }) => label), ["shell.key_back", "live.key_close"]);
  } finally {
    for (const remove of removals) remove();
  }
});
