// Older pages of a list: reading on, failures, and a first page that changes.

import { assertEquals } from "@std/assert";
import { createOlderPages } from "../../console/web/app/resource.ts";

interface Page {
  readonly items: readonly string[];
  readonly next: string | null;
}

const FIRST: Page = { items: ["c"], next: "before c" };
const PAGES: Readonly<Record<string, Page>> = {
  "before c": { items: ["b"], next: "before b" },
  "before b": { items: ["a"], next: null },
};

function openOlder() {
  const asked: string[] = [];
  const session = { whileSignedIn: <T>(call: () => Promise<T>) => call() };
  const older = createOlderPages<Page>({ session } as unknown as Parameters<typeof createOlderPages>[0]);
  const read = (before: string) => {
    asked.push(before);
    const page = PAGES[before];
    return page === undefined ? Promise.reject(new Error("no such page")) : Promise.resolve(page);
  };
  return { asked, older, read };
}

const itemsOf = (pages: readonly Page[]) => pages.flatMap(({ items }) => items);

Deno.test("createOlderPages() reads page after page until the last one", async () => {
  const { asked, older, read } = openOlder();
  assertEquals(older.olderPages(FIRST).pages, []);
  for (let round = 0; round < 3; round += 1) await older.loadMore(FIRST, read);
  assertEquals(itemsOf(older.olderPages(FIRST).pages), ["b", "a"]);
  assertEquals(asked, ["before c", "before b"]);
});

Deno.test("createOlderPages() sends one request while an answer is pending", async () => {
  const { asked, older, read } = openOlder();
  const both = [older.loadMore(FIRST, read), older.loadMore(FIRST, read)];
  assertEquals(older.isBusy(), true);
  await Promise.all(both);
  assertEquals([older.isBusy(), asked], [false, ["before c"]]);
});

Deno.test("createOlderPages() keeps its rows when the next page fails, and tries again", async () => {
  const { older, read } = openOlder();
  await older.loadMore(FIRST, read);
  await older.loadMore(FIRST, () => Promise.reject(new Error("broken")));
  const { pages, problem } = older.olderPages(FIRST);
  assertEquals([itemsOf(pages), typeof problem], [["b"], "string"]);
  await older.loadMore(FIRST, read);
  assertEquals([itemsOf(older.olderPages(FIRST).pages), older.olderPages(FIRST).problem], [["b", "a"], null]);
});

Deno.test("createOlderPages() discards the pages behind another first page, including late answers", async () => {
  const { older, read } = openOlder();
  const newer: Page = { items: ["d"], next: null };
  const late = older.loadMore(FIRST, read);
  assertEquals(older.olderPages(newer).pages, []);
  await late;
  assertEquals([older.olderPages(newer).pages, older.olderPages(newer).problem], [[], null]);
});
