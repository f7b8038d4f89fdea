// The Live page in a browser: logins, filters, the inspector, push requests, messages, and the keyboard.

import { assert, assertEquals } from "@std/assert";
import { startConsole } from "../fakes/console_app.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";
import { consoleTests } from "./console_tests.ts";
import { users, waitForUsers, waiting } from "./live_list.ts";

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
  assertEquals(await page.getByRole("row").nth(1).getByText("Waiting for the phone").count(), 1);
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
  assertEquals(await page.getByRole("searchbox").inputValue(), "A");
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
  assertEquals([await deny.isDisabled(), await deny.getAttribute("title")], [
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
