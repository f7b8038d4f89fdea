// An answer that is handled again after another node finished its login, while the client's next login is at the same step.

import { assertEquals } from "@std/assert";
import { AnswerHandler, type AnswerHandlerDeps } from "../../radius/conversation/answer_handler.ts";
import type { Conversation } from "../../radius/conversation/conversation.ts";
import { NO_PEERS } from "../../radius/conversation/peers.ts";
import type { Request } from "../../radius/server/request.ts";
import { createManualClock } from "../upstream/manual_clock.ts";
import { conversation, tokenOf } from "./conversation_sample.ts";

const STEP = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const TUPLE = "station of ada";

/** A handler whose only conversation is `world.current`. `did` lists what it does with answers. */
function createWorld(hasToken: boolean) {
  const clock = createManualClock(1_800_000_000_000);
  const login = (orderedId: string) => conversation(orderedId, { clock, tuple: TUPLE, at: STEP, hasToken });
  const world = { current: login("first") };
  const did: string[] = [];
  const find = () => world.current;
  const parts = {
    conversations: { bareOn: find, byToken: find },
    ...{ clock, tokenOf: () => tokenOf("", STEP), peers: NO_PEERS },
    logins: { state: "auto", conversationTtlMs: 300_000, loginJoinWindowMs: 30_000 },
    works: { find: () => undefined },
    runner: { run: (_requests: unknown, { orderedId }: Conversation) => did.push(`run ${orderedId}`) },
    rejections: { gone: () => did.push("gone") },
  };
  const handler = new AnswerHandler(parts as unknown as AnswerHandlerDeps);
  const answer = {
    tuple: { key: TUPLE, distinct: true, place: "" },
    octets: new Uint8Array(),
    typed: { digest: "", peerDigests: [] },
    state: hasToken ? `${STEP}.${tokenOf("", STEP)}` : STEP,
  };
  const request = () =>
    ({
      signed: true,
      user: world.current.user,
      client: { name: world.current.client },
      source: "192.0.2.1",
      receivedMs: clock.nowMs(),
      octets: new Uint8Array(20),
    }) as Request;
  return { handle: (to: Request) => handler.handle(to, answer), request, did, world, login };
}

for (const hasToken of [false, true]) {
  Deno.test(`an answer that is handled again does not answer a later login (token in State: ${hasToken})`, () => {
    const { handle, request, did, world, login } = createWorld(hasToken);
    const late = request();
    handle(late);
    // Its commit raced. Meanwhile another node accepted it, and the client began its next login.
    world.current = login("second");
    handle(late);
    handle(request());
    assertEquals(did, ["run first", "gone", "run second"]);
  });
}

Deno.test("an answer that is handled again for the same login runs again", () => {
  const { handle, request, did, world, login } = createWorld(false);
  const again = request();
  handle(again);
  world.current = login("first");
  handle(again);
  assertEquals(did, ["run first", "run first"]);
});
