// Where the focus goes when its element is removed, hidden or disabled, on pages made for each case.

import { assertEquals } from "@std/assert";
import * as esbuild from "esbuild";
import { browserTest } from "./browser.ts";
import { findFocusProblems, watchFocus } from "./focus_checks.ts";
import { laidOut } from "./page_checks.ts";

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
