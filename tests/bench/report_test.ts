// Tests of the report of the RADIUS benchmark, and of its rounds.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { dropsIn, endAll, treeCpuSeconds, treeMb } from "./process_figures.ts";
import { faultOf, type LoadResult, VoidMeasurement } from "./load.ts";
import { judgeFigure, median, onFresh, readRounds, reportLines } from "./report.ts";
import { nodesReport } from "./nodes/run.ts";

// The arithmetic of the measurements, and the reasons for a void one.

const GOOD: LoadResult = {
  seconds: 1,
  sent: 1000,
  answered: 1000,
  lost: 0,
  wrong: 0,
  stray: 0,
  garbage: 0,
  logins: 0,
  refused: 0,
  accepts: 0,
  rejects: 0,
  challenges: 1000,
  p50Us: 1,
  p99Us: 2,
  maxUs: 3,
  generatorCpuSeconds: 0.1,
};

Deno.test("median() returns the middle value, and the mean of two middle values", () => {
  assertEquals(median([9, 1, 5]), 5);
  assertEquals(median([1, 3, 100, 2]), 2.5);
  assert(Number.isNaN(median([])));
});

Deno.test("judgeFigure() compares medians with each server, and inverts the ratio where less is better", () => {
  const rounds = {
    countersign: [{ challenges: 60, p99: 10 }, { challenges: 80, p99: 15 }, { challenges: 100, p99: 30 }],
    freeradius: [{ challenges: 75, p99: 5 }, { challenges: 100 }, { challenges: 200 }],
    postgresql: [{ challenges: 40 }],
    earlier: [{}, { p99: 30 }],
  };
  const { medians, ratios, bars } = judgeFigure("challenges", rounds);
  assertEquals(medians, { countersign: 80, freeradius: 100, postgresql: 40 });
  assertEquals(ratios, { freeradius: 0.8, postgresql: 1.5 }, "of each round");
  assertEquals(bars, [[{ ratio: 2, to: "postgresql" }, false], [{ ratio: 0.8, to: "freeradius" }, true]]);
  const p99 = judgeFigure("p99", rounds);
  assertEquals(p99.ratios, { freeradius: 0.5, earlier: 2 });
  assertEquals(p99.bars, [[{ most: 15 }, true]], "the reference in Go was not measured");
});

Deno.test("reportLines() has a column with ratios for each server, and reports a limit that is not met", () => {
  const titles = { countersign: "ours", earlier: "a1b2c3", sqlite: "not measured", freeradius: "theirs" };
  const rounds = {
    countersign: [{ garbage: 14 }],
    freeradius: [{ garbage: 10 }],
    earlier: [{ garbage: 28 }],
  };
  const lines = reportLines(rounds, titles);
  assertMatch(lines[0] ?? "", /^ +ours +a1b2c3 +theirs$/);
  assertMatch(lines[1] ?? "", /14 \/s +28 \/s +0\.50 +10 \/s +1\.40 +≥ 2 of FR, no storage: not met$/);
  assertEquals(lines.length, 2);
});

Deno.test("faultOf() gives the reason for a void run", () => {
  assertEquals(faultOf(GOOD), null);
  const broken: Partial<LoadResult>[] = [
    { answered: 0 },
    { wrong: 1 },
    { stray: 1 },
    { challenges: 999, rejects: 1 },
    { lost: 11 },
  ];
  for (const change of broken) {
    assert(faultOf({ ...GOOD, ...change }) !== null, JSON.stringify(change));
  }
});

Deno.test("faultOf() expects from logins a challenge or an Accept, and that none is refused", () => {
  const totp = { ...GOOD, challenges: 500, accepts: 500, logins: 500 };
  const pap = { ...GOOD, challenges: 0, accepts: 1000, logins: 500 };
  assertEquals([faultOf(totp, "logins"), faultOf(pap, "logins")], [null, null]);
  for (const change of [{ accepts: 499, rejects: 1 }, { logins: 499, refused: 1 }, { logins: 0 }]) {
    assert(faultOf({ ...totp, ...change }, "logins") !== null, JSON.stringify(change));
  }
});

Deno.test("dropsIn() adds the drops of the sockets on one port", () => {
  const table =
    `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  101: 0100007F:0714 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 0000000000000000 5
  102: 00000000:0714 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4712 2 0000000000000000 2
  103: 00000000:0715 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4713 2 0000000000000000 9
`;
  assertEquals(dropsIn(table, 1812), 7);
  assertEquals(dropsIn(table, 1814), 0);
});

Deno.test("treeCpuSeconds(), treeMb() and endAll() include what a process started", async () => {
  const work = "sleep 60 & dd if=/dev/zero of=/dev/null bs=1M count=2000 2>/dev/null; echo done; wait";
  const child = new Deno.Command("sh", { args: ["-c", work], stdout: "piped" }).spawn();
  const output = child.stdout.getReader();
  await output.read();
  assert(await treeCpuSeconds([child.pid]) > 0, "dd has ended, and counts");
  assert(await treeMb([child.pid]) > 0);
  await endAll([child.pid]);
  assertEquals((await child.status).signal, "SIGKILL");
  // sleep holds the pipe, too.
  assertEquals((await output.read()).done, true);
});

// Rounds: their options, and what happens to a void measurement.

/** Starts servers that only count, and fails as often as told. */
function countingServers({ failures, fault }: { failures: number; fault: Error }) {
  const counted = { started: 0, stopped: 0 };
  const start = () => {
    counted.started++;
    return Promise.resolve({
      stop: () => {
        counted.stopped++;
        return Promise.resolve();
      },
    });
  };
  const measure = () => counted.started <= failures ? Promise.reject(fault) : Promise.resolve("measured");
  return { counted, run: () => onFresh(start, measure) };
}

Deno.test("readRounds() has defaults, shorter ones for --quick, and limits", () => {
  assertEquals(readRounds({}, { quickRounds: 2 }), { rounds: 5, seconds: 3, warmUpSeconds: 1 });
  assertEquals(readRounds({ quick: true }, { quickRounds: 2 }), {
    rounds: 2,
    seconds: 1,
    warmUpSeconds: 0.3,
  });
  for (const words of [{ rounds: "0" }, { rounds: "1.5" }, { seconds: "0.4" }, { seconds: "x" }]) {
    assertThrows(() => readRounds(words, { quickRounds: 1 }), Error, "must be");
  }
});

Deno.test("onFresh() repeats a void measurement twice, with a fresh server each time", async () => {
  const fault = new VoidMeasurement("void");
  const twice = countingServers({ failures: 2, fault });
  assertEquals(await twice.run(), "measured");
  assertEquals(twice.counted, { started: 3, stopped: 3 });
  const always = countingServers({ failures: 3, fault });
  await assertRejects(always.run, VoidMeasurement);
  assertEquals(always.counted, { started: 3, stopped: 3 });
});

Deno.test("onFresh() does not repeat another failure, and stops the server", async () => {
  const broken = countingServers({ failures: 1, fault: new Error("no server") });
  await assertRejects(broken.run, Error, "no server");
  assertEquals(broken.counted, { started: 1, stopped: 1 });
});

Deno.test("nodesReport() prints medians, and nothing for a figure that an installation does not have", () => {
  const lines = nodesReport({
    file: [{ logins: 100 }, { logins: 300 }, { logins: 110 }],
    one: [{ logins: 90, storeCpu: 20 }],
    two: [],
  });
  const lineOf = (title: string) => lines.find((line) => line.startsWith(title)) ?? "";
  assertMatch(lineOf("complete logins, 64"), / 110 \/s +90 \/s$/);
  assertMatch(lineOf("  CPU of denokv"), /each login +20 µs$/);
});
