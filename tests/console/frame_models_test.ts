// What the frame knows, without a browser: places, the way between pages, selections, messages, the palette's order.

import { assert, assertEquals } from "@std/assert";
import { matchingOffers, type Offer } from "../../console/web/models/palette_model.ts";
import { createSelection } from "../../console/web/models/selection.ts";
import { createToasts } from "../../console/web/models/toasts_model.ts";
import { createPageLoader } from "../../console/web/page_loader.ts";
import { type Place, PLACES, railRows, visitOf } from "../../console/web/places.ts";
import { createRouter } from "../../console/web/router.ts";
import { ROUTES } from "../../console/web/routes.ts";

const ROWS: readonly [string, Place][] = Object.entries(PLACES);

Deno.test("visitOf() finds every place by its own pattern, and the home page at the root", () => {
  for (const [name, { pattern }] of ROWS) {
    const path = pattern.replace(/:\w+/g, "x%20y");
    assertEquals(visitOf(path)?.name, name, path);
    for (const value of Object.values(visitOf(path)?.params ?? {})) assertEquals(value, "x y");
  }
  assertEquals(visitOf("/")?.name, "live");
});

Deno.test("visitOf() takes no empty segment, no longer path, and survives a bad escape", () => {
  assertEquals([visitOf("/users/"), visitOf("/users/a/b/c/d"), visitOf("/nowhere")], [null, null, null]);
  assertEquals(visitOf("/users/%ZZ")?.params, { id: "%ZZ" });
});

Deno.test("PLACES gives no two places one address or one key, and the small screen's bar at most four", () => {
  const patterns = ROWS.map(([, { pattern }]) => pattern.replace(/:\w+/g, ":"));
  assertEquals(new Set(patterns).size, patterns.length);
  const keys = railRows().flatMap(([, { rail }]) => rail.key ?? []);
  assertEquals(new Set(keys).size, keys.length);
  assert(railRows().filter(([, { rail }]) => rail.inBar).length <= 4);
  assertEquals(Object.keys(ROUTES).toSorted(), Object.keys(PLACES).toSorted());
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
  return { router: createRouter(bar, { prepare }), bar, at, entries };
}

Deno.test("createRouter() keeps the old page until the new one is here, and the last click wins", async () => {
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

Deno.test("createRouter() knows how far down a page was when the user comes back", () => {
  const { router, bar, at } = setUpRouter(() => null);
  bar.scrollY = 700;
  router.go("/users/ada");
  assertEquals(router.topPx.value, 0);
  bar.scrollY = 30;
  bar.history.state = null;
  at("/live");
  router.refresh();
  assertEquals([router.path.value, router.topPx.value], ["/live", 700]);
});

Deno.test("createPageLoader() fetches once, says what failed, and tries again", async () => {
  let calls = 0;
  let works = false;
  const page = { default: () => null };
  const fetchPage = () => {
    calls += 1;
    return works ? Promise.resolve(page) : Promise.reject(new Error("gone"));
  };
  const routes = new Proxy(ROUTES, { get: () => fetchPage });
  const loader = createPageLoader({ routes });
  assertEquals(loader.pageOf("live").kind, "loading");
  await loader.prepare("/live");
  assertEquals(loader.pageOf("live").kind, "failed");
  works = true;
  await loader.prepare("/live");
  assertEquals([loader.pageOf("live").kind, loader.prepare("/live"), loader.prepare("/no"), calls], [
    "ready",
    null,
    null,
    2,
  ]);
});

Deno.test("createSelection() toggles, extends from the last one both ways, and chooses everything", () => {
  const keys = ["a", "b", "c", "d", "e"];
  const selection = createSelection();
  selection.toggle("d");
  selection.extend("b", keys);
  assertEquals([...selection.chosen.value].toSorted(), ["b", "c", "d"]);
  selection.toggle("c");
  assertEquals(selection.has("c"), false);
  selection.chooseEverything();
  assert(selection.has("on another page"));
  selection.toggle("a");
  assertEquals(selection.everything.value, false);
  selection.clear();
  assertEquals(selection.chosen.value.size, 0);
  selection.extend("b", keys);
  assertEquals([...selection.chosen.value], ["b"]);
});

Deno.test("createToasts() shows four at most, each for its time, and longer while the pointer is on them", () => {
  const due: (() => void)[] = [];
  const toasts = createToasts({
    later: (_delayMs, task) => {
      due.push(task);
      return () => {};
    },
  });
  for (const text of ["1", "2", "3", "4", "5"]) toasts.say(text);
  assertEquals(toasts.list.value.map(({ text }) => text), ["2", "3", "4", "5"]);
  toasts.hold(true);
  for (const task of due.splice(0)) task();
  assertEquals(toasts.list.value.length, 4);
  toasts.hold(false);
  for (const task of due.splice(0)) task();
  assertEquals(toasts.list.value, []);
});

Deno.test("matchingOffers() wants every word, and puts what begins so first", () => {
  const offer = (label: string): Offer => ({ id: label, kind: "go", label, run: () => {} });
  const offers = ["RADIUS clients", "Clients of today", "Users"].map(offer);
  const labels = (typed: string) => matchingOffers(offers, typed).map(({ label }) => label);
  assertEquals(labels("clients"), ["Clients of today", "RADIUS clients"]);
  assertEquals(labels("CLI rad"), ["RADIUS clients"]);
  assertEquals([labels("  ").length, labels("zzz").length], [3, 0]);
});
