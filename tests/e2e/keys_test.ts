// The whole table of keys, and where the focus goes when its element disappears.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import * as esbuild from "esbuild";
import { openableRoutes, PAGE_ROUTES } from "../../console/web/app/routes.ts";
import type { Page } from "../packages/playwright.ts";
import { FULL_OTHER, FULL_SPARE, type FullConsole, startFullConsole } from "../fakes/console_full.ts";
import { listensFor, runUserAction } from "./page_actions.ts";
import { rowOf } from "./pages/page_rows.ts";
import { openPage, pageOpener } from "./pages/page_walk.ts";
import { consoleTests } from "./console_tests.ts";
import { browserTest, holds } from "./browser.ts";
import { findFocusProblems, watchFocus } from "./focus_checks.ts";
import { laidOut } from "./page_checks.ts";

// The whole table of keys, each pressed: its effect, and no effect during typing, below a dialog, or when keys are
// disabled.

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
  await holds(async () => [await box.inputValue(), await standing(page)], [letters, before]);
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

// Where the focus goes when its element is removed, hidden or disabled, on pages made for each case.

interface LostFocus {
  /** The content of the page, after a heading and a button. */
  readonly html: string;
  /** Ids of the elements that get the focus, one after the other. */
  readonly visits: readonly string[];
  /** Runs in the page. */
  readonly script: string;
  /** The id of the element that has the focus then; "" for none. */
  readonly gets: string;
}

const row = (name: string, tag = "li") =>
  `<${tag} id="row-${name}"><input type="checkbox"><a id="${name}" href="#">${name}</a><button id="delete-${name}">Delete</button></${tag}>`;
const ROWS = `<ul id="list">${row("a")}${row("b")}${row("c")}</ul>`;
const remove = (id: string) => `document.getElementById("${id}").remove();`;
const DIALOG = `<dialog id="dialog"><button id="keep">Keep</button><button id="yes">Yes</button></dialog>`;
const OPEN = `document.getElementById("dialog").showModal();`;
const CLOSE = `document.getElementById("dialog").close(); ${remove("dialog")}`;

const LOSSES: Readonly<Record<string, LostFocus>> = {
  "a row: the link of the next row, never its button": {
    ...{ html: ROWS, visits: ["delete-b"], script: remove("row-b"), gets: "c" },
  },
  "the last row: the link of the row before": {
    ...{ html: ROWS, visits: ["delete-c"], script: remove("row-c"), gets: "b" },
  },
  "two rows, one after the other": {
    ...{ html: ROWS, visits: ["delete-a"], script: remove("row-a") + remove("row-b"), gets: "c" },
  },
  "the only row: the element that had the focus before": {
    ...{
      html: `<ul>${row("a")}</ul>`,
      visits: ["before", "delete-a"],
      script: remove("row-a"),
      gets: "before",
    },
  },
  "a button that was rendered again: the new one": {
    html: `<p><button id="one">Save</button><button id="two">Cancel</button></p>`,
    visits: ["two", "one"],
    script:
      `const old = document.getElementById("one"); const next = old.cloneNode(true); old.replaceWith(next);`,
    gets: "one",
  },
  "a dialog whose row is gone: the next row": {
    html: ROWS + DIALOG,
    visits: ["delete-a"],
    script: `${OPEN} setTimeout(() => { ${remove("row-a")} ${CLOSE} }, 50);`,
    gets: "b",
  },
  "a control of a dialog: another one of the dialog, not the page behind it": {
    ...{ html: DIALOG, visits: ["before"], script: `${OPEN} ${remove("keep")}`, gets: "yes" },
  },
  "a button that is disabled: the one before": {
    html: `<button id="one">One</button>`,
    visits: ["before", "one"],
    script: `document.getElementById("one").disabled = true;`,
    gets: "before",
  },
  "a part that is hidden: the one before": {
    html: `<div id="part"><button id="one">One</button></div>`,
    visits: ["before", "one"],
    script: `document.getElementById("part").hidden = true;`,
    gets: "before",
  },
  "everything: the heading": {
    ...{ html: `<button id="one">One</button>`, visits: ["one"], script: remove("one"), gets: "title" },
  },
  "everything, and the next page comes later": {
    html: `<button id="one">One</button>`,
    visits: ["one"],
    script: `const loading = document.createElement("main"); loading.tabIndex = -1;
      document.querySelector("main").replaceWith(loading);
      const page = document.createElement("main"); page.innerHTML = "<h1 tabindex=-1 id=late>Late</h1>";
      setTimeout(() => loading.replaceWith(page), 60);`,
    gets: "late",
  },
};

async function bundled(): Promise<string> {
  const { outputFiles } = await esbuild.build({
    entryPoints: [new URL("../../console/web/app/focus_keeper.ts", import.meta.url).pathname],
    ...{ bundle: true, write: false, format: "iife", globalName: "keeper" },
  });
  return `${outputFiles?.[0]?.text ?? ""}; keeper.keepFocus(document);`;
}

browserTest("keepFocus() gives a lost focus to the nearest place", async ({ page }, { step }) => {
  const keeper = await bundled();
  await watchFocus(page);
  const load = async (html: string) => {
    await page.goto("about:blank");
    await page.setContent(`<style>:focus { outline: 2px solid blue }</style>
      <main><h1 id="title" tabindex="-1">Title</h1><button id="before">Before</button>${html}</main>`);
    await page.evaluate(keeper);
    await page.keyboard.press("Shift");
  };
  const focusNow = () => page.evaluate(() => document.activeElement?.id);
  for (const [name, { html, visits, script, gets }] of Object.entries(LOSSES)) {
    await step(name, async () => {
      await load(html);
      for (const id of visits) await page.locator(`#${id}`).focus();
      await page.evaluate(`{ ${script} }`);
      await page.locator(`#${gets}:focus`).waitFor();
      assertEquals(await findFocusProblems(page), []);
    });
  }
  await step("a click beside all controls: nothing, also when the last element is removed", async () => {
    await load(ROWS);
    await page.locator("#a").focus();
    await page.mouse.click(900, 700);
    await page.evaluate(remove("row-a"));
    await laidOut(page);
    assertEquals(await focusNow(), "");
  });
});

// The checks of the focus find each problem on a page made for it.

interface FocusControl {
  readonly html: string;
  /** Runs in the page when the focus is on #one. */
  readonly script?: string;
  /** Part of the first problem; `null` for none. */
  readonly problem: string | null;
}

const BUTTON = `<button id="one">One</button>`;
const RING = `<style>:focus { outline: 2px solid rgb(0 0 255) }</style>`;

const CONTROLS: Readonly<Record<string, FocusControl>> = {
  "a visible button": { html: RING + BUTTON, problem: null },
  "a removed button": {
    html: RING + BUTTON,
    script: "document.querySelector('#one').remove()",
    problem: "lost by <button",
  },
  "a disabled button": {
    html: RING + BUTTON,
    script: "document.querySelector('#one').disabled = true",
    problem: "lost by <button",
  },
  "a button that is gone only for some frames": {
    html: RING + BUTTON,
    script: `document.querySelector('#one').blur();
      let left = 3;
      const next = () => left-- > 0 ? requestAnimationFrame(next) : document.querySelector('#one').focus();
      next();`,
    problem: "lost by <button",
  },
  "a button below a bar": {
    html: `${RING}${BUTTON}<div style="position:fixed;inset:0;background:white"></div>`,
    problem: "is covered",
  },
  "a button beside the window": {
    html: `${RING}<div style="position:fixed;left:-500px">${BUTTON}</div>`,
    problem: "is outside the window",
  },
  "a button without a ring": {
    html: `<style>:focus { outline: none }</style>${BUTTON}`,
    problem: "has no mark of the focus",
  },
  "a button with a transparent ring": {
    html: `<style>:focus { outline: 2px solid transparent }</style>${BUTTON}`,
    problem: "has no mark of the focus",
  },
  "a transparent button": {
    html: `${RING}<div style="opacity:0">${BUTTON}</div>`,
    problem: "is invisible",
  },
};

browserTest(
  "findFocusProblems() finds a lost, covered, invisible and unmarked focus",
  async ({ page }, { step }) => {
    await watchFocus(page);
    for (const [name, { html, script, problem }] of Object.entries(CONTROLS)) {
      await step(name, async () => {
        await page.goto("about:blank");
        await page.setContent(html);
        assertEquals((await findFocusProblems(page)).at(-1), "nothing has the focus");
        await page.keyboard.press("Tab");
        if (script !== undefined) {
          assertEquals(await findFocusProblems(page), []);
          await page.evaluate(script);
          await page.waitForFunction(() => (globalThis as { lostFocus?: string[] }).lostFocus?.length !== 0);
        }
        const problems = await findFocusProblems(page);
        if (problem === null) assertEquals(problems, []);
        else assertStringIncludes(problems[0] ?? "none", problem);
      });
    }
  },
);
