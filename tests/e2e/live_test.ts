// The Live page and the test inbox in a browser: logins, filters, the inspector, push requests, messages, and the keyboard.

import { assert, assertEquals } from "@std/assert";
import { STEPS } from "../../radius/protocol/steps.ts";
import { INSPECTOR_TABS } from "../../console/web/pages/live/login_inspector.tsx";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import type { Page } from "../packages/playwright.ts";
import { consoleTests } from "./console_tests.ts";
import { listensFor, users, waitForUsers, waiting } from "./page_actions.ts";
import { goWithin } from "./pages/page_walk.ts";
import { holds } from "./browser.ts";

// The Live page in a browser: logins, filters, the inspector, push requests, messages, and the keyboard.

const test = consoleTests(startConsole, { role: "viewer" });

test("Live shows new and changed logins without a reload", async ({ page, site, open }) => {
  const startedMs = Date.now();
  site.watch.put(conversation(1, { user: "before", startedMs }));
  await open("/live", "Sign-in log");
  await waitForUsers(page, ["before"]);
  await page.evaluate(() => Object.assign(globalThis, { sameDocument: true }));
  const view = conversation(2, { user: "after", startedMs });
  site.watch.put(view);
  await waitForUsers(page, ["after", "before"]);
  await holds(() => page.getByRole("row").nth(1).getByText("Waiting for the phone").count(), 1);
  const funnel = page.getByRole("region", { name: "Sign-in flow" });
  await funnel.getByRole("button", { name: "Waiting 2" }).waitFor();
  await funnel.getByRole("button", { name: "Flow diagram" }).click();
  await funnel.getByRole("button", { name: "Phone 2" }).waitFor();
  site.watch.put(ended(view, { outcome: "rejected", row: "not_approved", atMs: startedMs + 6200 }));
  await page.getByRole("row").nth(1).getByText("Rejected").waitFor();
  await funnel.getByRole("button", { name: "Phone 1" }).waitFor();
  await funnel.getByRole("button", { name: "Waiting 1" }).waitFor();
  await funnel.getByRole("button", { name: "Rejected 1" }).first().waitFor();
  assertEquals(await page.evaluate(() => "sameDocument" in globalThis), true);
});

test("the inspector shows why a login ended, and has a link of its own", async ({ page, site, open }) => {
  const startedMs = Date.now();
  const view = conversation(1, { user: "ada", startedMs });
  site.watch.put(ended(view, { outcome: "rejected", row: "not_approved", atMs: startedMs + 6200 }));
  await open("/live", "Sign-in log");
  await page.getByRole("link", { name: "ada" }).click();
  const inspector = page.getByRole("complementary", { name: "Selected sign-in" });
  await inspector.getByText("The push was denied, or it expired").waitFor();
  await inspector.getByRole("tab", { name: "Steps" }).click();
  await inspector.getByText("+6.2 s").waitFor();
  await page.waitForURL((url) => url.searchParams.get("c") === view.id);
  await page.reload();
  await inspector.getByText("Push sent").waitFor();
  await inspector.getByRole("button", { name: "Close" }).click();
  await inspector.waitFor({ state: "detached" });
});

test("filters are in the address: shared, reloaded, cleared", async ({ page, site, open }) => {
  const startedMs = Date.now();
  site.watch.put(conversation(1, { user: "ada", startedMs }));
  site.watch.put(conversation(2, { user: "grace", startedMs, step: "AWAIT_SMS_DELIVERED_PASSCODE" }));
  site.watch.put(conversation(3, { user: "alan", client: "wifi", startedMs }));
  await open("/live", "Sign-in log");
  await page.getByRole("button", { name: "Flow diagram" }).click();
  await page.getByRole("button", { name: /^SMS \d/ }).click();
  await waitForUsers(page, ["grace"]);
  await page.waitForURL((url) => url.search === "?state=AWAIT_SMS_DELIVERED_PASSCODE");
  await page.getByLabel("State", { exact: true }).selectOption("Waiting for the phone");
  await page.getByRole("searchbox").fill("AD");
  await waitForUsers(page, ["ada"]);
  await page.getByRole("searchbox").fill("A");
  await waitForUsers(page, ["alan", "ada"]);
  await page.waitForURL(/q=A/);
  await page.getByLabel("Client", { exact: true }).selectOption("wifi");
  await waitForUsers(page, ["alan"]);
  await page.reload();
  await waitForUsers(page, ["alan"]);
  await holds(() => page.getByRole("searchbox").inputValue(), "A");
  for (const chip of ["Search: A", "State: Waiting for the phone", "Client: wifi"]) {
    await page.getByRole("button", { name: `Clear filter ${chip}`, exact: true }).waitFor();
  }
  await page.getByRole("button", { name: "Clear filters", exact: true }).click();
  await waitForUsers(page, ["alan", "grace", "ada"]);
  // The field follows the address in an effect, which runs after the frame.
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>("[type=search]")?.value === "");
});

test("rows do not move under the pointer, and newer ones are counted", async ({ page, site, open }) => {
  const startedMs = Date.now();
  site.watch.put(conversation(1, { user: "one", startedMs }));
  await open("/live", "Sign-in log");
  await page.getByRole("row").nth(1).hover();
  site.watch.put(conversation(2, { user: "two", startedMs }));
  site.watch.put(conversation(3, { user: "three", startedMs }));
  const newer = page.getByRole("button", { name: "Show 2 new" });
  await newer.waitFor();
  assertEquals(await users(page), ["one"]);
  await newer.click();
  await waitForUsers(page, ["three", "two", "one"]);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.mouse.move(0, 0);
  site.watch.put(conversation(4, { user: "four", startedMs }));
  // The funnel is not paused, and shows the same changes as the list.
  await page.getByRole("button", { name: "Waiting 4" }).waitFor();
  assertEquals(await users(page), ["three", "two", "one"]);
  await page.getByRole("button", { name: "Resume" }).click();
  await waitForUsers(page, ["four", "three", "two", "one"]);
});

test("after 10,000 changes the page is short and the list scrolls", async ({ page, site, open }) => {
  const startedMs = Date.now() - 200_000;
  // A client that connects later receives only the newest.
  const streaming = page.waitForResponse(/\/live\/stream/);
  await open("/live", "Sign-in log");
  await page.getByText("No sign-ins yet").waitFor();
  await streaming;
  for (let round = 0; round < 10; round += 1) {
    for (let number = 1; number <= 1000; number += 1) {
      site.watch.put(conversation(round * 1000 + number, { user: `u${round * 1000 + number}`, startedMs }));
    }
    await page.waitForTimeout(120);
  }
  await page.getByText("u10000").waitFor();
  assert(await page.locator(".row").count() < 60);
  assert(await page.evaluate(() => document.querySelectorAll("*").length) < 3000);
  await page.locator(".rows").evaluate((list) => list.scrollTo(0, list.scrollHeight));
  await page.getByText("u5001", { exact: true }).waitFor();
  assertEquals(await page.getByText("u5000", { exact: true }).count(), 0);
});

test("an operator denies and cancels; the console offers no way to approve", async ({ page, site, open }) => {
  site.secondFactorAdmin.wait(waiting("r1"));
  await open("/live?approvals=open", "Sign-in log", { role: "operator" });
  site.secondFactorAdmin.wait(waiting("r2", "grace"));
  await page.getByRole("button", { name: "Deny the sign-in of grace at vpn-1" }).click();
  await page.getByText("grace", { exact: true }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Cancel the sign-in of ada" }).click();
  await page.getByText("No pending push requests").waitFor();
  assertEquals(site.secondFactorAdmin.decided, [{ id: "r2", verb: "deny" }, { id: "r1", verb: "cancel" }]);
  assertEquals(await page.getByRole("button", { name: /approve/i }).count(), 0);
});

test("a viewer sees pending requests, but decides nothing", async ({ page, site, open }) => {
  site.secondFactorAdmin.wait(waiting("r1"));
  await open("/live?approvals=open", "Sign-in log");
  const deny = page.getByRole("button", { name: "Deny the sign-in of ada" });
  await holds(async () => [await deny.isDisabled(), await deny.getAttribute("title")], [
    true,
    "Requires the operator role",
  ]);
});

const HOSTILE = [
  "<img src=x onerror=document.title='owned'>",
  "</script><script>document.title='owned'</script>",
  "javascript:document.title='owned'",
  "{{constructor.constructor('document.title=1')()}}",
  "=cmd|' /C calc'!A0",
  "a\r\nSet-Cookie: x=1",
  "\u202eada\u2066",
  "x".repeat(250),
];
test("hostile names are shown as text and run nothing", async ({ page, site, open }) => {
  const startedMs = Date.now();
  for (const [at, user] of HOSTILE.entries()) {
    site.watch.put(conversation(at + 1, { user, client: user, place: user, startedMs, step: user }));
    site.secondFactorAdmin.wait({ ...waiting(`r${at}`, user), client: user, place: user });
  }
  await open("/live", "Sign-in log", { role: "owner" });
  await page.getByRole("row").nth(HOSTILE.length).waitFor();
  assertEquals((await users(page)).toReversed(), HOSTILE);
  await page.getByRole("row").nth(1).getByRole("link").click();
  await page.getByRole("complementary").waitFor();
  assertEquals(await page.title(), "Sign-in log · Countersign");
  assertEquals(await page.locator("#app img, #app script").count(), 0);
});

test("Live works by keyboard only, with visible focus", async ({ page, site, open }) => {
  site.watch.put(conversation(1, { user: "ada", startedMs: Date.now() }));
  site.secondFactorAdmin.wait(waiting("r1"));
  await open("/live?approvals=open", "Sign-in log", { role: "operator" });
  // The drawer follows the list.
  await page.getByRole("row").getByRole("link", { name: "ada" }).waitFor();
  await page.getByRole("button", { name: "Deny the sign-in of ada" }).waitFor();
  const seen: string[] = [];
  for (let step = 0; step < 80; step += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      if (!(element instanceof HTMLElement) || element === document.body) return null;
      const box = element.getBoundingClientRect();
      const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      const { outlineStyle } = getComputedStyle(element);
      return {
        name: element.getAttribute("aria-label") ?? element.textContent?.trim() ?? "",
        inSight: outlineStyle !== "none" && (element.contains(hit) || hit?.contains(element) === true),
      };
    });
    if (focused === null) break;
    assert(focused.inSight, `the focus on ${JSON.stringify(focused.name)} is in sight`);
    // The first "ada" is the login in the list; later ones are links to the user, which leave Live.
    if (focused.name === "ada" && !seen.includes("ada")) await page.keyboard.press("Enter");
    seen.push(focused.name);
  }
  for (const name of ["Pause", "State", "ada", "Deny the sign-in of ada at vpn-1"]) {
    assert(seen.includes(name), `${name} among ${seen.join(", ")}`);
  }
  await page.getByRole("complementary", { name: "Selected sign-in" }).waitFor();
});

// Live: filters by a click on a cell, keys, and an inspector that shows each text completely.

const LIVE_KEYS = [" ", "n", "i", "r", "j", "k"];

function putThree(site: TestConsole): void {
  const startedMs = Date.now() - 5000;
  site.watch.put(conversation(1, { user: "ada", startedMs }));
  const grace = conversation(2, { user: "grace", client: "wifi", startedMs });
  site.watch.put(ended(grace, { outcome: "accepted", row: "approved", atMs: startedMs + 2000 }));
  // Long enough that its replay does not end before it is stopped.
  site.watch.put(conversation(3, { user: "alan", client: "wifi", startedMs, updatedMs: startedMs + 60_000 }));
}

const focusIn = (page: Page, selector: string) =>
  page.waitForFunction((inside) => document.activeElement?.matches(inside) === true, selector);

/** A button in a cell, and what its filter leaves. */
const CELLS: readonly (readonly [button: string, query: string, left: string])[] = [
  ["Show only alan", "?q=alan", "1 of 3 sign-ins"],
  ["wifi", "?client=wifi", "2 of 3 sign-ins"],
  ["Accepted", "?state=accepted", "1 of 3 sign-ins"],
];

test("a click on the user, client or state of a row filters Live by it, and opens nothing", async ({ page, site, open }) => {
  putThree(site);
  await open("/live", "Sign-in log");
  const list = page.getByRole("table", { name: "Sign-ins" });
  for (const [button, query, left] of CELLS) {
    await list.getByRole("button", { name: button, exact: true }).first().click();
    await page.getByText(left).waitFor();
    await page.waitForURL((url) => url.search === query);
    assertEquals(await page.getByRole("complementary").count(), 0);
    await page.getByRole("button", { name: "Clear filter" }).click();
    await page.getByText("3 sign-ins", { exact: true }).waitFor();
  }
});

test("Live is filtered by directory, also in the address", async ({ page, site, open }) => {
  putThree(site);
  site.watch.put(conversation(4, { user: "visitor", target: "guests" }));
  await open("/live", "Sign-in log");
  await page.getByText("4 sign-ins", { exact: true }).waitFor();
  await page.getByLabel("Directory", { exact: true }).selectOption("guests");
  await page.getByText("1 of 4 sign-ins").waitFor();
  await page.waitForURL((url) => url.search === "?target=guests");
  await page.getByRole("link", { name: "visitor" }).waitFor();
});

test("keys on Live: i opens the inspector, r plays and stops, Space pauses, n shows newer logins", async ({ page, site, open }) => {
  putThree(site);
  await open("/live", "Sign-in log");
  await page.getByRole("link", { name: "alan" }).waitFor();
  await listensFor(page, ["i"]);
  await page.keyboard.press("i");
  await focusIn(page, ".inspector .body");
  await page.waitForURL((url) => url.searchParams.get("c") === "c0000000003");
  // The key of the inspector. Before the inspector is there, the key would start from the beginning.
  await page.getByRole("button", { name: "Play" }).waitFor();
  await listensFor(page, ["r"]);
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.waitForURL(/[?&]t=/);
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "Play" }).waitFor();
  await page.keyboard.press("j");
  await focusIn(page, ".rows .row a");
  await page.keyboard.press("j");
  site.watch.put(conversation(4, { user: "edsger", startedMs: Date.now() }));
  await page.getByRole("button", { name: "Show 1 new" }).waitFor();
  // The new row must not reuse the element that has the focus.
  assertEquals(await page.evaluate(() => document.activeElement?.textContent), "grace");
  await page.keyboard.press("n");
  await page.getByRole("link", { name: "edsger" }).waitFor();
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).focus();
  await page.keyboard.press(" ");
  await page.getByRole("button", { name: "Resume" }).waitFor();
  await page.keyboard.press(" ");
  await page.getByRole("button", { name: "Pause" }).waitFor();
});

test("r without a selected login opens the newest at its beginning", async ({ page, site, open }) => {
  putThree(site);
  await open("/live", "Sign-in log");
  await page.getByRole("link", { name: "alan" }).waitFor();
  await listensFor(page, ["r"]);
  await page.keyboard.press("r");
  await page.getByRole("slider", { name: "Replay position" }).waitFor();
  await page.waitForURL((url) => url.search === "?c=c0000000003&t=0&tab=steps");
  await holds(() => page.locator(".moments .to-come").count(), 1);
});

test("the help lists every key of Live", async ({ page, site, open }) => {
  putThree(site);
  await open("/live?client=wifi", "Sign-in log");
  await page.getByRole("link", { name: "alan" }).focus();
  // The help shows the keys that are active when it opens.
  await listensFor(page, LIVE_KEYS);
  await page.keyboard.press("?");
  const help = page.getByRole("dialog");
  await help.getByText("Pause or resume").waitFor();
  const keys = await help.locator("dt").allInnerTexts();
  for (const key of LIVE_KEYS) {
    const name = key === " " ? "Space" : key;
    assert(keys.some((one) => one.trim() === name), `${name} is not in the help`);
  }
});

/** The inspector beside the list, the smallest one there, below the list, and on a phone. */
const WIDTHS_PX = [1440, 1100, 1024, 320] as const;
const USER = "a.rather.long.user.name.of.a.contractor@subsidiary.example.org";
const CALLER = "2001:db8:85a3:8d3:1319:8a2e:370:7348";

/** Texts of the inspector that are cut off at the edge of their box. */
function cutTexts(page: Page): Promise<string[]> {
  return page.getByRole("complementary").evaluate((inspector) => {
    const cut: string[] = [];
    for (const element of inspector.querySelectorAll("*")) {
      const { overflowX, clipPath } = getComputedStyle(element);
      const isHidden = clipPath !== "none" || !element.checkVisibility();
      if (isHidden || overflowX === "visible" || element.textContent.trim() === "") continue;
      if (element.scrollWidth > element.clientWidth) cut.push(element.textContent);
    }
    return cut;
  });
}

for (const language of ["en", "de"] as const) {
  test(`the inspector cuts off no text, at any step, in ${language}`, async ({ page, site, open }) => {
    await page.addInitScript((language) => localStorage.setItem("countersign-language", language), language);
    const steps = Object.keys(STEPS);
    const startedMs = Date.now() - 20_000;
    const views = steps.map((step, at) =>
      conversation(at + 1, {
        user: USER,
        place: CALLER,
        startedMs,
        step,
        moments: [{ atMs: startedMs, step, row: "pushed" }],
      })
    );
    const over = conversation(steps.length + 1, { user: USER, place: CALLER, startedMs });
    for (const view of views) site.watch.put(view);
    site.watch.put(ended(over, { outcome: "rejected", row: "not_approved", atMs: startedMs + 6240 }));
    await page.setViewportSize({ width: 1440, height: 900 });
    await open("/live", language === "de" ? "Anmeldeprotokoll" : "Sign-in log");
    const problems: string[] = [];
    for (const { id, step } of [...views, over]) {
      await goWithin(page, "/live");
      await page.getByRole("complementary").waitFor({ state: "detached" });
      await goWithin(page, `/live?c=${id}`);
      // A step is named in its first two tabs. The others do not depend on it.
      for (const tab of id === over.id ? INSPECTOR_TABS : INSPECTOR_TABS.slice(0, 2)) {
        await page.locator(`#inspector-tab-${tab}`).click();
        // The steps come with the stream; the packets and the explanation are fetched.
        await page.locator(".inspector .body > *").last().waitFor();
        for (const width of WIDTHS_PX) {
          await page.setViewportSize({ width, height: 900 });
          problems.push(...(await cutTexts(page)).map((text) => `${step}, ${tab}, ${width} px: ${text}`));
        }
      }
    }
    assertEquals(problems, []);
  });
}

// The Test inbox page: captured SMS messages and calls, with masked numbers. Owners read one on request.

function put(site: TestConsole, kind: "text" | "call" = "text", id = "m1"): void {
  const createdMs = Date.now();
  site.outbox.put({ id, kind, to: "+15550100", createdMs, deadlineMs: createdMs + 300_000 }, "Code 1234");
}

test("a viewer sees masked messages, but reads none", async ({ page, site, open }) => {
  put(site);
  await open("/test-inbox", "Test inbox");
  const reveal = page.getByRole("button", { name: "Reveal the message to +1****100" });
  await holds(async () => [await reveal.isDisabled(), await reveal.getAttribute("title")], [
    true,
    "Requires the owner role",
  ]);
  assertEquals(await page.getByText("+15550100").count(), 0);
});

test("an owner sees a message as it arrives, reads it by keyboard, and hides it again", async ({ page, site, open }) => {
  await open("/test-inbox", "Test inbox", { role: "owner" });
  await page.getByText("No messages").waitFor();
  put(site, "call");
  const reveal = page.getByRole("button", { name: "Reveal the message" });
  await reveal.focus();
  await page.keyboard.press("Enter");
  await page.getByText("Code 1234").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Code 1234").waitFor({ state: "detached" });
});

test("messages are on their own page, not on Live", async ({ page, site, open }) => {
  put(site);
  await open("/live", "Sign-in log", { role: "owner" });
  await page.getByRole("link", { name: "Test inbox" }).click();
  await page.getByRole("heading", { name: "Test inbox", level: 1 }).waitFor();
  await page.getByText("+1****100").first().waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Sign-in log", level: 1 }).waitFor();
  assertEquals(await page.getByText("+1****100").count(), 0);
});
