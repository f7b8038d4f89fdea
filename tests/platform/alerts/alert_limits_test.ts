// The counts of rejected sign-ins, the limits of messages, and the texts of alerts.

import { assert, assertEquals } from "@std/assert";
import { ALERT_KIND_NAMES } from "../../../platform/alerts/alert_kinds.ts";
import { budgetNameOf, isOver, readBudgets, takeMessage } from "../../../platform/alerts/alert_messages.ts";
import type { KnownAlert } from "../../../platform/alerts/alert_record.ts";
import {
  ALERT_MESSAGES,
  averageOf,
  countRejection,
  countsAt,
  emptyCounts,
  inTenMinutes,
  limitPeriod,
  readCounts,
  type RejectionCounts,
  spikeThreshold,
} from "../../../platform/alerts/alert_rules.ts";
import { alertText, chatText, leftOutText, safeName } from "../../../platform/alerts/alert_texts.ts";

const START_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const LIMITS = { spikeCount: 20, spikeFactor: 3 };

function countAll(counts: RejectionCounts, times: readonly number[]): RejectionCounts {
  return times.reduce((now, atMs) => limitPeriod(countRejection(now, atMs, atMs), LIMITS), counts);
}

Deno.test("RejectionCounts: the last ten minutes, and the average of a day", () => {
  let counts = emptyCounts(START_MS);
  counts = countAll(counts, Array.from({ length: 25 }, (_, at) => START_MS + at * 10_000));
  assertEquals([inTenMinutes(counts), averageOf(counts)], [25, null]);
  assertEquals(inTenMinutes(countsAt(counts, START_MS + 9 * MINUTE_MS)), 25);
  assertEquals(inTenMinutes(countsAt(counts, START_MS + 15 * MINUTE_MS)), 0);
  // Ten in each period: the average is ten, so a spike has 30.
  counts = countAll(
    emptyCounts(START_MS),
    Array.from({ length: 1500 }, (_, at) => START_MS + at * MINUTE_MS),
  );
  assertEquals(spikeThreshold(counts, LIMITS), 30);
});

Deno.test("RejectionCounts: an attack of hours does not hide itself in the average", () => {
  const day = Array.from({ length: 1440 }, (_, at) => START_MS + at * MINUTE_MS);
  const quiet = countAll(emptyCounts(START_MS), day);
  const attack = Array.from({ length: 36_000 }, (_, at) => START_MS + DAY_MS + at * 100);
  const counts = countAll(quiet, attack);
  assert(inTenMinutes(counts) >= spikeThreshold(counts, LIMITS), String(spikeThreshold(counts, LIMITS)));
  const later = countsAt(counts, START_MS + DAY_MS + 3 * HOUR_MS);
  assert(spikeThreshold(later, LIMITS) < 40, String(spikeThreshold(later, LIMITS)));
});

Deno.test("RejectionCounts: a clock that jumps back begins again; one record of the future forgets nothing", () => {
  const counts = countAll(emptyCounts(START_MS), Array.from({ length: 30 }, () => START_MS));
  assertEquals(inTenMinutes(countRejection(counts, START_MS + 30 * DAY_MS, START_MS)), 31);
  const back = countRejection(counts, START_MS - DAY_MS, START_MS - DAY_MS);
  assertEquals(inTenMinutes(back), 1);
  assertEquals(inTenMinutes(countRejection(counts, START_MS - 30 * MINUTE_MS, START_MS)), 30);
});

Deno.test("stored counts and limits that cannot be used are refused", () => {
  for (const bad of [null, 5, {}, { ...emptyCounts(0), minutes: [1] }, { ...emptyCounts(0), current: -1 }]) {
    assertEquals(readCounts(bad), null);
  }
  assertEquals(readCounts(emptyCounts(START_MS)), emptyCounts(START_MS));
  assertEquals(
    readBudgets({ a: { warning: { sinceMs: 1, sent: 2, leftOut: 3 }, x: 5, user_locked: {} }, b: null }),
    {
      a: { warning: { sinceMs: 1, sent: 2, leftOut: 3 } },
      b: {},
    },
  );
});

Deno.test("takeMessage() allows so many in an hour, and counts the others", () => {
  let budget = takeMessage(undefined, { nowMs: START_MS, perHour: 2 });
  assertEquals(budget.isFree, true);
  for (const isFree of [true, false, false]) {
    budget = takeMessage(budget.budget, { nowMs: START_MS + MINUTE_MS, perHour: 2 });
    assertEquals(budget.isFree, isFree);
  }
  assertEquals(budget.budget, { sinceMs: START_MS, sent: 2, leftOut: 2 });
  assertEquals(isOver(budget.budget, START_MS + HOUR_MS), true);
  // A clock that was set back does not extend the hour.
  assertEquals(isOver(budget.budget, START_MS - 1), true);
  assertEquals(budgetNameOf({ kind: "fraud_reported", severity: "critical" }), "fraud_reported");
  assertEquals(budgetNameOf({ kind: "user_locked", severity: "warning" }), "warning");
});

/** A name of an attacker, and what a mail or a chat shows. */
const NAMES: readonly (readonly [string, string])[] = [
  ["ada@example.com", "ada@example.com"],
  ["@channel", "(at)channel"],
  ["a\r\nSubject: x\u202e", "a  Subject: x "],
  ["https://evil.example/", "https: //evil.example/"],
  ["[click](https://evil)", "[click] (https: //evil)"],
  ["x".repeat(200), `${"x".repeat(100)}…`],
];

for (const [name, shown] of NAMES) {
  Deno.test(`safeName() shows ${JSON.stringify(name.slice(0, 40))}`, () =>
    assertEquals(safeName(name), shown));
}

Deno.test("each kind has a text for each message in both languages, without gaps", () => {
  assertEquals(chatText("<!channel> & <http://x|y>"), "&lt;!channel&gt; &amp; &lt;http://x|y&gt;");
  for (const kind of ALERT_KIND_NAMES) {
    const base = { id: "1", kind, about: "user:ada", count: 3, openedMs: START_MS, lastMs: START_MS };
    const times = { endedMs: null, notifiedMs: START_MS, notifiedCount: 3 };
    const values = [
      { user: "ada", name: "ldap", of: "mail", untilMs: START_MS, inTenMinutes: 30, average: 2 },
      { users: ["ada", "bob"] },
      {},
    ];
    for (const value of values) {
      for (const message of ALERT_MESSAGES) {
        const alert: KnownAlert = { ...base, ...times, severity: "critical", values: value };
        const [en, de] = (["en", "de"] as const).map((language) =>
          alertText(alert, { message, language, nowMs: START_MS })
        );
        for (const text of [en, de]) {
          assert(
            text !== undefined && !/undefined|null|NaN|\[object/.test(text.title + text.details),
            text?.title,
          );
        }
        assert(en?.title !== de?.title, en?.title);
      }
    }
    assert(leftOutText({ kind, count: 3 }, "de").title.includes("3"));
  }
});

Deno.test("the message about a session to end by hand names the NAS and the session", () => {
  const alert: KnownAlert = {
    ...{ id: "1", kind: "disconnect_manually", about: "user:ada", severity: "critical", count: 1 },
    ...{ openedMs: START_MS, lastMs: START_MS, endedMs: null, notifiedMs: START_MS, notifiedCount: 1 },
    values: { user: "ada", client: "vpn-1", nas: "edge-1", session: "5D3A", address: "10.8.0.2" },
  };
  assertEquals(
    alertText(alert, { message: "opened", language: "en", nowMs: START_MS }).details.split("\n").slice(1),
    ["Address: 10.8.0.2", "RADIUS client: vpn-1", "NAS: edge-1", "Session: 5D3A"],
  );
});
