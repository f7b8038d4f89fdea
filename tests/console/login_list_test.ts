// LoginList: its limits, its filters, and no reordering while the pointer is over it.

import { assert, assertEquals } from "@std/assert";
import { signal } from "@preact/signals";
import {
  LINGER_MS,
  type LoginFilter,
  LoginList,
  MAX_LOGINS,
} from "../../console/web/pages/live/login_list.ts";
import type { LiveMessage, LiveSnapshot } from "../../console/api/api_types.ts";
import type { ConversationView } from "../../radius/ports.ts";
import { conversation, ended } from "../fakes/console_gateway.ts";

const EVERYTHING: LoginFilter = { text: "", state: "", client: "", target: "" };

function setUp(filterValues: Partial<LoginFilter> = {}) {
  const filter = signal<LoginFilter>({ ...EVERYTHING, ...filterValues });
  const board = new LoginList(filter);
  const bring = (...conversations: ConversationView[]) => {
    board.take({ upTo: "e.1", nowMs: 0, conversations, steps: {}, drops: {} } satisfies LiveMessage);
    board.show();
  };
  const users = () => board.rows.value.map(({ user }) => user);
  return { filter, board, bring, users };
}

function snapshot(...conversations: ConversationView[]): LiveSnapshot {
  return {
    at: "e.0",
    nowMs: 0,
    conversations,
    steps: {},
    counters: {},
    newestStray: 0,
    approvals: null,
    outbox: null,
    nodes: {},
  };
}

Deno.test("LoginList counts the outcomes of its logins", () => {
  const { board, bring } = setUp();
  const first = ended(conversation(3), { outcome: "accepted", row: "approved", atMs: 9 });
  board.reset(snapshot(first, conversation(5)));
  assertEquals(board.outcomes.value, { accepted: 1 });
  bring(conversation(2));
  assertEquals(board.outcomes.value, { accepted: 1 });
});

Deno.test("LoginList shows the newest login first, in whatever order logins arrive", () => {
  const { board, bring, users } = setUp();
  board.reset(snapshot(conversation(2, { user: "b" }), conversation(5, { user: "e" })));
  bring(conversation(3, { user: "c" }), conversation(9, { user: "z" }), conversation(1, { user: "a" }));
  assertEquals(users(), ["z", "e", "c", "b", "a"]);
});

Deno.test("LoginList changes a row in place", () => {
  const { bring, board } = setUp();
  bring(conversation(1), conversation(2), conversation(3));
  bring(ended(conversation(2), { outcome: "accepted", row: "approved", atMs: 5 }));
  assertEquals(board.rows.value.map(({ outcome }) => outcome), [null, "accepted", null]);
  assertEquals(board.total.value, 3);
});

Deno.test("LoginList does not move rows under the pointer, and counts newer logins", () => {
  const { bring, board, users } = setUp();
  bring(conversation(1, { user: "a" }), conversation(2, { user: "b" }));
  board.hold(true);
  bring(conversation(3, { user: "c" }), conversation(4, { user: "d" }), conversation(1, { user: "a2" }));
  assertEquals([users(), board.newer.value], [["b", "a2"], 2]);
  board.showNewer();
  assertEquals([users(), board.newer.value], [["d", "c", "b", "a2"], 0]);
  bring(conversation(5, { user: "e" }));
  assertEquals(board.newer.value, 1);
  board.hold(false);
  assertEquals([users(), board.newer.value], [["e", "d", "c", "b", "a2"], 0]);
});

Deno.test("LoginList counts only newer logins that match the filter", () => {
  const { bring, board } = setUp({ client: "vpn-2" });
  bring(conversation(1, { client: "vpn-2" }));
  board.hold(true);
  bring(conversation(2), conversation(3, { client: "vpn-2" }), conversation(4));
  assertEquals(board.newer.value, 1);
});

Deno.test("LoginList does not change while it is paused, keeps collecting, and shows everything when it continues", () => {
  const { bring, board, users } = setUp();
  bring(conversation(1, { user: "a" }));
  // The page has drawn the list. A list is computed on its first read.
  assertEquals(users(), ["a"]);
  board.pause(true);
  bring(conversation(1, { user: "changed" }), conversation(2, { user: "b" }));
  assertEquals(users(), ["a"]);
  board.pause(false);
  assertEquals(users(), ["b", "changed"]);
});

Deno.test("LoginList keeps the newest 5,000", () => {
  const { board, bring } = setUp();
  bring(...Array.from({ length: MAX_LOGINS + 100 }, (_, at) => conversation(at)));
  assertEquals(board.total.value, MAX_LOGINS);
  assertEquals(board.rows.value.length, MAX_LOGINS);
  assertEquals(board.conversation(conversation(0).id), null);
  assert(board.conversation(conversation(MAX_LOGINS + 99).id) !== null);
});

const FILTERS: readonly (readonly [filter: Partial<LoginFilter>, users: string[]])[] = [
  [{}, ["dan", "cyd", "Bob", "ada"]],
  [{ text: "b" }, ["Bob"]],
  [{ text: "BOB vpn" }, ["Bob"]],
  [{ text: "198.51" }, ["dan", "cyd", "Bob", "ada"]],
  [{ text: "  " }, ["dan", "cyd", "Bob", "ada"]],
  [{ text: "nobody" }, []],
  [{ client: "wifi" }, ["cyd"]],
  [{ target: "guests" }, ["Bob"]],
  [{ target: "nowhere" }, []],
  [{ state: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL" }, ["Bob", "ada"]],
  [{ state: "AWAIT_SMS_DELIVERED_PASSCODE" }, ["cyd"]],
  [{ state: "accepted" }, ["dan"]],
  [{ state: "live" }, ["cyd", "Bob", "ada"]],
  [{ state: "waiting" }, ["cyd", "Bob", "ada"]],
  [{ state: "factor" }, []],
  [{ state: "waiting", client: "wifi" }, ["cyd"]],
  [{ state: "nonsense" }, []],
  [{ state: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL", text: "ada" }, ["ada"]],
];
for (const [filter, expected] of FILTERS) {
  Deno.test(`LoginList filtered by ${JSON.stringify(filter)} shows ${expected.length}`, () => {
    const { bring, users } = setUp(filter);
    bring(
      conversation(1, { user: "ada" }),
      conversation(2, { user: "Bob", target: "guests" }),
      conversation(3, { user: "cyd", client: "wifi", step: "AWAIT_SMS_DELIVERED_PASSCODE" }),
      ended(conversation(4, { user: "dan" }), { outcome: "accepted", row: "approved", atMs: 1 }),
    );
    assertEquals(users(), expected);
  });
}

Deno.test("LoginList accepts 1,000 changes at once when it is full", () => {
  const { bring, users } = setUp({ text: "user-1" });
  bring(...Array.from({ length: MAX_LOGINS }, (_, at) => conversation(at, { user: `user-${at}` })));
  bring(...Array.from({ length: 1000 }, (_, at) => conversation(MAX_LOGINS + at, { user: `user-${at}` })));
  const shown = users();
  assertEquals([new Set(shown).size, shown.every((user) => user.includes("user-1"))], [shown.length, true]);
  assert(shown.length > 0);
});

const PHONE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
for (const state of [PHONE, "waiting", "live"]) {
  Deno.test(`LoginList filtered by ${state} shows a login that ended for five more seconds`, () => {
    const { bring, board, users } = setUp({ state });
    bring(conversation(1, { user: "ada" }), conversation(2, { user: "bob" }));
    bring(ended(conversation(1, { user: "ada" }), { outcome: "accepted", row: "approved", atMs: 1 }));
    board.show(1_000_000);
    assertEquals(users(), ["bob", "ada"]);
    board.show(1_000_000 + LINGER_MS - 1);
    assertEquals(users(), ["bob", "ada"]);
    board.show(1_000_000 + LINGER_MS);
    assertEquals(users(), ["bob"]);
  });
}

Deno.test("LoginList keeps a login that left the filtered step while it goes through others", () => {
  const { bring, board, users } = setUp({ state: "CHOOSE_WHICH_MULTIFACTOR" });
  bring(conversation(1, { step: "CHOOSE_WHICH_MULTIFACTOR" }));
  bring(conversation(1));
  bring(ended(conversation(1), { outcome: "rejected", row: "not_approved", atMs: 1 }));
  board.show(0);
  assertEquals(users(), ["ada"]);
  board.show(LINGER_MS);
  assertEquals(users(), []);
});

Deno.test("LoginList does not add a login to a filter that it never matched", () => {
  const { bring, board, users } = setUp({ state: "AWAIT_SMS_DELIVERED_PASSCODE" });
  bring(conversation(1));
  bring(ended(conversation(1), { outcome: "accepted", row: "approved", atMs: 1 }));
  board.show(0);
  assertEquals(users(), []);
});

Deno.test("LoginList removes nothing while it is paused", () => {
  const { bring, board, users } = setUp({ state: PHONE });
  bring(conversation(1));
  bring(ended(conversation(1), { outcome: "accepted", row: "approved", atMs: 1 }));
  board.show(0);
  board.pause(true);
  board.show(LINGER_MS);
  assertEquals(users(), ["ada"]);
  board.pause(false);
  board.show(LINGER_MS);
  assertEquals(users(), []);
});
