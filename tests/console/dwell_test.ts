// Steps at which logins wait longer than usual, and the packet attributes that can be copied for a replay.

import { signal } from "@preact/signals";
import { assert, assertEquals } from "@std/assert";
import { LoginList } from "../../console/web/pages/live/login_list.ts";
import { findSlowSteps } from "../../console/web/pages/live/live_counts.ts";
import { radclientText, roundPackets } from "../../console/web/pages/live/packets_view.tsx";
import { conversation, ended } from "../fakes/console_gateway.ts";

const PHONE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
/** Logins that were at the phone step for five seconds each. */
const usual = Array.from(
  { length: 30 },
  (_, at) => ended(conversation(at, { startedMs: 0 }), { outcome: "accepted", row: "approved", atMs: 5040 }),
);

Deno.test("findSlowSteps() returns a step where logins wait longer than is usual", () => {
  const waiting = conversation(100, { startedMs: 0 });
  assertEquals([...findSlowSteps([...usual, waiting], 60_000)], [PHONE]);
  assertEquals([...findSlowSteps([...usual, waiting], 3000)], []);
});

Deno.test("findSlowSteps() returns nothing before it knows the usual times", () => {
  assertEquals([...findSlowSteps([...usual.slice(0, 5), conversation(100, { startedMs: 0 })], 60_000)], []);
});

Deno.test("LoginList accepts a thousand changes a second ten times, and holds 5,000", () => {
  const board = new LoginList(signal({ text: "ada", state: "", client: "", target: "" }));
  for (let second = 0; second < 10; second++) {
    for (let batch = 0; batch < 10; batch++) {
      const conversations = Array.from(
        { length: 100 },
        (_, at) => conversation(second * 1000 + batch * 100 + at),
      );
      board.take({ upTo: "e.1", nowMs: 0, conversations, steps: {}, drops: {} });
      if (batch % 3 === 0) board.show();
      assert(board.rows.value.length <= 5000);
    }
    board.measure(0);
  }
  board.show();
  assertEquals(board.rows.value.length, 5000);
});

Deno.test("LoginList counts the logins that arrive while it is paused", () => {
  const board = new LoginList(signal({ text: "", state: "", client: "", target: "" }));
  board.pause(true);
  board.take({
    upTo: "e.2",
    nowMs: 0,
    conversations: [conversation(1), conversation(2)],
    steps: {},
    drops: {},
  });
  assertEquals(board.heldBack.value, 2);
  board.pause(false);
  assertEquals(board.heldBack.value, 0);
});

Deno.test("radclientText() copies attributes, omits masked values, and lets no value end its line", () => {
  const row = (name: string, value: string, more = {}) => ({
    ...{ type: 1, name, value, kind: "text" as const, at: 0, lengthOctets: 3, masked: false },
    ...more,
  });
  const text = radclientText({
    rows: [
      row("Code", "1 Access-Request", { type: null }),
      row("User-Name", 'a"d\na'),
      row("User-Password", "", { masked: true }),
      row("State", "GET_X.", { masked: true }),
      row("NAS-Port", "7", { kind: "integer" }),
      row("Attribute 66", "0x01", { kind: "octets" }),
    ],
  }, 51812);
  assertEquals(text.split("\n")[0], '# radclient -x <address>:51812 auth "<shared secret>"');
  assertEquals(text.split("\n").slice(1), [
    'User-Name = "a\\"d\\012a"',
    'User-Password = "<password>"',
    "NAS-Port = 7",
    "Message-Authenticator = 0x00",
    "",
  ]);
});

for (
  const [verdicts, rounds] of [
    [["signed", "pushed"], 0],
    [["signed", "relayed_round", "signed", "approved_while_held"], 0],
    [["signed", "relayed_round", "signed", "relayed_round", "signed", "approved_while_held"], 4],
    // A packet that arrived again is no round, but it is between them.
    [["signed", "relayed_round", "signed", "signed", "relayed_round", "signed"], 5],
  ] as const
) {
  Deno.test(`roundPackets() folds ${rounds} of ${verdicts.join(", ")}`, () => {
    assertEquals(roundPackets(verdicts.map((verdict) => ({ verdict }))), rounds);
  });
}
