// Tests of the page matrix: complete rows, effective checks, lists at every width, and hostile files and addresses.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { PAGE_ROUTES } from "../../console/web/app/routes.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { consoleTests } from "./console_tests.ts";
import { findAccessibilityProblems, scrollsSideways } from "./page_checks.ts";
import { DIALOGS_ELSEWHERE, PAGE_ROWS, rowOf } from "./pages/page_rows.ts";
import { chooseFile, failureOf, openPage, seen } from "./pages/page_walk.ts";
import { findControlProblems, findStopProblems } from "./pages/page_matrix.ts";
import { holds } from "./browser.ts";

const WEB = new URL("../../console/web/", import.meta.url);

Deno.test("PAGE_ROWS has every page, and every dialog of the console is checked", async () => {
  const rows = Object.values(PAGE_ROWS);
  const had = new Set<string>(rows.map(({ place }) => place));
  assertEquals(Object.keys(PAGE_ROUTES).filter((name) => !had.has(name)), [], "pages without a row");
  const walked = new Set([
    ...rows.flatMap(({ dialogs }) => dialogs.map(({ file }) => file)),
    ...Object.keys(DIALOGS_ELSEWHERE),
  ]);
  const drawing = await filesWith(/<(Confirm|Fields|Form|Secret)?Dialog\s|<dialog\s/);
  assertEquals(drawing.filter((file) => !walked.has(file)), [], "dialogs that no row opens");
  const files = await filesWith(/^/);
  assertEquals([...walked].filter((file) => !files.includes(file)), [], "rows of dialogs that are gone");
});

/** Files below `console/web` whose text matches. */
async function filesWith(pattern: RegExp, folder = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, WEB))) {
    if (isDirectory) found.push(...await filesWith(pattern, `${folder}${name}/`));
    else if (name.endsWith(".tsx") && pattern.test(await Deno.readTextFile(new URL(folder + name, WEB)))) {
      found.push(folder + name);
    }
  }
  return found;
}

const test = consoleTests(startFullConsole, { role: "owner" });

test(
  "reach: the bar of bulk actions covers no row that has the focus",
  { look: "narrow" },
  async ({ page, site }) => {
    for (let number = 1; number <= 20; number += 1) {
      await site.people.put(`user${String(number).padStart(2, "0")}`);
    }
    await openPage(page, { site, row: rowOf("users") });
    await page.getByLabel("Select ada").check();
    await page.getByRole("region", { name: "1 selected" }).waitFor();
    assertEquals(await findStopProblems(page), []);
  },
);

test("reach: a control whose focus has no mark is found", { look: "narrow" }, async ({ page, site }) => {
  await openPage(page, { site, row: rowOf("devices") });
  assertEquals(await findControlProblems(page, "main"), []);
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("* { outline: none !important; box-shadow: none !important; }");
    document.adoptedStyleSheets.push(sheet);
  });
  assertMatch((await findControlProblems(page, "main")).join("\n"), /^has no mark of the focus: /);
});

test("reach: axe finds a target that is too small", async ({ page, site }) => {
  await openPage(page, { site, row: rowOf("devices") });
  await page.evaluate(() => {
    for (const button of document.querySelectorAll<HTMLElement>("tbody button, tbody input, tbody label")) {
      for (const name of ["min-height", "height", "width", "padding", "min-width", "font-size"]) {
        button.style.setProperty(name, name === "padding" ? "0" : "10px");
      }
    }
    for (const cell of document.querySelectorAll<HTMLElement>("tbody td, tbody tr, tbody a, tbody label")) {
      cell.style.setProperty("height", "10px");
      cell.style.setProperty("min-height", "0");
      cell.style.setProperty("padding", "0");
    }
  });
  const problems = (await findAccessibilityProblems(page)).join("\n");
  assert(problems.includes("target-size"), problems);
});

const MARKUP = `"><img src=x onerror=alert(1)>`;
const OTHER_WAY = "\u202Eevil\u202C\u2067abc";
const LONG = "w".repeat(256);
const EMOJI = "👩‍👩‍👧‍👦🏳️‍🌈é\u0301";

test("hostile: a file's name, its cells and its refusals are text", async ({ page, site }) => {
  await openPage(page, { site, row: rowOf("import") });
  const cells = [MARKUP, OTHER_WAY, LONG, EMOJI].map((text) => `"${text.replaceAll('"', '""')}",=1+1`);
  const csv = ["userName,displayName", ...cells, `,"${MARKUP.replaceAll('"', '""')}"`, ""].join("\n");
  await chooseFile(page.getByLabel("File", { exact: true }), csv, `${MARKUP}.csv`);
  await page.getByRole("table", { name: `Rows of ${MARKUP}.csv` }).waitFor();
  await seen(page.locator("main"), MARKUP);
  await holds(async () => [await page.locator("main img").count(), await scrollsSideways(page)], [0, false]);
});

test("hostile: malicious names in the address are text, and no page breaks", async ({ page, site }) => {
  const problems: string[] = [];
  const bad = encodeURIComponent(MARKUP);
  const paths = ["/users/", "/groups/", "/clients/", "/targets/", "/live/c/"].map((path) => path + bad);
  const filters = [
    "/users?q=",
    "/history?user=",
    "/audit?object=",
    "/live?q=",
    "/charts?client=",
    "/clients?q=",
  ]
    .map((path) => path + bad);
  for (
    const path of [...paths, ...filters, "/users?page=-1&status=x", "/charts?range=x", "/live?c=%ZZ&t=-9"]
  ) {
    const row = rowOf("live");
    const there = { ...row, path: () => path, heading: () => /./, shows: () => /./ };
    const problem = await failureOf(() => openPage(page, { site, row: there }));
    if (problem !== null) problems.push(`${path}: ${problem}`);
    if (await page.getByText("This page could not be displayed.").count() > 0) {
      problems.push(`${path}: broke`);
    }
    if (await page.locator("#app img").count() > 0) problems.push(`${path}: an image`);
  }
  assertEquals(problems, []);
});
