// The models of the Reports page: the selection of bars, the axis of counts, the range of the address, and links into the history.

import { assert, assertEquals } from "@std/assert";
import {
  type BarSelection,
  countTicks,
  joinedSize,
  joinSteps,
  moveSelection,
  selectedBars,
  valueRange,
  valueRuns,
} from "../../console/web/pages/reports/bar_selection.ts";
import { layOutSteps, timeLabels } from "../../console/web/pages/reports/step_layout.ts";
import { historyHref, reportQuery } from "../../console/web/pages/reports/report_range.ts";

/** Presses keys in a chart of 12 bars; `S-` means with Shift. Returns the first and last selected bar. */
function press(keys: string, from: BarSelection | null = null): string {
  let selection = from;
  for (const name of keys.split(" ")) {
    const [key = "", shiftKey] = name.startsWith("S-") ? [name.slice(2), true] : [name, false];
    selection = moveSelection(selection, { key, shiftKey }, 12) ?? selection;
  }
  return selection === null ? "none" : Object.values(selectedBars(selection)).join("-");
}

Deno.test("moveSelection() moves by bar, by ten, and to both ends, and grows with Shift", () => {
  const rows = [
    ["ArrowLeft", "11-11"],
    ["ArrowRight", "11-11"],
    ["Home", "0-0"],
    ["Home ArrowLeft", "0-0"],
    ["Home ArrowRight ArrowRight", "2-2"],
    ["End S-ArrowLeft S-ArrowLeft", "9-11"],
    ["End S-ArrowLeft ArrowLeft", "9-9"],
    ["Home S-PageDown", "0-10"],
    ["Home S-End", "0-11"],
    ["End PageUp", "1-1"],
    ["Home S-ArrowRight S-ArrowRight S-ArrowLeft", "0-1"],
    ["Tab", "none"],
    ["Enter", "none"],
    ["constructor", "none"],
  ] as const;
  for (const [keys, expected] of rows) assertEquals([keys, press(keys)], [keys, expected]);
  assertEquals(moveSelection(null, { key: "Home", shiftKey: false }, 0), null, "without bars");
});

Deno.test("joinSteps() keeps the sum, with at most so many bars", () => {
  const join = (values: number[], most: number) => joinSteps(values, joinedSize(values.length, most));
  assertEquals(join([1, 2, 3, 4, 5], 5), [1, 2, 3, 4, 5]);
  assertEquals(join([1, 2, 3, 4, 5], 3), [3, 7, 5]);
  assertEquals(join([1, 2, 3, 4, 5], 1), [15]);
  assertEquals(join([1, 2, 3, 4, 5], 0), [15]);
  assertEquals(join([], 4), []);
});

Deno.test("valueRange() has the smallest and the largest value of the selected bars", () => {
  const values = [400, null, 900, 200, null, null, 700];
  const rows = [
    [{ cursor: 0, anchor: 0 }, 1, { low: 400, high: 400 }],
    [{ cursor: 1, anchor: 1 }, 1, null],
    [{ cursor: 0, anchor: 3 }, 1, { low: 200, high: 900 }],
    [{ cursor: 1, anchor: 1 }, 2, { low: 200, high: 900 }],
    [{ cursor: 2, anchor: 2 }, 2, null],
    [{ cursor: 3, anchor: 3 }, 2, { low: 700, high: 700 }],
  ] as const;
  for (const [selection, size, expected] of rows) {
    assertEquals([selection, valueRange(values, selection, size)], [selection, expected]);
  }
});

Deno.test("valueRuns() ends a line at each gap", () => {
  const rows = [
    [[], []],
    [[null, null], []],
    [[1, 2, 3], [{ start: 0, run: [1, 2, 3] }]],
    [[null, 1, null, 2, 0, null], [{ start: 1, run: [1] }, { start: 3, run: [2, 0] }]],
  ] as const;
  for (const [values, expected] of rows) assertEquals(valueRuns(values), expected as never);
});

Deno.test("countTicks() has whole numbers, few marks, and reaches the largest count", () => {
  assertEquals(countTicks(0), [0, 1]);
  assertEquals(countTicks(1), [0, 1]);
  assertEquals(countTicks(3), [0, 1, 2, 3]);
  assertEquals(countTicks(7), [0, 2, 4, 6, 8]);
  assertEquals(countTicks(115), [0, 50, 100, 150]);
  assertEquals(countTicks(2500), [0, 1000, 2000, 3000]);
  for (let largest = 1; largest < 100_000; largest = Math.ceil(largest * 1.07)) {
    const ticks = countTicks(largest);
    assertEquals([ticks.length <= 6, (ticks.at(-1) ?? 0) >= largest], [true, true], `${largest}: ${ticks}`);
  }
});

Deno.test("timeLabels() marks round local times, far enough apart, and midnight by its date", () => {
  const at = (day: number, hour: number, minute = 0) => new Date(2026, 10, day, hour, minute).getTime();
  const rows = [
    // 48 + 6 px are beside the plot.
    [at(20, 9, 3), at(20, 10, 3), 654, ["09:10", "09:20", "09:30", "09:40", "09:50", "10:00"]],
    [at(20, 17), at(21, 17), 294, ["Nov 21", "12:00"]],
    [at(16, 17), at(23, 17), 754, [17, 18, 19, 20, 21, 22, 23].map((day) => `Nov ${day}`)],
    [at(16, 17), at(23, 17), 320, ["Nov 18", "Nov 20", "Nov 22"]],
  ] as const;
  for (const [fromMs, toMs, widthPx, expected] of rows) {
    const layout = layOutSteps({ atMs: [fromMs], stepMs: toMs - fromMs }, widthPx);
    const labels = timeLabels(layout);
    assertEquals(labels.map(({ text }) => text), [...expected]);
    const gaps = labels.slice(1).map(({ xPx }, index) => xPx - (labels[index]?.xPx ?? 0));
    assert(Math.min(...gaps) >= 72, `${gaps}`);
  }
});

const router = (params: Record<string, string>) => ({
  router: { param: (name: string) => params[name] ?? "" } as never,
});
const NOW_MS = Date.UTC(2026, 10, 23, 12);

Deno.test("reportQuery() reads the range of the address; an unknown one is the last 24 hours", () => {
  const hours = (params: Record<string, string>) => {
    const { from, to } = reportQuery(router(params), NOW_MS);
    return [(Number(to) - Number(from)) / 3_600_000, Number(to) === NOW_MS];
  };
  assertEquals(hours({}), [24, true]);
  assertEquals(hours({ range: "1h" }), [1, true]);
  assertEquals(hours({ range: "constructor" }), [24, true]);
  const own = { from: "2026-11-20T10:00:00Z", to: "2026-11-20T13:00:00Z" };
  assertEquals(hours({ ...own, range: "1h" }), [3, false]);
  assertEquals(hours({ from: own.from, to: "then" }), [24, true]);
});

Deno.test("historyHref() contains the range, and no empty filter", () => {
  const range = { fromMs: NOW_MS - 1000, toMs: NOW_MS };
  const query = new URLSearchParams(historyHref(range, { client: "", user: "a&b" }).split("?")[1]);
  assertEquals([...query], [
    ["user", "a&b"],
    ["from", "2026-11-23T11:59:59.000Z"],
    ["to", "2026-11-23T12:00:00.000Z"],
  ]);
});
