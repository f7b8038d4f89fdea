// What survives: a restart, a process that dies between the server's answer and the commit, and a store that fails.

import { assertEquals } from "@std/assert";
import { createStore, type Store } from "../../../platform/store.ts";
import { settle, trackCalls } from "../../support/settle.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { ACCEPTED, createFakeTransport, refusedAs } from "../../fakes/mail_transport.ts";
import { openMailWorld } from "./mail_world.ts";
import { acceptedOf, inQueue } from "./queue_world.ts";

Deno.test("a restart loses nothing: another run sends what waits", () =>
  inQueue(async ({ queue, transport, clock, kv, close }) => {
    transport.answer = () => refusedAs("unreachable");
    for (let at = 0; at < 5; at++) await queue({ to: `user${at}@example.org`, about: `user:user${at}` });
    await settle();
    await close();
    const next = createFakeTransport();
    const world = await openMailWorld({ kv, clock, mail: {}, openTransport: () => next });
    for (let at = 0; at < 20; at++) {
      clock.advance(1000);
      await settle();
    }
    assertEquals(acceptedOf(next).toSorted(), [0, 1, 2, 3, 4].map((at) => `user${at}@example.org`));
    await world.close();
  }));

Deno.test("a process that dies between the server's answer and the commit: the mail is sent again with its Message-ID", async () => {
  const kv = trackCalls(await Deno.openKv(":memory:"));
  const clock = createManualClock();
  const sound = createStore(kv, { nowMs: clock.nowMs });
  let isDead = false;
  const store: Store = {
    ...sound,
    commit: (transaction) => isDead ? new Promise(() => undefined) : sound.commit(transaction),
  };
  const first = createFakeTransport();
  const dying = await openMailWorld({ kv, clock, store, mail: {}, openTransport: () => first });
  first.answer = () => {
    isDead = true;
    return ACCEPTED;
  };
  await dying.queue();
  await settle();
  const second = createFakeTransport();
  const world = await openMailWorld({ kv, clock, mail: {}, openTransport: () => second });
  await settle();
  assertEquals(
    first.accepted.map(({ messageId }) => messageId),
    second.accepted.map(({ messageId }) => messageId),
  );
  assertEquals(second.accepted.length, 1);
  await world.close();
  const closing = dying.close();
  clock.advance(10_000);
  await closing;
  kv.close();
});

Deno.test("a store that fails after a mail was sent: the write is repeated, and the mail is not sent twice", async () => {
  const kv = trackCalls(await Deno.openKv(":memory:"));
  const clock = createManualClock();
  const sound = createStore(kv, { nowMs: clock.nowMs });
  let isBroken = false;
  const store: Store = {
    ...sound,
    commit: (transaction) => isBroken ? Promise.reject(new Error("disk is full")) : sound.commit(transaction),
  };
  const transport = createFakeTransport();
  const world = await openMailWorld({ kv, clock, store, mail: {}, openTransport: () => transport });
  transport.answer = () => {
    isBroken = true;
    return ACCEPTED;
  };
  await world.queue();
  for (let at = 0; at < 12; at++) {
    await settle();
    clock.advance(5000);
  }
  isBroken = false;
  clock.advance(5000);
  await settle();
  assertEquals([transport.tried.length, await world.entries(["mail"])], [1, []]);
  await world.close();
  kv.close();
});
