// Answers that are received again, and logins that wait for the directory.

import { assertEquals } from "@std/assert";
import {
  ConversationFinder,
  type ConversationFinderDeps,
} from "../../radius/conversation/find_conversation.ts";
import { NO_PEERS } from "../../radius/ports.ts";
import type { Request } from "../../radius/server/request.ts";
import { createManualClock } from "../upstream/manual_clock.ts";
import { conversation, tokenOf } from "./conversation_sample.ts";
import { createLog } from "../../platform/log.ts";
import { DirectoryWaitQueue } from "../../radius/conversation/waiting_packets.ts";

// An answer that is handled again after another node finished its login, while the client's next login is at the same step.

const STEP = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const TUPLE = "station of ada";

/** A finder whose only conversation is `world.current`. */
function createWorld(hasToken: boolean) {
  const clock = createManualClock(1_800_000_000_000);
  const login = (orderedId: string) => conversation(orderedId, { clock, tuple: TUPLE, at: STEP, hasToken });
  const world = { current: login("first") };
  const current = () => world.current;
  const parts = {
    conversations: { bareOn: current, byToken: current },
    ...{ clock, tokenOf: () => tokenOf("", STEP), peers: NO_PEERS },
    logins: { state: "auto", conversationTtlMs: 300_000, loginJoinWindowMs: 30_000 },
    works: { find: () => undefined },
  };
  const finder = new ConversationFinder(parts as unknown as ConversationFinderDeps);
  const answer = {
    tuple: { key: TUPLE, distinct: true, place: "" },
    octets: new Uint8Array(),
    typed: { digest: "", peerDigests: [] },
    state: hasToken ? `${STEP}.${tokenOf("", STEP)}` : STEP,
    checkedBefore: null,
  };
  const request = {
    signed: true,
    user: world.current.user,
    client: { name: world.current.client },
    source: "192.0.2.1",
    receivedMs: clock.nowMs(),
    octets: new Uint8Array(20),
  } as Request;
  /** What follows from an answer. @param firstFound the conversation that was found before its race was lost */
  const find = (firstFound: string | null) => {
    const action = finder.resolveAnswer(request, { ...answer, firstFound });
    return action.kind === "run" ? `run ${action.conversation.orderedId}` : action.kind;
  };
  return { find, world, login };
}

for (const hasToken of [false, true]) {
  Deno.test(`an answer that is received again does not answer a later login (token in State: ${hasToken})`, () => {
    const { find, world, login } = createWorld(hasToken);
    const first = find(null);
    // Its commit raced. Meanwhile another node accepted it, and the client began its next login.
    world.current = login("second");
    assertEquals([first, find("first"), find(null)], ["run first", "gone", "run second"]);
  });
}

Deno.test("an answer that is received again for the same login runs again", () => {
  const { find, world, login } = createWorld(false);
  world.current = login("first");
  assertEquals(find("first"), "run first");
});

// The queue of packets that wait for the directory: order, users who are evicted again, and packets that fail.

/** A directory that loads users on demand; `go` lists the packets that continued. */
function stage() {
  const clock = createManualClock();
  const written: string[] = [];
  const log = createLog({
    format: "text",
    level: "error",
    clock,
    write: (octets) => void written.push(new TextDecoder().decode(octets)),
  });
  const inMemory = new Set<string>();
  let arrival = Promise.withResolvers<void>();
  const directory = {
    prepare: (user: string) => inMemory.has(user) ? null : arrival.promise,
    lookUp: (name: string) => ({ status: "unknown" as const, name, phoneNumbers: [], groups: [] }),
  };
  const preparing = new DirectoryWaitQueue({ directory, clock, log });
  const went: string[] = [];
  const come = async (text: string, user = "anna", go = () => void went.push(text)) => {
    const pending = preparing.pendingFor(user);
    if (pending === null) go();
    else {preparing.enqueue({ user, pending }, {
        resume: go,
        fail: (why) => void went.push(`${text} ${why}`),
      });}
    await Promise.resolve();
  };
  /** The users that this arrival loads are in memory when it is reported. */
  const arrive = async (...users: string[]) => {
    for (const user of users) inMemory.add(user);
    const { resolve } = arrival;
    arrival = Promise.withResolvers();
    resolve();
    for (let count = 0; count < 4; count++) await Promise.resolve();
  };
  return { clock, preparing, inMemory, went, written, come, arrive, flush: log.flush };
}

Deno.test("DirectoryWaitQueue continues packets of one name in the order of their arrival", async () => {
  const { come, arrive, went, preparing, inMemory } = stage();
  await come("first");
  inMemory.add("anna");
  // The user is in memory, but the first packet has not continued yet.
  await come("second");
  assertEquals([went, preparing.waiting], [[], 2]);
  await arrive("anna");
  await come("third");
  assertEquals([went, preparing.waiting], [["first", "second", "third"], 0]);
});

Deno.test("DirectoryWaitQueue waits again for a user who was evicted again", async () => {
  const { come, arrive, went, preparing } = stage();
  await come("first");
  await arrive();
  assertEquals([went, preparing.waiting], [[], 1]);
  await arrive("anna");
  assertEquals([went, preparing.waiting], [["first"], 0]);
});

Deno.test("DirectoryWaitQueue gives up after five seconds in total, however often it waited again", async () => {
  const { clock, come, arrive, went, preparing } = stage();
  await come("first");
  clock.advance(3000);
  await arrive();
  await come("second");
  clock.advance(2000);
  assertEquals([went, preparing.waiting], [["first store_failed", "second store_failed"], 0]);
  await arrive("anna");
  assertEquals(went.length, 2);
});

Deno.test("DirectoryWaitQueue never makes one name wait for another", async () => {
  const { come, went, inMemory } = stage();
  inMemory.add("bert");
  await come("anna's");
  await come("bert's", "bert");
  assertEquals(went, ["bert's"]);
});

Deno.test("DirectoryWaitQueue continues after a packet that fails", async () => {
  const { come, arrive, went, written, preparing, flush } = stage();
  await come("first", "anna", () => {
    throw new Error("a bug");
  });
  await come("second");
  await arrive("anna");
  await flush();
  assertEquals([went, preparing.waiting, written.length], [["second"], 0, 1]);
});
