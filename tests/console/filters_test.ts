// Filters of lists: their place in the address, the API query that they make, and how they are cleared.

import { assertEquals } from "@std/assert";
import { clearFilters, type ListFilter, pageNumber, toFilterQuery } from "../../console/web/app/filters.ts";

const FILTERS: readonly ListFilter[] = [
  { name: "user", label: "User", control: "search" },
  { name: "outcome", label: "Outcome", control: "choice", options: ["accepted"], allLabel: "Every outcome" },
  { name: "from", label: "From", control: "moment" },
];

/** An address, and the query that it gives. */
function routerOf(address: string) {
  const given = new URLSearchParams(address);
  const put: Readonly<Record<string, string>>[] = [];
  const router = {
    param: (name: string) => given.get(name) ?? "",
    setParams: (changes: Readonly<Record<string, string>>) => void put.push(changes),
  };
  return { models: { router } as unknown as Parameters<typeof toFilterQuery>[0], put };
}

const QUERIES: readonly (readonly [address: string, query: Readonly<Record<string, string>>])[] = [
  ["", {}],
  ["user=ada&page=3&other=x", { user: "ada" }],
  ["user=&outcome=accepted", { outcome: "accepted" }],
  ["from=2026-01-02T03:04:05Z", { from: "1767323045000" }],
  ["from=yesterday&user=ada", { user: "ada" }],
];

for (const [address, query] of QUERIES) {
  Deno.test(`queryOf() of "${address}" is ${JSON.stringify(query)}`, () => {
    assertEquals(toFilterQuery(routerOf(address).models, FILTERS), query);
  });
}

const RANGE: readonly ListFilter[] = [
  { name: "range", label: "Time", control: "range" },
  ...["from", "to"].map((name): ListFilter => ({
    name,
    label: name,
    control: "moment",
    isPartOfRange: true,
  })),
];
const NOW_MS = new Date(2026, 10, 28, 14, 7, 39).getTime();
const localMs = (day: number, hour = 0) => new Date(2026, 10, day, hour).getTime();
const RANGES: readonly (readonly [address: string, from: number | null, to: number | null])[] = [
  ["", null, null],
  ["range=hour", NOW_MS - 3_600_000, null],
  ["range=today", localMs(28), null],
  ["range=yesterday", localMs(27), localMs(28) - 1],
  ["range=week", NOW_MS - 7 * 86_400_000, null],
  ["range=someday", null, null],
  ["range=hour&from=2026-01-02T03:04:05Z", 1_767_323_045_000, null],
];
for (const [address, from, to] of RANGES) {
  Deno.test(`toFilterQuery() of the range "${address}" has the times of the browser's zone`, () => {
    const query = toFilterQuery(routerOf(address).models, RANGE, NOW_MS);
    const expected = Object.entries({ from, to }).filter(([, value]) => value !== null);
    assertEquals(query, Object.fromEntries(expected.map(([name, value]) => [name, String(value)])));
  });
}

Deno.test("clearFilters() removes the given filters and returns to the first page", () => {
  const { models, put } = routerOf("user=ada&outcome=accepted&page=2");
  clearFilters(models, FILTERS.slice(0, 1));
  assertEquals(put, [{ page: "", user: "" }]);
});

const PAGES: readonly (readonly [address: string, page: number])[] = [
  ["", 1],
  ["page=7", 7],
  ["page=0", 1],
  ["page=-2", 1],
  ["page=1.5", 1],
  ["page=x", 1],
];

for (const [address, page] of PAGES) {
  Deno.test(`pageOf() of "${address}" is ${page}`, () => {
    assertEquals(pageNumber(routerOf(address).models), page);
  });
}
