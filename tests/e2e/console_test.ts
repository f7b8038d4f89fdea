// The console in a real browser: the way in, the live board, what may be done, and what happens when things break.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { PASSWORD, startConsole } from "../fakes/console_app.ts";
import { approval, conversation, ended } from "../fakes/console_gateway.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, signIn } from "./browser.ts";
import { endSession } from "./session_end.ts";

const dist = await currentDist();

/** The users in the list, from the top. */
function users(page: Page): Promise<string[]> {
  return page.locator(".row .c-user").evaluateAll((cells) =>
    cells
      .map((cell) => ({ top: cell.getBoundingClientRect().top, user: cell.textContent ?? "" }))
      .sort((a, b) => a.top - b.top)
      .map(({ user }) => user)
  );
}

/** A request that waits longer than any test takes: its row goes at its deadline. */
const waiting = (id: string, userName = "ada") => ({
  ...approval(id, { userName }),
  deadlineMs: Date.now() + 3_600_000,
});

async function waitForUsers(page: Page, expected: readonly string[]): Promise<void> {
  await page.waitForFunction(
    (names) => {
      const rows = [...document.querySelectorAll(".row .c-user")]
        .map((cell) => ({ top: cell.getBoundingClientRect().top, user: cell.textContent }))
        .sort((a, b) => a.top - b.top);
      return JSON.stringify(rows.map(({ user }) => user)) === names;
    },
    JSON.stringify(expected),
  ).catch(async () => assertEquals(await users(page), expected));
}

browserTest(
  "the set-up link makes the first owner, leaves the address bar, and works once",
  async ({ page, context }) => {
    await using site = await startConsole({ dist, admins: [] });
    await page.goto(site.origin);
    await page.getByText("open the set-up link").waitFor();
    const link = await site.admins.setupLink() ?? "";
    await page.goto(link);
    await page.getByLabel("Name").fill("Ada");
    await page.waitForURL((url) => url.hash === "");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create the owner" }).click();
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    await page.getByRole("link", { name: "Open Live" }).click();
    await page.getByRole("heading", { name: "Live" }).waitFor();
    const other = await context.newPage();
    await other.goto(link);
    await other.getByLabel("Name").fill("Eve");
    await other.getByLabel("Password").fill(PASSWORD);
    const refused = other.waitForResponse(/\/console\/api\/setup$/);
    await other.getByRole("button", { name: "Create the owner" }).click();
    assertEquals((await refused).ok(), false);
    assertMatch(await other.getByRole("alert").innerText(), /no longer valid/);
  },
);

browserTest("sign-in refuses with a sentence, lets in, and signs out", async ({ page, context }) => {
  await using site = await startConsole({ dist });
  await page.goto(`${site.origin}/live`);
  await page.getByLabel("Name").fill("viewer");
  await page.getByLabel("Password").fill("wrong");
  await page.keyboard.press("Enter");
  assertEquals(await page.getByRole("alert").innerText(), "That name and password do not match.");
  await signIn(page, "viewer");
  const [cookie] = await context.cookies();
  assertEquals([cookie?.httpOnly, cookie?.sameSite], [true, "Strict"]);
  assertEquals(await page.evaluate(() => document.cookie + Object.keys(localStorage).join()), "");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  assertEquals(await context.cookies(), []);
});

browserTest("Live shows logins as they come and change, without a reload", async ({ page }) => {
  await using site = await startConsole({ dist });
  const startedMs = Date.now();
  site.watch.put(conversation(1, { user: "before", startedMs }));
  await enterAs(page, { site, role: "viewer" });
  await waitForUsers(page, ["before"]);
  await page.evaluate(() => Object.assign(globalThis, { sameDocument: true }));
  const view = conversation(2, { user: "after", startedMs });
  site.watch.put(view);
  await waitForUsers(page, ["after", "before"]);
  assertEquals(await page.getByRole("row").nth(1).getByText("Waiting for the phone").count(), 1);
  // The picture is fetched beside the list.
  await page.getByRole("button", { name: "Phone 2" }).waitFor();
  site.watch.put(ended(view, { outcome: "rejected", row: "not_approved", atMs: startedMs + 6200 }));
  await page.getByRole("row").nth(1).getByText("Rejected").waitFor();
  await page.getByRole("button", { name: "Phone 1" }).waitFor();
  assertEquals(await page.evaluate(() => "sameDocument" in globalThis), true);
});

browserTest("the inspector tells why a login ended, and its address is a link", async ({ page }) => {
  await using site = await startConsole({ dist });
  const startedMs = Date.now();
  const view = conversation(1, { user: "ada", startedMs });
  site.watch.put(ended(view, { outcome: "rejected", row: "not_approved", atMs: startedMs + 6200 }));
  await enterAs(page, { site, role: "viewer" });
  await page.getByRole("link", { name: "ada" }).click();
  const inspector = page.getByRole("complementary", { name: "Chosen login" });
  await inspector.getByText("The push was denied, or it expired").waitFor();
  await inspector.getByText("+6.2 s").waitFor();
  await page.waitForURL((url) => url.searchParams.get("c") === view.id);
  await page.reload();
  await inspector.getByText("The phone was asked").waitFor();
  await inspector.getByRole("button", { name: "Close" }).click();
  await inspector.waitFor({ state: "detached" });
});

browserTest("filters live in the address: shared, reloaded, cleared", async ({ page }) => {
  await using site = await startConsole({ dist });
  const startedMs = Date.now();
  site.watch.put(conversation(1, { user: "ada", startedMs }));
  site.watch.put(conversation(2, { user: "grace", startedMs, step: "AWAIT_SMS_DELIVERED_PASSCODE" }));
  site.watch.put(conversation(3, { user: "alan", client: "wifi", startedMs }));
  await enterAs(page, { site, role: "viewer" });
  await page.getByRole("button", { name: /^Text/ }).click();
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
  await page.getByRole("button", { name: "3 filters" }).click();
  await waitForUsers(page, ["alan", "grace", "ada"]);
  // The field follows the address in an effect, which runs after the frame.
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>("[type=search]")?.value === "");
});

browserTest("rows stand still under the pointer, and newer ones are counted", async ({ page }) => {
  await using site = await startConsole({ dist });
  const startedMs = Date.now();
  site.watch.put(conversation(1, { user: "one", startedMs }));
  await enterAs(page, { site, role: "viewer" });
  await page.getByRole("row").nth(1).hover();
  site.watch.put(conversation(2, { user: "two", startedMs }));
  site.watch.put(conversation(3, { user: "three", startedMs }));
  const newer = page.getByRole("button", { name: "2 newer" });
  await newer.waitFor();
  assertEquals(await users(page), ["one"]);
  await newer.click();
  await waitForUsers(page, ["three", "two", "one"]);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.mouse.move(0, 0);
  site.watch.put(conversation(4, { user: "four", startedMs }));
  // The picture is not paused, and shows what comes together with the list.
  await page.getByRole("button", { name: "Phone 4" }).waitFor();
  assertEquals(await users(page), ["three", "two", "one"]);
  await page.getByRole("button", { name: "Go on" }).click();
  await waitForUsers(page, ["four", "three", "two", "one"]);
});

browserTest("10,000 changes leave a short page and a list that scrolls", async ({ page }) => {
  await using site = await startConsole({ dist });
  const startedMs = Date.now() - 200_000;
  // Who comes later is given the newest of them, not all.
  const streaming = page.waitForResponse(/\/live\/stream/);
  await enterAs(page, { site, role: "viewer" });
  await page.getByText("No logins yet").waitFor();
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

browserTest("an operator denies and cancels; the console offers no way to approve", async ({ page }) => {
  await using site = await startConsole({ dist });
  site.desk.wait(waiting("r1"));
  await enterAs(page, { site, role: "operator" });
  site.desk.wait(waiting("r2", "grace"));
  await page.getByRole("button", { name: "Deny the login of grace at vpn-1" }).click();
  await page.getByText("grace", { exact: true }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Cancel the login of ada" }).click();
  await page.getByText("No login is waiting for a phone").waitFor();
  assertEquals(site.desk.decided, [{ id: "r2", verb: "deny" }, { id: "r1", verb: "cancel" }]);
  assertEquals(await page.getByRole("button", { name: /approve/i }).count(), 0);
});

browserTest("a viewer sees what waits but decides nothing and reads no message", async ({ page }) => {
  await using site = await startConsole({ dist });
  site.desk.wait(waiting("r1"));
  const createdMs = Date.now();
  site.outbox.put(
    { id: "m1", kind: "text", to: "+15550100", createdMs, deadlineMs: createdMs + 300_000 },
    "Code 1234",
  );
  await enterAs(page, { site, role: "viewer" });
  const deny = page.getByRole("button", { name: "Deny the login of ada" });
  assertEquals([await deny.isDisabled(), await deny.getAttribute("title")], [
    true,
    "Needs the operator role",
  ]);
  const reveal = page.getByRole("button", { name: "Reveal the message to +1****100" });
  assertEquals([await reveal.isDisabled(), await reveal.getAttribute("title")], [
    true,
    "Needs the owner role",
  ]);
});

browserTest("an owner reads a message of the outbox, and hides it again", async ({ page }) => {
  await using site = await startConsole({ dist });
  await enterAs(page, { site, role: "owner" });
  const createdMs = Date.now();
  site.outbox.put(
    { id: "m1", kind: "call", to: "+15550100", createdMs, deadlineMs: createdMs + 300_000 },
    "Code 1234",
  );
  await page.getByRole("button", { name: "Reveal the message" }).click();
  await page.getByText("Code 1234").waitFor();
  await page.getByRole("button", { name: "Hide the message" }).click();
  assertEquals(await page.getByText("Code 1234").count(), 0);
});

browserTest(
  "a session that ends during work asks in a dialog, and the deed is done after it",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    site.desk.wait(waiting("r1"));
    await enterAs(page, { site, role: "operator" });
    await page.getByRole("searchbox").fill("kept");
    await endSession(page);
    await page.getByRole("button", { name: "Deny the login of ada" }).click();
    const dialog = page.getByRole("dialog");
    assertEquals(await dialog.getByLabel("Name").inputValue(), "operator");
    assertEquals(site.desk.decided, []);
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("No login is waiting for a phone").waitFor();
    assertEquals(site.desk.decided, [{ id: "r1", verb: "deny" }]);
    assertEquals(await page.getByRole("searchbox").inputValue(), "kept");
  },
);

browserTest(
  "a dialog that opens in the moment in which the sign-in goes is not disturbed by it",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    site.desk.wait(waiting("r1"));
    await enterAs(page, { site, role: "operator" });
    await endSession(page);
    await page.getByRole("button", { name: "Deny the login of ada" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.getByLabel("Password").fill(PASSWORD);
    await page.evaluate(() => {
      const next = document.createElement("dialog");
      next.ariaLabel = "Next";
      next.append("Next");
      const watch = new MutationObserver(() => {
        if (document.querySelector("dialog") !== null) return;
        watch.disconnect();
        document.body.append(next);
        next.showModal();
      });
      watch.observe(document.body, { childList: true, subtree: true });
    });
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog", { name: "Next" }).waitFor();
    await page.getByText("No login is waiting for a phone").waitFor();
  },
);

browserTest("the end of a session is announced, and signing in again keeps the page", async ({ page }) => {
  await using site = await startConsole({ dist, sessionMs: 100_000 });
  await enterAs(page, { site, role: "viewer" });
  await page.getByRole("searchbox").fill("kept");
  await page.getByText("Your session ends in less than two minutes.").waitFor();
  // Its longest life is not moved by staying, so it takes a new one.
  await page.getByRole("button", { name: "Stay signed in" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await dialog.waitFor({ state: "detached" });
  assertEquals(await page.getByRole("searchbox").inputValue(), "kept");
});

browserTest("a server that goes away is said so, and the page comes back by itself", async ({ page }) => {
  const first = await startConsole({ dist });
  const port = Number(new URL(first.origin).port);
  first.watch.put(conversation(1, { user: "before", startedMs: Date.now() }));
  await enterAs(page, { site: first, role: "viewer" });
  await waitForUsers(page, ["before"]);
  await first[Symbol.asyncDispose]();
  await page.getByText("The server does not answer.").waitFor();
  assertEquals(await users(page), ["before"], "what is known stays on the page");
  await using second = await startConsole({ dist, port });
  second.watch.put(conversation(2, { user: "after", startedMs: Date.now() }));
  // The new server has another store, so the session is gone with the old one.
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await waitForUsers(page, ["after"]);
  assertEquals(await page.getByText("The server does not answer.").count(), 0);
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
browserTest("hostile names are shown as text and run nothing", async ({ page }) => {
  await using site = await startConsole({ dist });
  const startedMs = Date.now();
  for (const [at, user] of HOSTILE.entries()) {
    site.watch.put(conversation(at + 1, { user, client: user, place: user, startedMs, step: user }));
    site.desk.wait({ ...waiting(`r${at}`, user), client: user, place: user });
  }
  await enterAs(page, { site, role: "owner" });
  await page.getByRole("row").nth(HOSTILE.length).waitFor();
  assertEquals((await users(page)).toReversed(), HOSTILE);
  await page.getByRole("row").nth(1).getByRole("link").click();
  await page.getByRole("complementary").waitFor();
  assertEquals(await page.title(), "Live · Countersign");
  assertEquals(await page.locator("#app img, #app script").count(), 0);
});

browserTest("Live can be worked by keyboard alone, with the focus in sight", async ({ page }) => {
  await using site = await startConsole({ dist });
  site.watch.put(conversation(1, { user: "ada", startedMs: Date.now() }));
  site.desk.wait(waiting("r1"));
  await enterAs(page, { site, role: "operator" });
  // The panels below come after the list.
  await page.getByRole("link", { name: "ada" }).waitFor();
  await page.getByRole("button", { name: "Deny the login of ada" }).waitFor();
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
    // The first "ada" is the login in the list; a later one is the link to the user in the inspector, which leaves Live.
    if (focused.name === "ada" && !seen.includes("ada")) await page.keyboard.press("Enter");
    seen.push(focused.name);
  }
  for (const name of ["Pause", "State", "ada", "Deny the login of ada at vpn-1"]) {
    assert(seen.includes(name), `${name} among ${seen.join(", ")}`);
  }
  await page.getByRole("complementary", { name: "Chosen login" }).waitFor();
});

browserTest("the theme is the system's until the user chooses, and the choice is kept", async ({ page }) => {
  await using site = await startConsole({ dist });
  await enterAs(page, { site, role: "viewer" });
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: "Dark" }).click();
  const dark = await background();
  assert(light !== dark);
  await page.reload();
  await page.getByRole("button", { name: "Light" }).waitFor();
  assertEquals(await background(), dark);
});

closeBrowserAtEnd();
