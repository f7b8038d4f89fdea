// Names that mean harm, on every page: markup, text that runs the other way, 256 characters, emoji. They are shown as text, nothing runs,
// nothing is fetched, and no page grows wider than its window.

import { assertEquals } from "@std/assert";
import { type FullNames, startFullConsole } from "../fakes/console_full.ts";
import { browserTest, closeBrowserAtEnd, currentDist, scrollsSideways } from "./browser.ts";
import { PLACE_ROWS, rowOf } from "./place_rows.ts";
import { chooseFile, failureOf, openPlace, seen } from "./place_walk.ts";

const dist = await currentDist();
const MARKUP = `"><img src=x onerror=alert(1)>`;
const OTHER_WAY = "\u202Eevil\u202C\u2067abc";
const LONG = "w".repeat(256);
const EMOJI = "👩‍👩‍👧‍👦🏳️‍🌈é\u0301";

/** The directory, accounts and tokens refuse what turns the direction of others' text; letters that run the other way are names. */
const OTHER_LETTERS = "עדה-مرحبا";

/** The directory refuses the joiner in emoji of several parts: it is a format character. */
const PLAIN_EMOJI = EMOJI.replaceAll("\u200D", "");

interface Hostile {
  /** Of what a packet or another system brings. */
  readonly anything: string;
  /** Of users and groups. */
  readonly name: string;
  /** Of accounts and tokens, whose names are short and hold nothing unseen. */
  readonly account: string;
}

const NAMES: Readonly<Record<string, Hostile>> = {
  "markup": { anything: MARKUP, name: MARKUP, account: MARKUP },
  "text that runs the other way": { anything: OTHER_WAY, name: OTHER_LETTERS, account: OTHER_LETTERS },
  "256 characters": { anything: LONG, name: LONG, account: LONG.slice(0, 64) },
  "emoji": { anything: EMOJI, name: PLAIN_EMOJI, account: "🐘🐘é" },
};

const namesOf = ({ anything, name, account }: Hostile): FullNames => ({
  user: name,
  group: name,
  loginUser: anything,
  loginClient: anything,
  nasIdentifier: anything,
  text: anything,
  administrator: account,
  token: account,
});

for (const [what, hostile] of Object.entries(NAMES)) {
  for (const look of ["light", "small"] as const) {
    browserTest(
      `hostile: ${what} is text on every page, ${look === "small" ? "at 320 px" : "wide"}`,
      async ({ page }) => {
        await using site = await startFullConsole({ dist, names: namesOf(hostile) });
        const problems: string[] = [];
        page.on("dialog", (dialog) => {
          problems.push(`it ran: ${dialog.message()}`);
          void dialog.dismiss();
        });
        page.on("request", (request) => {
          if (new URL(request.url()).pathname.endsWith("/x")) problems.push(`it fetched: ${request.url()}`);
        });
        for (const [name, row] of Object.entries(PLACE_ROWS)) {
          if (row.outside === true) continue;
          const { byName: _any, ...there } = row;
          const problem = await failureOf(() => openPlace(page, { site, row: there }));
          if (problem !== null) problems.push(`${name}: ${problem}`);
          if (await scrollsSideways(page)) problems.push(`${name}: scrolls sideways`);
          const drawn = await page.locator("#app img, #app [onerror]").count();
          if (drawn > 0) problems.push(`${name}: ${drawn} images`);
        }
        assertEquals(problems, []);
      },
      { look },
    );
  }
}

browserTest("hostile: a file's name, its cells and its refusals are text", async ({ page }) => {
  await using site = await startFullConsole({ dist });
  await openPlace(page, { site, row: rowOf("import") });
  const cells = [MARKUP, OTHER_WAY, LONG, EMOJI].map((text) => `"${text.replaceAll('"', '""')}",=1+1`);
  const csv = ["userName,displayName", ...cells, `,"${MARKUP.replaceAll('"', '""')}"`, ""].join("\n");
  await chooseFile(page.getByLabel("File", { exact: true }), csv, `${MARKUP}.csv`);
  await page.getByRole("table", { name: `Rows of ${MARKUP}.csv` }).waitFor();
  await seen(page.locator("main"), MARKUP);
  assertEquals([await page.locator("main img").count(), await scrollsSideways(page)], [0, false]);
});

browserTest("hostile: an address with names that mean harm is text, and no page breaks", async ({ page }) => {
  await using site = await startFullConsole({ dist });
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
    const problem = await failureOf(() => openPlace(page, { site, row: there }));
    if (problem !== null) problems.push(`${path}: ${problem}`);
    if (await page.getByText("This page could not be drawn.").count() > 0) problems.push(`${path}: broke`);
    if (await page.locator("#app img").count() > 0) problems.push(`${path}: an image`);
  }
  assertEquals(problems, []);
});

closeBrowserAtEnd();
