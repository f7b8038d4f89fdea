// The console in a browser: set-up, sign-in, the end of a session, a server that stops, and the theme.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { PASSWORD, startConsole } from "../fakes/console_app.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { browserTest, currentDist, enterAs, signIn } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";
import { users, waitForUsers, waiting } from "./live_list.ts";
import { endSession } from "./session_end.ts";

const test = consoleTests(startConsole, { role: "viewer" });

const dist = await currentDist();

test(
  "the set-up link creates the first owner, disappears from the address bar, and works once",
  { admins: [] },
  async ({ page, context, site }) => {
    await page.goto(site.origin);
    await page.getByText("open the set-up link").waitFor();
    const link = await site.admins.setupLink() ?? "";
    await page.goto(link);
    await page.getByLabel("Name").fill("Ada");
    await page.waitForURL((url) => url.hash === "");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create owner" }).click();
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    await page.getByRole("link", { name: "Open Live" }).click();
    await page.getByRole("heading", { name: "Sign-in log" }).waitFor();
    const other = await context.newPage();
    await other.goto(link);
    await other.getByLabel("Name").fill("Eve");
    await other.getByLabel("Password").fill(PASSWORD);
    const refused = other.waitForResponse(/\/console\/api\/setup$/);
    await other.getByRole("button", { name: "Create owner" }).click();
    assertEquals((await refused).ok(), false);
    assertMatch(await other.getByRole("alert").innerText(), /no longer valid/);
  },
);

test("sign-in shows a message for a wrong password, accepts the right one, and signs out", async ({ page, context, site }) => {
  await page.goto(`${site.origin}/live`);
  await page.getByLabel("Name").fill("viewer");
  await page.getByLabel("Password").fill("wrong");
  await page.keyboard.press("Enter");
  assertEquals(await page.getByRole("alert").innerText(), "Wrong name or password.");
  await signIn(page, "viewer");
  const [cookie] = await context.cookies();
  assertEquals([cookie?.httpOnly, cookie?.sameSite], [true, "Strict"]);
  assertEquals(await page.evaluate(() => document.cookie + Object.keys(localStorage).join()), "");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  assertEquals(await context.cookies(), []);
});

test("a session that ends during work opens the sign-in dialog, and the action completes after the sign-in", async ({ page, site, open }) => {
  site.secondFactorAdmin.wait(waiting("r1"));
  await open("/live?approvals=open", "Sign-in log", { role: "operator" });
  await page.getByRole("searchbox").fill("kept");
  // The list of approvals is loaded before the session ends.
  await page.getByRole("button", { name: "Deny the sign-in of ada" }).waitFor();
  await endSession(page);
  await page.getByRole("button", { name: "Deny the sign-in of ada" }).click();
  const dialog = page.getByRole("dialog");
  assertEquals(await dialog.getByLabel("Name").inputValue(), "operator");
  assertEquals(site.secondFactorAdmin.decided, []);
  await dialog.getByLabel("Password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("No pending push requests").waitFor();
  assertEquals(site.secondFactorAdmin.decided, [{ id: "r1", verb: "deny" }]);
  assertEquals(await page.getByRole("searchbox").inputValue(), "kept");
});

test("a dialog that opens while the sign-in dialog closes stays open", async ({ page, site, open }) => {
  site.secondFactorAdmin.wait(waiting("r1"));
  await open("/live?approvals=open", "Sign-in log", { role: "operator" });
  await page.getByRole("button", { name: "Deny the sign-in of ada" }).waitFor();
  await endSession(page);
  await page.getByRole("button", { name: "Deny the sign-in of ada" }).click();
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
  await page.getByText("No pending push requests").waitFor();
});

test(
  "the end of a session is announced, and a new sign-in keeps the page",
  { sessionMs: 100_000 },
  async ({ page, open }) => {
    await open("/live", "Sign-in log");
    await page.getByRole("searchbox").fill("kept");
    await page.getByText("Your session expires in less than two minutes.").waitFor();
    // The absolute limit cannot be extended, so a new session is needed.
    await page.getByRole("button", { name: "Stay signed in" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    assertEquals(await page.getByRole("searchbox").inputValue(), "kept");
  },
);

browserTest("a lost server is reported, and the page recovers by itself", async ({ page }) => {
  const first = await startConsole({ dist });
  const port = Number(new URL(first.origin).port);
  first.watch.put(conversation(1, { user: "before", startedMs: Date.now() }));
  await enterAs(page, { site: first, role: "viewer" });
  await waitForUsers(page, ["before"]);
  await first[Symbol.asyncDispose]();
  await page.getByText("The server is not responding.").waitFor();
  assertEquals(await users(page), ["before"], "what is known stays on the page");
  await using second = await startConsole({ dist, port });
  second.watch.put(conversation(2, { user: "after", startedMs: Date.now() }));
  // The new server has another store, so the session ended with the old one.
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await waitForUsers(page, ["after"]);
  assertEquals(await page.getByText("The server is not responding.").count(), 0);
});

test("the theme follows the system until the user selects one, and the selection is stored", async ({ page, open }) => {
  await open("/live", "Sign-in log");
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.getByRole("button", { name: "Dark" }).click();
  const dark = await background();
  assert(light !== dark);
  await page.reload();
  await page.getByRole("button", { name: "Light" }).waitFor();
  assertEquals(await background(), dark);
});
