// The whole table of keys, each pressed: its effect, and no effect during typing, below a dialog, or when keys are
// disabled.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "../packages/playwright.ts";
import { openableRoutes, PAGE_ROUTES } from "../../console/web/app/routes.ts";
import { FULL_OTHER, FULL_SPARE, type FullConsole, startFullConsole } from "../fakes/console_full.ts";
import { listensFor } from "./key_rows.ts";
import { rowOf } from "./pages/page_rows.ts";
import { openPage, pageOpener } from "./pages/page_walk.ts";
import { consoleTests } from "./console_tests.ts";
import { runUserAction } from "./user_menu.ts";

const test = consoleTests(startFullConsole, { role: "owner" });

interface KeyRow {
  /** The page for the key; one of {@link PAGE_ROWS}. */
  readonly on: string;
  /** Pressed before it. */
  readonly after?: readonly string[];
  readonly keys: readonly string[];
  readonly does: (page: Page, site: FullConsole) => Promise<unknown>;
}

const focused = (page: Page, text: string) =>
  page.waitForFunction((text) => document.activeElement?.textContent === text, text);
const heading = (page: Page, name: string | RegExp) =>
  page.getByRole("heading", { name, level: 1 }).waitFor();
const chosen = (count: number) => (page: Page) =>
  page.getByRole("region", { name: `${count} selected` }).waitFor();
const data = (page: Page, name: "theme" | "density", value: string) =>
  page.waitForFunction(([name, value]) => document.documentElement.dataset[name ?? ""] === value, [
    name,
    value,
  ]);

const KEYS: Readonly<Record<string, KeyRow>> = {
  "Ctrl k": {
    on: "users",
    keys: ["Control+k"],
    does: (page) => page.getByRole("dialog", { name: "Command palette" }).waitFor(),
  },
  "?": {
    on: "users",
    keys: ["?"],
    does: (page) => page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor(),
  },
  "/": {
    on: "users",
    keys: ["/"],
    does: (page) => page.locator("input[type=search]:focus").waitFor(),
  },
  "c u": {
    on: "users",
    keys: ["c", "u"],
    does: (page) => page.getByRole("dialog", { name: "Create user" }).waitFor(),
  },
  "c g": {
    on: "groups",
    keys: ["c", "g"],
    does: (page) => page.getByRole("dialog", { name: "Create group" }).waitFor(),
  },
  "j": { on: "users", keys: ["j", "j"], does: (page) => focused(page, FULL_OTHER) },
  "k": { on: "users", keys: ["j", "j", "j", "k"], does: (page) => focused(page, FULL_OTHER) },
  "x": { on: "users", keys: ["j", "x"], does: chosen(1) },
  "Shift x": { on: "users", keys: ["j", "x", "j", "j", "Shift+X"], does: chosen(3) },
  "a": {
    on: "users",
    after: ["j", "x"],
    keys: ["a"],
    does: (page) => page.locator(".selection-bar button:focus").waitFor(),
  },
  "a on Live": {
    on: "live",
    keys: ["a"],
    does: (page) => page.locator(".drawer-button[aria-expanded=true]:focus").waitFor(),
  },
  "z": {
    on: "user",
    keys: [],
    does: async (page, site) => {
      await page.goto(`${site.origin}/users/${FULL_SPARE}`);
      await runUserAction(page, "Deactivate");
      await page.getByRole("button", { name: "Undo" }).waitFor();
      await page.keyboard.press("z");
      await page.getByText(`${FULL_SPARE} can sign in again.`).first().waitFor();
    },
  },
  "ArrowDown": {
    on: "users",
    after: ["/"],
    keys: ["ArrowDown"],
    does: (page) => page.locator("a.row-link:focus").waitFor(),
  },
  "Enter": { on: "users", keys: ["j", "j", "j", "j", "Enter"], does: (page) => heading(page, FULL_SPARE) },
  "e": { on: "user", keys: ["e"], does: (page) => page.locator("#user-profile input:focus").waitFor() },
  "Escape": { on: "user", keys: ["Escape"], does: (page) => heading(page, "Users") },
  "t": { on: "users", keys: ["t"], does: (page) => data(page, "theme", "dark") },
  ".": { on: "users", keys: ["."], does: (page) => data(page, "density", "cosy") },
  "Space": {
    on: "live",
    keys: [" "],
    does: (page) => page.getByRole("button", { name: "Resume" }).waitFor(),
  },
  "i": {
    on: "live, a login chosen",
    keys: ["i"],
    does: (page) => page.locator(".inspector :focus, .inspector:focus").first().waitFor(),
  },
  "r": {
    on: "live, a login chosen",
    keys: ["r"],
    does: (page) => page.getByRole("button", { name: "Stop" }).waitFor(),
  },
  "d": {
    on: "live",
    keys: [],
    does: async (page, site) => {
      await page.getByRole("button", { name: "Pending approvals" }).click();
      await listensFor(page, ["d"]);
      const decisions: string[] = [];
      page.on("request", (request) => {
        if (request.url().includes("/approvals/")) decisions.push(request.url());
      });
      await page.keyboard.press("d");
      // Only the focused element: elsewhere the key does nothing. A request of the key is reported before this answer.
      await page.evaluate(() => document.readyState);
      assertEquals(decisions, []);
      await page.getByRole("button", { name: /^Cancel the sign-in of/ }).focus();
      await page.keyboard.press("d");
      await page.getByText("No pending push requests").waitFor();
      assertEquals(site.secondFactorAdmin.decided, [{ id: "r1", verb: "deny" }]);
    },
  },
  ...Object.fromEntries(
    openableRoutes().flatMap(([name, { pattern, key }]): [string, KeyRow][] =>
      key === undefined ? [] : [[`g ${key}`, {
        on: name === "users" ? "groups" : "users",
        keys: ["g", key],
        does: (page) => page.waitForURL((url) => url.pathname === pattern),
      }]]
    ),
  ),
};

/** All single keys with a listener. */
const EVERY_KEY = [..."?/jkxXenirdtza. ", ..."cugl"];

/** The state that keys could change. */
const standing = (page: Page) =>
  page.evaluate(() => ({
    path: location.pathname,
    theme: document.documentElement.dataset.theme ?? "",
    density: document.documentElement.dataset.density ?? "",
    dialogs: document.querySelectorAll("dialog[open]").length,
    chosen: document.querySelectorAll("tr[data-chosen]").length,
  }));

test("keys: each has the effect that the help describes", async ({ page, site, step }) => {
  let openRow = pageOpener(page, { site });
  for (const [name, { on, after = [], keys, does }] of Object.entries(KEYS)) {
    // A key that only opens a page leaves nothing behind.
    if (!name.startsWith("g ")) openRow = pageOpener(page, { site });
    await step(`${name} on ${on}`, async () => {
      await openRow(rowOf(on));
      for (const pressed of [after, keys]) {
        await listensFor(page, pressed);
        for (const key of pressed) await page.keyboard.press(key);
      }
      await does(page, site);
    });
  }
});

test("keys: during typing only letters appear", async ({ page, site }) => {
  await openPage(page, { site, row: rowOf("groups") });
  const box = page.getByRole("searchbox", { name: "Search groups" });
  await box.focus();
  const before = await standing(page);
  const letters = EVERY_KEY.join("");
  await page.keyboard.type(letters);
  assertEquals([await box.inputValue(), await standing(page)], [letters, before]);
});

test("keys: they have no effect below a dialog", async ({ page, site }) => {
  await openPage(page, { site, row: rowOf("users") });
  await page.getByRole("button", { name: "Shortcuts" }).click();
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByRole("button", { name: "Close" })
    .focus();
  const before = await standing(page);
  for (const key of [...EVERY_KEY.filter((key) => key !== " "), "Control+k"]) await page.keyboard.press(key);
  assertEquals(await standing(page), before);
});

test("keys: disabled keys have no effect, and Ctrl K still works", async ({ page, site }) => {
  await page.addInitScript(() => localStorage.setItem("countersign-keys", "off"));
  await openPage(page, { site, row: rowOf("users") });
  const before = await standing(page);
  for (const key of EVERY_KEY) await page.keyboard.press(key);
  await page.keyboard.press("Escape");
  assertEquals(await standing(page), before);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Command palette" }).waitFor();
});

test("keys: with Ctrl, Alt or Meta they belong to the browser", async ({ page, site }) => {
  await openPage(page, { site, row: rowOf("users") });
  const before = await standing(page);
  for (const key of ["Alt+t", "Control+.", "Alt+?", "Meta+t"]) await page.keyboard.press(key);
  assertEquals(await standing(page), before);
});

Deno.test("keys: no two places share one, and all specified keys exist", () => {
  const keys = openableRoutes().flatMap(([, { key }]) => key ?? []);
  assertEquals(new Set(keys).size, keys.length);
  for (const key of [..."lhugctma,"]) assert(`g ${key}` in KEYS, `g ${key}`);
  for (const name of ["live", "users", "groups", "clients"]) assert(name in PAGE_ROUTES);
});
