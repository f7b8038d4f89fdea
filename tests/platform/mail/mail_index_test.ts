// The next mail of the queue: the same as by sorting all mails, whatever happened before; and a start that is refused.

import { assertEquals } from "@std/assert";
import { type MailHead, MailIndex, type MailName } from "../../../platform/mail/mail_records.ts";
import { NO_LEASE } from "../../../platform/cluster/lease.ts";
import { createFakeTransport } from "../../fakes/mail_transport.ts";
import { createManualClock, eventually } from "../../upstream/manual_clock.ts";
import { openMailWorld } from "./mail_world.ts";

const head = (values: Partial<MailHead>): MailHead =>
  ({ template: "invitation", queuedMs: 0, nextMs: 0, untilMs: 1e9, ...values }) as MailHead;

/** A small generator with a seed, so that a failure can be repeated. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

Deno.test("MailIndex.next() is the first of all mails that are due and not busy, after any changes", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = randomOf(seed);
    const index = new MailIndex();
    const known = new Map<string, { head: MailHead; failures: number }>();
    let nowMs = 0;
    for (let step = 0; step < 300; step++) {
      const about = `user:${random(20)}`;
      const name: MailName = { about, id: "1" };
      const text = JSON.stringify(name);
      const before = known.get(text);
      switch (random(5)) {
        case 0:
        case 1: {
          const added = head({ queuedMs: random(1000) * 100 + step, nextMs: nowMs + random(3) * 50 });
          index.add(name, added);
          known.set(text, { head: added, failures: before?.failures ?? 0 });
          break;
        }
        case 2:
          index.postpone(name);
          if (before !== undefined) known.set(text, { ...before, failures: before.failures + 1 });
          break;
        case 3:
          index.remove(name);
          known.delete(text);
          break;
        default:
          nowMs += random(60);
      }
      const busy = `user:${random(20)}`;
      const due = [...known].filter(([key, { head }]) =>
        head.nextMs <= nowMs && JSON.parse(key).about !== busy
      );
      const first = due.toSorted(([, a], [, b]) =>
        a.failures - b.failures || a.head.queuedMs - b.head.queuedMs
      )[0];
      const next = index.next(nowMs, (one) => one.about === busy);
      assertEquals(next?.head.queuedMs, first?.[1].head.queuedMs, `seed ${seed}, step ${step}`);
      const later = [...known.values()].map(({ head }) => head.nextMs).filter((atMs) => atMs > nowMs);
      assertEquals(index.nextDueMs, Math.min(Infinity, ...later), `seed ${seed}, step ${step}`);
    }
  }
});

Deno.test("a mail whose start is refused, because another node wants the lease, is started soon again", async () => {
  const clock = createManualClock();
  const kv = await Deno.openKv(":memory:");
  const transport = createFakeTransport();
  let refusals = 0;
  const world = await openMailWorld({
    ...{ kv, clock, mail: {}, openTransport: () => transport },
    cluster: {
      openLease: () => ({
        ...NO_LEASE,
        claim: () => Promise.resolve(true),
        runIfHeld: (task) => refusals++ === 0 ? null : task(),
      }),
    },
  });
  await world.queue();
  await eventually("the start is refused", () => refusals > 0);
  for (let seconds = 0; seconds < 30 && transport.accepted.length === 0; seconds++) {
    clock.advance(1000);
    await new Promise((resolve) => setTimeout(resolve));
  }
  await eventually("the mail is sent", () => transport.accepted.length === 1);
  await world.close();
  await world.store.close();
});
