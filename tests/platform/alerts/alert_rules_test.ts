// The rules of alerts as rows: what happens at which minute, and which messages follow.

import { assert, assertEquals } from "@std/assert";
import { ALERT_KIND_NAMES, type AlertKind, alertKindRow } from "../../../platform/alerts/alert_kinds.ts";
import { budgetNameOf, isOver, readBudgets, takeMessage } from "../../../platform/alerts/alert_messages.ts";
import type { KnownAlert } from "../../../platform/alerts/alert_record.ts";
import {
  ALERT_MESSAGES,
  type AlertBook,
  alertEventOf,
  AlertRules,
  averageOf,
  countRejection,
  countsAt,
  EMPTY_BOOK,
  emptyCounts,
  inTenMinutes,
  limitPeriod,
  type ObservedState,
  readCounts,
  type RejectionCounts,
  rejectionMs,
  spikeThreshold,
} from "../../../platform/alerts/alert_rules.ts";
import { alertText, chatText, leftOutText, safeName } from "../../../platform/alerts/alert_texts.ts";

const START_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** What is seen at a minute: the names of locked users, or a state. */
type Step = readonly [
  minute: number,
  seen: readonly string[] | "bad" | "ok" | "unknown" | "gone" | "critical",
  messages: readonly string[],
];

/** Each step of states is one poll; the polls between repeat it every minute. */
const SEQUENCES: readonly (readonly [what: string, kind: AlertKind, steps: readonly Step[]])[] = [
  ["one lockout", "user_locked", [[0, ["ada"], ["opened ada 1"]], [60, [], []]]],
  ["names that differ in case are one user", "user_locked", [[0, ["ada", "ADA"], ["opened ADA 2"]]]],
  ["the cooldown", "user_locked", [
    [0, ["ada"], ["opened ada 1"]],
    [14, ["ada"], []],
    [15, ["ada"], ["again ada 3"]],
    [29, ["ada"], []],
  ]],
  ["a pause of an hour begins a new alert", "user_locked", [
    [0, ["ada"], ["opened ada 1"]],
    [61, ["ada"], ["opened ada 1"]],
  ]],
  ["the sixth user begins a flood", "user_locked", [
    [0, ["a", "b", "c", "d", "e"], ["opened a 1", "opened b 1", "opened c 1", "opened d 1", "opened e 1"]],
    [1, ["f", "g"], ["opened f,g 2"]],
    [2, ["h"], []],
    [3, ["a"], []],
    // The flood says what it counted, although nothing more happens.
    [16, [], ["again h 3"]],
    [40, [], []],
  ]],
  ["another hour begins with single alerts", "user_locked", [
    [0, ["a", "b", "c", "d", "e", "f"], [
      ...["opened a 1", "opened b 1", "opened c 1", "opened d 1", "opened e 1", "opened f 1"],
    ]],
    [61, ["g"], ["opened g 1"]],
  ]],
  ["a short failure is no alert", "backend_failing", [[0, "bad", []], [4, "ok", []], [20, "ok", []]]],
  ["a failure of five minutes", "backend_failing", [
    [0, "bad", []],
    [5, "bad", ["opened ldap 1"]],
    [60, "bad", []],
    [61, "ok", []],
    [65, "ok", []],
    [66, "ok", ["ended ldap 1"]],
  ]],
  ["a reminder a day", "backend_failing", [
    [0, "bad", []],
    [5, "bad", ["opened ldap 1"]],
    [5 + 1440, "bad", ["reminder ldap 1"]],
    [5 + 2880, "bad", ["reminder ldap 1"]],
  ]],
  ["an unknown state changes nothing", "backend_failing", [
    [0, "bad", []],
    [5, "bad", ["opened ldap 1"]],
    [100, "unknown", []],
    [101, "bad", []],
  ]],
  ["a part that was removed", "backend_failing", [
    [0, "bad", []],
    [5, "bad", ["opened ldap 1"]],
    [6, "gone", []],
    [11, "gone", ["ended ldap 1"]],
  ]],
  ["a node that is not seen any more is still down, until a day later", "node_down", [
    [0, "bad", []],
    [1, "bad", ["opened ldap 1"]],
    [2, "gone", []],
    [600, "gone", []],
    [1442, "gone", ["ended ldap 1"]],
  ]],
  ["a certificate that becomes critical", "certificate_expiring", [
    [0, "bad", ["opened ldap 1"]],
    [10, "critical", ["opened ldap 1"]],
    [20, "critical", []],
    [30, "bad", []],
  ]],
];

function stateOf(kind: AlertKind, seen: Exclude<Step[1], readonly string[]>): ObservedState[] {
  if (seen === "gone") return [];
  const severity = seen === "critical" ? "critical" : alertKindRow(kind).severity;
  const state = seen === "critical" ? "bad" : seen;
  return [{ kind, about: "ldap", severity, state, values: { name: "ldap" } }];
}

/** A book that a test moves through time. */
class Scene {
  #book: AlertBook = EMPTY_BOOK;
  #ids = 0;

  run(nowMs: number, act: (rules: AlertRules) => void): string[] {
    const nextId = () => String(this.#ids++).padStart(5, "0");
    const rules = new AlertRules(this.#book, { nowMs, failingMs: 5 * MINUTE_MS, nextId });
    act(rules);
    rules.sweep();
    this.#book = rules.book;
    return rules.changes.flatMap(({ alert, message }) =>
      message === null ? [] : [`${message} ${nameOf(alert)} ${alert.count}`]
    );
  }

  get book(): AlertBook {
    return this.#book;
  }
}

const nameOf = ({ values, about }: KnownAlert) => values.users?.join(",") ?? values.user ?? about;
const locked = (user: string) => ({ kind: "user_locked", about: `user:${user}`, values: { user } }) as const;

for (const [what, kind, steps] of SEQUENCES) {
  Deno.test(`AlertRules: ${what}`, () => {
    const scene = new Scene();
    let last: ObservedState[] = [];
    let atMs = START_MS;
    for (const [minute, seen, messages] of steps) {
      const stepMs = START_MS + minute * MINUTE_MS;
      if (typeof seen === "string") {
        for (; atMs < stepMs - MINUTE_MS; atMs += MINUTE_MS) {
          assertEquals(scene.run(atMs + MINUTE_MS, (rules) => rules.addStates(last, MINUTE_MS)), []);
        }
        last = stateOf(kind, seen);
        const elapsedMs = stepMs - atMs;
        assertEquals(
          scene.run(stepMs, (rules) => rules.addStates(last, elapsedMs)),
          messages,
          `minute ${minute}`,
        );
      } else {
        const add = (rules: AlertRules) => seen.forEach((user) => rules.addEvent(locked(user)));
        assertEquals(scene.run(stepMs, add), messages, `minute ${minute}`);
      }
      atMs = stepMs;
    }
  });
}

Deno.test("AlertRules: a state that flaps sends few messages, and is open while it is bad most of the time", () => {
  const scene = new Scene();
  const messages: string[] = [];
  for (let minute = 0; minute < 24 * 60; minute++) {
    // Six minutes bad, six minutes good.
    const state = Math.floor(minute / 6) % 2 === 0 ? "bad" : "ok";
    const seen = stateOf("backend_failing", state);
    messages.push(...scene.run(START_MS + minute * MINUTE_MS, (rules) => rules.addStates(seen, MINUTE_MS)));
  }
  assert(messages.length >= 2 && messages.length <= 6, messages.join());
  const mostly = new Scene();
  const sent: string[] = [];
  for (let minute = 0; minute < 60; minute++) {
    const seen = stateOf("backend_failing", minute % 5 === 4 ? "ok" : "bad");
    sent.push(...mostly.run(START_MS + minute * MINUTE_MS, (rules) => rules.addStates(seen, MINUTE_MS)));
  }
  assertEquals(sent, ["opened ldap 1"]);
});

Deno.test("AlertRules: a clock that jumps neither hides an alert nor sends one twice", () => {
  const scene = new Scene();
  const add = (rules: AlertRules) => rules.addEvent(locked("ada"));
  assertEquals(scene.run(START_MS + DAY_MS, add), ["opened ada 1"]);
  // Set back by a day: the cooldown does not last a day.
  assertEquals(scene.run(START_MS, add), ["opened ada 1"]);
  assertEquals(scene.run(START_MS + MINUTE_MS, add), []);
  // A jump forward is no time in which a state was bad: the caller limits it.
  const states = new Scene();
  assertEquals(states.run(START_MS, (rules) => rules.addStates(stateOf("backend_failing", "bad"), 0)), []);
  const later = START_MS + 30 * DAY_MS;
  assertEquals(states.run(later, (rules) => rules.addStates(stateOf("backend_failing", "bad"), 30_000)), []);
});

Deno.test("AlertRules: memory is bounded in a flood of users and of states", () => {
  const scene = new Scene();
  for (let at = 0; at < 20; at++) {
    scene.run(START_MS + at * MINUTE_MS, (rules) => {
      for (let user = 0; user < 500; user++) rules.addEvent(locked(`u${at}-${user}`));
    });
  }
  assertEquals(scene.book.active.size, 6);
  const states = Array.from({ length: 500 }, (_, at): ObservedState => ({
    ...{ kind: "certificate_expiring", about: `c${at}`, severity: "warning", state: "bad", values: {} },
  }));
  scene.run(START_MS + DAY_MS, (rules) => rules.addStates(states, 0));
  assert(scene.book.active.size <= 110, String(scene.book.active.size));
});

/** Records of the audit log, and the alerts that they are. */
const RECORDS: readonly (readonly [object, unknown])[] = [
  [{ action: "user.locked", object: "user:ada", client: "vpn", caller: "198.51.100.7", hard: true }, {
    ...{ kind: "user_locked", about: "user:ada" },
    values: { user: "ada", client: "vpn", address: "198.51.100.7", isHard: true },
  }],
  // The address is that of the login, not that of the user who reports it.
  [{ action: "user.not_me", object: "user:ada", source: "192.0.2.1" }, {
    ...{ kind: "fraud_reported", about: "user:ada", values: { user: "ada" } },
  }],
  [
    {
      ...{ action: "user.not_me", object: "user:ada", source: "192.0.2.1" },
      ...{ client: "vpn", caller: "198.51.100.7" },
    },
    {
      ...{ kind: "fraud_reported", about: "user:ada" },
      values: { user: "ada", client: "vpn", address: "198.51.100.7" },
    },
  ],
  [{
    ...{ action: "vpn_session.disconnect_failed", object: "user:ada", by: "disconnect_not_me" },
    because: "disconnect_no_port",
  }, {
    ...{ kind: "disconnect_manually", about: "user:ada" },
    values: { user: "ada", because: "disconnect_no_port" },
  }],
  [{ action: "vpn_session.disconnect_failed", object: "user:ada", by: "disconnect_operator" }, null],
  [{ action: "user.not_me" }, { kind: "fraud_reported", about: "", values: {} }],
  [{ action: "user.not_me", object: 5, source: {} }, { kind: "fraud_reported", about: "", values: {} }],
  [{ action: "login.rejected", object: "user:ada" }, null],
  [{ action: "alert.opened", object: "alert:user_locked" }, null],
  [{ action: "__proto__" }, null],
  [{ action: ["user.locked"] }, null],
  [{}, null],
];

for (const [record, event] of RECORDS) {
  Deno.test(`alertEventOf() reads ${JSON.stringify(record)}`, () => {
    assertEquals(alertEventOf(record as Record<string, unknown>) as unknown, event);
  });
}

Deno.test("alertEventOf() cuts names, and not within a character", () => {
  const event = alertEventOf({
    action: "user.not_me",
    object: `user:${"x".repeat(255)}😀${"y".repeat(9999)}`,
  });
  assertEquals(event?.values.user, "x".repeat(255));
  assertEquals(rejectionMs({ action: "login.rejected", atMs: Infinity }), null);
});

// The counts of rejected sign-ins, the limits of messages, and the texts of alerts.

const HOUR_MS = 60 * MINUTE_MS;

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
