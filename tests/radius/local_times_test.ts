// Conversations of a node whose clock is wrong: this node loads them with the times of its own clock.

import { assertEquals } from "@std/assert";
import { ConversationStore } from "../../radius/conversation/conversation_store.ts";
import type { Conversation } from "../../radius/conversation/conversation.ts";
import { openConversations, tokenOf } from "./conversation_sample.ts";

const OFFSET_MS = 30_000;

/** All times of a conversation that decide something. */
const timesOf = ({ startedMs, deadlineMs, updatedMs, passcode, lastAnswer }: Conversation) => [
  startedMs,
  deadlineMs,
  updatedMs,
  passcode?.expiresMs,
  lastAnswer?.atMs,
];

Deno.test("load() converts the times of conversations that another node wrote", async () => {
  await using at = await openConversations();
  const nowMs = at.clock.nowMs();
  const made = ["own", "other"].map((node) =>
    at.make(node, {
      node,
      passcode: { factor: "sms", digest: "digest", number: "+15005550010", expiresMs: nowMs + 1 },
      lastAnswer: { state: null, identifier: 1, authenticator: "0123456789abcdef", atMs: nowMs + 2 },
    })
  );
  const { store, clock } = at;
  for (const one of made) {
    const writer = new ConversationStore({ store, clock, tokenOf, maxConversations: 100, node: one.node });
    const writing = writer.record(one);
    if (!("journal" in writing)) {
      throw new Error("The first record of a conversation is a line of the journal");
    }
    await store.commit({ mutations: [], journal: writing.journal });
  }
  const later = new ConversationStore({
    ...{ store, clock, tokenOf },
    maxConversations: 100,
    node: "own",
    clockOffsetMs: (node) => node === "other" ? OFFSET_MS : 0,
  });
  await later.load();
  const [own, other] = made.map(({ orderedId }) => later.byId(orderedId) as Conversation);
  const times = timesOf(made[0] as Conversation);
  assertEquals(timesOf(own as Conversation), times);
  assertEquals(timesOf(other as Conversation), times.map((atMs) => (atMs ?? 0) - OFFSET_MS));
});
