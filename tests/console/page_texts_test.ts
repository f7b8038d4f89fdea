// Messages for every refusal of the server, number and time formats, clocks and page addresses.

import { assert, assertEquals } from "@std/assert";
import {
  countdownText,
  countText,
  decimalText,
  durationText,
  octetsText,
  offsetText,
  secondsText,
  spanText,
} from "../../console/web/app/format.ts";
import { CATALOGUES } from "../../console/build/build.ts";
import { createClockModel } from "../../console/web/app/clock_model.ts";
import { Router } from "../../console/web/app/router.ts";
import { toReadableName } from "../../console/web/app/login_state_labels.ts";
import { activateCatalogue } from "../../console/web/i18n/translate.ts";

Deno.test("readable() makes readable words of a name", () => {
  assertEquals(toReadableName("pushDenied_twice"), "Push denied twice");
  assertEquals(toReadableName(""), "?");
});

Deno.test("the phone page has a message for every refusal of the phone service", () => {
  const reasons = [
    "unknown_token",
    "unknown_invitation",
    "account_changed",
    "already_used",
    "expired",
    "unknown_request",
  ];
  const messages = CATALOGUES.en;
  for (const reason of [...reasons, "already_decided", "wrong_number", "too_many_tries", "no_phone_page"]) {
    assert(`errors.${reason}` in messages, reason);
  }
});

Deno.test("format shows counts, durations and countdowns as people read them", () => {
  assertEquals(countText(1234567), "1\u202f234\u202f567");
  assertEquals([-5, 0, 999, 6200, 99_999, 100_000, 5_999_999, 6_000_000, 2e8].map(durationText), [
    "0 s",
    "0 s",
    "0 s",
    "6 s",
    "99 s",
    "1 min",
    "99 min",
    "1 h",
    "2 d",
  ]);
  assertEquals([-1, 0, 1, 42_000, 60_001].map(countdownText), ["0:00", "0:00", "0:01", "0:42", "1:01"]);
  assertEquals([0, 41, 6240, 102_000, 120_000].map(offsetText), [
    "+0 ms",
    "+41 ms",
    "+6.2 s",
    "+1 min 42 s",
    "+2 min",
  ]);
});

Deno.test("numbers have the decimal separator of the selected language", () => {
  const formatted = () => [
    decimalText(0.5),
    secondsText(2900),
    spanText(2900),
    offsetText(6240),
    octetsText(1_200_000),
    octetsText(45_600),
  ];
  try {
    assertEquals(formatted(), ["0.5", "2.9 s", "2.9 s", "+6.2 s", "1.2 MB", "46 kB"]);
    activateCatalogue("de", {});
    assertEquals(formatted(), ["0,5", "2,9 s", "2,9 s", "+6,2 s", "1,2 MB", "46 kB"]);
    activateCatalogue("en", {});
    assertEquals(secondsText(2900), "2.9 s");
  } finally {
    activateCatalogue("en", {});
  }
});

Deno.test("createClockModel() follows the server's clock, not the browser's", () => {
  let localMs = 1000;
  const clock = createClockModel(() => localMs);
  clock.adjust(500_000);
  assertEquals(clock.nowMs.value, 500_000);
  localMs += 3000;
  clock.tick();
  assertEquals(clock.nowMs.value, 503_000);
});

function setUpRouter(address: string) {
  const location = { pathname: "", search: "", hash: "" };
  const at = (url: string) => {
    const parsed = new URL(url, "http://x");
    Object.assign(location, { pathname: parsed.pathname, search: parsed.search, hash: parsed.hash });
  };
  at(address);
  const written: string[] = [];
  const note = (_data: unknown, _unused: string, url: string) => {
    written.push(url);
    at(url);
  };
  return {
    router: new Router({
      location,
      history: { state: null, pushState: note, replaceState: note },
      scrollY: 0,
    }),
    written,
    at,
  };
}

Deno.test("Router reads filters from the address and writes them back", () => {
  const { router, written } = setUpRouter("/live?q=a%20b&state=phone");
  assertEquals([router.path.value, router.param("q"), router.param("client")], ["/live", "a b", ""]);
  router.setParams({ state: "", client: "vpn&1" });
  assertEquals(written, ["/live?q=a+b&client=vpn%261"]);
  assertEquals([router.param("client"), router.param("state")], ["vpn&1", ""]);
  router.setParams({ q: "", client: "" });
  assertEquals(written.at(-1), "/live");
});

Deno.test("Router survives an address that is not well-formed", () => {
  const { router, at } = setUpRouter("/live?q=%ZZ&c=%E0%A4%A");
  assert(router.param("q").includes("%ZZ"));
  at("/setup?q=1");
  router.refresh();
  assertEquals([router.path.value, router.param("q")], ["/setup", "1"]);
});

Deno.test("no placeholder is a plain value: each one is a message, an example or a named default", async () => {
  const root = new URL("../../console/", import.meta.url);
  const found: string[] = [];
  const read = async (folder: URL): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory && name !== "dist") await read(new URL(`${name}/`, folder));
      if (!/\.tsx?$/.test(name)) continue;
      const text = await Deno.readTextFile(new URL(name, folder));
      for (const [use] of text.matchAll(/placeholder(: |=\{?)["'`].*|placeholder(: |=\{)String\(.*/g)) {
        found.push(`${name}: ${use}`);
      }
    }
  };
  for (const folder of ["web/", "account/", "device/", "approval/"]) await read(new URL(folder, root));
  assertEquals(found, []);
});
