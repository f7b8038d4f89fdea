// What backup, restore and move-store share: interruption, a store that stopped answering, comparison and texts.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { differencesOf } from "../../cli/move_store.ts";
import { sizeText } from "../../cli/format_result.ts";
import { checkNoNodes, summaryText, supervised, tablesText } from "../../cli/store_copy.ts";
import { CommandInterrupted } from "../../cli/terminal.ts";
import { StoreFault } from "../../platform/open_kv.ts";

const never = () => new Promise<never>(() => undefined);

Deno.test("supervised() returns the result of its work", async () => {
  assertEquals(await supervised(() => Promise.resolve(5), { signal: new AbortController().signal }), 5);
});

Deno.test("supervised() ends at once when the user interrupts, even if the store does not answer", async () => {
  const interrupt = new AbortController();
  const work = supervised(never, { signal: interrupt.signal });
  interrupt.abort(new CommandInterrupted("Interrupted."));
  await assertRejects(() => work, CommandInterrupted);
});

Deno.test("supervised() ends if there is no progress for two minutes, counted from the last progress", async () => {
  const timers = new Map<() => void, number>();
  const clock = {
    after(delayMs: number, task: () => void) {
      timers.set(task, delayMs);
      return () => void timers.delete(task);
    },
  };
  const work = supervised((onProgress) => (onProgress(), never()), {
    signal: new AbortController().signal,
    clock,
  });
  assertEquals([...timers.values()], [120_000]);
  for (const task of timers.keys()) task();
  await assertRejects(() => work, StoreFault, "did not answer");
});

Deno.test("checkNoNodes() refuses a store in which the record of a node changes", async () => {
  using kv = await Deno.openKv(":memory:");
  const location = "https://kv.example.com";
  const check = (whileWaiting: () => Promise<unknown>) => {
    const clock = {
      after(_delayMs: number, task: () => void) {
        void whileWaiting().then(task);
        return () => undefined;
      },
    };
    return checkNoNodes(kv, { location, clock });
  };
  const beat = () => kv.set(["node", "a1b2"], { name: "gate-1" });
  await check(() => Promise.reject(new Error("a store without nodes is not watched")));
  await beat();
  // A record that does not change is that of a node that stopped.
  await check(() => Promise.resolve());
  const fault = await assertRejects(() => check(beat), StoreFault);
  assertStringIncludes(fault.message, 'the node "gate-1" uses it. Stop all nodes first.');
});

Deno.test("differencesOf() compares the counts of both stores, and allows for entries that expire soon", () => {
  const copied = new Map([["user", 5], ["journal", 9]]);
  const soon = new Map([["journal", 2]]);
  const compare = (after: Record<string, number>, there: Record<string, number>) =>
    differencesOf({ copied, soon }, {
      after: new Map(Object.entries(after)),
      there: new Map(Object.entries(there)),
    });
  const same = { user: 5, journal: 9 };
  assertEquals(compare(same, same), "");
  assertEquals(compare({ user: 5, journal: 7 }, { user: 5, journal: 8 }), "");
  assertEquals(compare(same, { user: 4, journal: 9 }), "  user: 5 in <from>, 4 in <to>\n");
  assertEquals(compare({ ...same, user: 6 }, same), "  user: 6 in <from>, 5 in <to>\n");
  assertEquals(compare(same, { user: 5, journal: 6 }), "  journal: 9 in <from>, 6 in <to>\n");
  assertEquals(compare({ ...same, group: 1 }, same), "  group: 1 in <from>, 0 in <to>\n");
});

Deno.test("sizeText(), summaryText() and tablesText() have units and readable numbers", () => {
  assertEquals([0, 1023, 1024, 5_500_000].map(sizeText), ["0 octets", "1023 octets", "1.0 KiB", "5.2 MiB"]);
  assertEquals(
    summaryText("Restored", { entries: 20_000, octets: 2048, seconds: 3.14 }),
    "Restored 20,000 entries (2.0 KiB) in 3.1 s.\n",
  );
  assertEquals(tablesText(new Map([["group", 2], ["user", 1500]])), "user 1,500, group 2");
});
