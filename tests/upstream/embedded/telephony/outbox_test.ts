// The embedded outbox: accepted and refused messages, their lifetime, and their encryption.

import { assertEquals } from "@std/assert";
import { TelephonyOutbox } from "../../../../upstream/embedded/telephony/outbox.ts";
import { nextTurn } from "../../../support/settle.ts";
import { createManualClock } from "../../manual_clock.ts";
import { openServiceDeps, right } from "../../start_services.ts";

const NUMBER = "+15551234567";

async function openOutbox() {
  const clock = createManualClock();
  const ground = await openServiceDeps(clock);
  const outbox = new TelephonyOutbox(ground);
  await outbox.load();
  return {
    clock,
    ground,
    outbox,
    [Symbol.asyncDispose]: () => ground.store.close(),
  };
}

Deno.test("OutboxMessages lists newest first without bodies, and reveals on demand", async () => {
  await using world = await openOutbox();
  const { messages } = world.outbox;
  const text = right(
    await world.outbox.service.text({ to: NUMBER, body: "Your passcode is 402913.", validitySeconds: 60 }),
  );
  world.clock.advance(1000);
  const call = right(
    await world.outbox.service.call({ to: NUMBER, intro: "For ada & VPN 7.", digits: "0471" }),
  );
  const nowMs = world.clock.nowMs();
  assertEquals(messages.items(), [
    { id: call.id, kind: "call", to: NUMBER, createdMs: nowMs, deadlineMs: nowMs + 300_000 },
    { id: text.id, kind: "text", to: NUMBER, createdMs: nowMs - 1000, deadlineMs: nowMs - 1000 + 60_000 },
  ]);
  assertEquals(await messages.reveal(text.id), "Your passcode is 402913.");
  assertEquals(await messages.reveal(call.id), "0471");
});

Deno.test("OutboxMessages shows nothing after the passcode has expired", async () => {
  await using world = await openOutbox();
  const { messages } = world.outbox;
  const { id } = right(await world.outbox.service.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  world.clock.advance(60_000);
  assertEquals([messages.items(), await messages.reveal(id)], [[], null]);
});

Deno.test("OutboxMessages.reveal() refuses other identifiers", async () => {
  await using world = await openOutbox();
  const { id } = right(await world.outbox.service.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  for (const other of ["", "SM", `CA${id.slice(2)}`, id.slice(2), "__proto__"]) {
    assertEquals(await world.outbox.messages.reveal(other), null);
  }
});

Deno.test("The outbox stores 200 messages; new ones replace the oldest, also when many arrive at once", async () => {
  await using world = await openOutbox();
  const send = (at: number) =>
    world.outbox.service.text({ to: NUMBER, body: `Message ${at}`, validitySeconds: 600 });
  await Promise.all(Array.from({ length: 150 }, (_, at) => send(at)));
  world.clock.advance(1);
  await Promise.all(Array.from({ length: 60 }, (_, at) => send(150 + at)));
  const { messages } = world.outbox;
  assertEquals(messages.items().length, 200);
  const newest = await Promise.all(messages.items().slice(0, 60).map(({ id }) => messages.reveal(id)));
  assertEquals(newest.every((text) => Number(text?.split(" ")[1]) >= 150), true);
});

Deno.test("OutboxMessages.onChange() reports each message, and none after the stop", async () => {
  await using world = await openOutbox();
  let changes = 0;
  const stop = world.outbox.messages.onChange(() => changes++);
  right(await world.outbox.service.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  stop();
  right(await world.outbox.service.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  assertEquals(changes, 1);
});

Deno.test("The outbox survives a restart, and stores no passcode in clear", async () => {
  await using world = await openOutbox();
  const { id } = right(await world.outbox.service.text({ to: NUMBER, body: "402913", validitySeconds: 60 }));
  const again = new TelephonyOutbox(world.ground);
  await again.load();
  assertEquals(await again.messages.reveal(id), "402913");
  let kept = "";
  for await (const { value } of world.ground.store.list<Record<string, unknown>>(["embedded", "outbox"])) {
    for (const part of Object.values(value ?? {})) {
      kept += part instanceof Uint8Array ? new TextDecoder().decode(part) : String(part);
    }
  }
  assertEquals([kept.includes(NUMBER), kept.includes("402913")], [true, false]);
});

Deno.test("The outbox stores nothing of a text that it refuses, and accepts one of 1,600 characters", async () => {
  await using world = await openOutbox();
  const { service, messages } = world.outbox;
  const send = (to: string, body: string) => service.text({ to, body, validitySeconds: 60 });
  for (const [to, body] of [["+0123", "402913"], [NUMBER, ""], [NUMBER, "x".repeat(1601)]] as const) {
    assertEquals((await send(to, body)).ok, false);
  }
  assertEquals(messages.items(), []);
  assertEquals((await send(NUMBER, "x".repeat(1600))).ok, true);
});

Deno.test("The outbox keeps a text for one second to ten hours", async () => {
  await using world = await openOutbox();
  const { service, messages } = world.outbox;
  for (const validitySeconds of [0, 59.2, 1e9]) {
    right(await service.text({ to: NUMBER, body: "402913", validitySeconds }));
  }
  const lifetimes = messages.items().map(({ createdMs, deadlineMs }) => deadlineMs - createdMs);
  assertEquals(lifetimes.sort((left, right) => left - right), [1000, 60_000, 36_000_000]);
});

Deno.test("TelephonyService.call() of the outbox fails when the store fails, and reports the error inside", async () => {
  const ground = await openServiceDeps();
  const bugs: unknown[] = [];
  const outbox = new TelephonyOutbox({
    ...ground,
    store: { ...ground.store, commit: () => Promise.reject(new Error("disk full")) },
    onBug: (fault) => bugs.push(fault),
  });
  const sent = await outbox.service.call({ to: NUMBER, intro: "Hello.", digits: "0471" });
  assertEquals(sent, { ok: false, fault: { kind: "failed", status: 500, detail: "Internal server error" } });
  assertEquals(bugs.length, 1);
  await ground.store.close();
});

Deno.test("The outbox closes after the text that it is storing", async () => {
  const ground = await openServiceDeps();
  const released = Promise.withResolvers<void>();
  const commit: typeof ground.store.commit = async (transaction) => {
    await released.promise;
    return await ground.store.commit(transaction);
  };
  const outbox = new TelephonyOutbox({ ...ground, store: { ...ground.store, commit } });
  const events: string[] = [];
  const sent = outbox.service.text({ to: NUMBER, body: "402913", validitySeconds: 60 })
    .then(({ ok }) => events.push(ok ? "stored" : "failed"));
  const closed = outbox.close().then(() => events.push("closed"));
  await nextTurn();
  assertEquals(events, []);
  released.resolve();
  await Promise.all([sent, closed]);
  assertEquals(events, ["stored", "closed"]);
  await ground.store.close();
});
