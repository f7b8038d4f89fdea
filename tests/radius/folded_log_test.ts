// Log lines of a flood: events up to a rate have a line each, and the others share one line a second with their count.

import { assertEquals } from "@std/assert";
import { createLog } from "../../platform/log.ts";
import { FoldedLog } from "../../radius/server/gateway_monitor.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

function opened(options: { burst: number; perSecond: number }) {
  const clock = createManualClock();
  const written: string[] = [];
  const log = createLog({
    format: "json",
    level: "info",
    clock,
    write: (octets) => void written.push(...new TextDecoder().decode(octets).trimEnd().split("\n")),
  });
  const folded = new FoldedLog({ log, clock, ...options });
  const write = (kind: string, source: string) =>
    folded.write(kind, { level: "warn", message: `about ${kind}`, fields: { source } });
  const lines = async () => {
    await log.flush();
    return written.map((line) => JSON.parse(line)).map((
      { message, source, folded },
    ) => [message, source, folded]);
  };
  return { clock, folded, write, lines };
}

Deno.test("FoldedLog writes each event up to the burst, and one line a second with the count of the others", async () => {
  const { clock, write, lines } = opened({ burst: 3, perSecond: 1 });
  const own = Array.from({ length: 10 }, (_, at) => write("flood", `s${at}`));
  assertEquals(own.filter(Boolean).length, 3);
  assertEquals((await lines()).length, 3);
  clock.advance(1000);
  assertEquals((await lines()).slice(3), [["about flood", "s9", 7]]);
  clock.advance(60_000);
  assertEquals((await lines()).length, 4);
  assertEquals(write("flood", "later"), true);
});

Deno.test("FoldedLog writes at most the burst, the rate and one count a second for a minute of a thousand events a second", async () => {
  const { clock, write, lines } = opened({ burst: 100, perSecond: 10 });
  for (let second = 0; second < 60; second++) {
    for (let count = 0; count < 1000; count++) write("flood", "s");
    clock.advance(1000);
  }
  const said = await lines();
  assertEquals(said.length <= 100 + 60 * 10 + 60, true, `${said.length} lines`);
  const counted = said.reduce((sum, [, , folded]) => sum + (folded ?? 1), 0);
  assertEquals(counted, 60_000);
});

Deno.test("FoldedLog folds each kind separately, and flush() writes pending counts", async () => {
  const { folded, write, lines } = opened({ burst: 1, perSecond: 1 });
  write("a", "1");
  write("a", "2");
  assertEquals(write("b", "3"), true);
  folded.flush();
  folded.flush();
  assertEquals(await lines(), [["about a", "1", undefined], ["about b", "3", undefined], [
    "about a",
    "2",
    1,
  ]]);
});
