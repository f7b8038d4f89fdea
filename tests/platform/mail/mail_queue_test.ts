// The queue: what is stored, which mail is next, when a mail is sent again, its limits, removals, and what survives a crash.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { NO_LEASE } from "../../../platform/cluster/lease.ts";
import type { MailSettings } from "../../../platform/config/config.ts";
import { MailRefusal, type NewMail } from "../../../platform/mail/mail.ts";
import { type MailHead, MailIndex, type MailName } from "../../../platform/mail/mail_records.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import { ACCEPTED, createFakeTransport, refusedAs } from "../../fakes/mail_transport.ts";
import { settle, trackCalls } from "../../support/settle.ts";
import { createManualClock, eventually } from "../../upstream/manual_clock.ts";
import { acceptedOf, inQueue, INVITATION, MINUTE_MS, openMailWorld } from "./mail_world.ts";

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

Deno.test("a mail is stored in the commit of its reason, and not without it", () =>
  inQueue(async ({ service, store, transport, entries, pass }) => {
    const { mutations } = service.prepare(INVITATION);
    service.wake();
    await pass(2 * MINUTE_MS);
    assertEquals([transport.tried.length, (await entries(["mail"])).length], [0, 0]);
    await store.commit({ mutations: [...mutations, { type: "set", key: ["reason"], value: true }] });
    await pass(15 * MINUTE_MS);
    assertEquals([acceptedOf(transport), await entries([])], [["ada@example.org"], [
      ...(await entries(["audit"])),
      ...(await entries(["audit_by"])),
      ["mail_status"],
      ["reason"],
    ]]);
  }));

Deno.test("the content of a mail is sealed: neither the address nor the link is in the store", () =>
  inQueue(async ({ queue, transport, store }) => {
    transport.answer = () => refusedAs("recipient_later", "450 4.2.0 Try again");
    await queue();
    await settle();
    const stored = await Array.fromAsync(store.list([]));
    const text = stored.map(({ key, value }) => Deno.inspect([key, value], { depth: 9, iterableLimit: 1e6 }))
      .join();
    assertEquals(["ada@example.org", "secret-token"].filter((one) => text.includes(one)), []);
    const octets = stored.flatMap(({ value }) => value instanceof Uint8Array ? [...value] : []);
    assert(!new TextDecoder().decode(Uint8Array.from(octets)).includes("secret-token"));
  }));

interface RefusalRow {
  readonly mail?: Partial<NewMail>;
  readonly settings?: Partial<MailSettings>;
  readonly reason: MailRefusal["reason"];
}

const REFUSALS: Readonly<Record<string, RefusalRow>> = {
  "no server": { settings: { host: "" }, reason: "mail_off" },
  "no sender": { settings: { from: null }, reason: "mail_off" },
  "a header in the address": {
    mail: { to: "ada@example.org\r\nBcc: eve@example.org" },
    reason: "bad_mail_address",
  },
  "two addresses": { mail: { to: "ada@example.org,eve@example.org" }, reason: "bad_mail_address" },
  "no link": { mail: { values: { userName: "ada" } }, reason: "bad_mail_values" },
  "values that are too long": {
    mail: { values: { link: "https://example.com/", helpText: "x".repeat(8001) } },
    reason: "bad_mail_values",
  },
};

for (const [what, { mail = {}, settings = {}, reason }] of Object.entries(REFUSALS)) {
  Deno.test(`prepare() refuses a mail with ${what}: ${reason}`, () =>
    inQueue(({ service }) => {
      const refusal = assertThrows(() => service.prepare({ ...INVITATION, ...mail }), MailRefusal);
      assertEquals(refusal.reason, reason);
      return Promise.resolve();
    }, { mail: settings }));
}

Deno.test("a mail that waits is replaced by one about the same object with the same key", () =>
  inQueue(async ({ queue, transport, entries, pass }) => {
    transport.answer = () => refusedAs("recipient_later");
    await queue({ key: "invitation", values: { link: "https://example.com/link-1" } });
    await queue({ key: "invitation", about: "user:grace", to: "grace@example.org" });
    await settle();
    await queue({ key: "invitation", values: { link: "https://example.com/link-2" } });
    transport.answer = () => ACCEPTED;
    await pass(5 * MINUTE_MS);
    const texts = transport.accepted.map(({ to, text }) => [to, text.includes("link-2")]);
    assertEquals(texts.toSorted(), [["ada@example.org", true], ["grace@example.org", false]]);
    assertEquals(await entries(["mail"]), []);
  }));

Deno.test("a mail that is replaced while it is sent: the new one is sent too", () =>
  inQueue(async ({ queue, transport, entries }) => {
    const answer = Promise.withResolvers<typeof ACCEPTED>();
    transport.answer = () => answer.promise;
    await queue({ key: "invitation", values: { link: "https://example.com/link-1" } });
    await settle();
    await queue({ key: "invitation", values: { link: "https://example.com/link-2" } });
    transport.answer = () => ACCEPTED;
    answer.resolve(ACCEPTED);
    await settle();
    assertEquals(transport.accepted.map(({ text }) => /link-\d/.exec(text)?.[0]), ["link-1", "link-2"]);
    assertEquals(await entries(["mail"]), []);
  }));

Deno.test("greylisting: the same message is tried after 1, 2 and 5 minutes, with the same Message-ID", () =>
  inQueue(async ({ queue, transport, clock, pass }) => {
    const startMs = clock.nowMs();
    const at: number[] = [];
    transport.answer = () => {
      at.push((clock.nowMs() - startMs) / MINUTE_MS);
      return at.length < 4 ? refusedAs("recipient_later", "450 4.2.0 Greylisted") : ACCEPTED;
    };
    await queue();
    await settle();
    await pass(20 * MINUTE_MS, { stepMs: 10_000 });
    assertEquals(at, [0, 1, 3, 8]);
    assertEquals(new Set(transport.tried.map(({ messageId }) => messageId)).size, 1);
  }));

Deno.test("a mail that no server accepts for 7 days fails and is listed, with its last problem", () =>
  inQueue(async ({ service, queue, transport, pass, audits }) => {
    transport.answer = () => refusedAs("recipient_later", "450 4.2.0 Mailbox busy");
    await queue();
    await settle();
    await pass(7 * DAY_MS + HOUR_MS, { stepMs: 30 * MINUTE_MS });
    assertEquals([service.status().waiting, service.status().failed], [0, 1]);
    const [row] = await service.admin.list("failed", { after: null, limit: 10 });
    assertEquals([row?.problem?.code, row?.problem?.detail, row?.canSend], [
      ...["gave_up", "450 4.2.0 Mailbox busy"],
      true,
    ]);
    assertEquals((await audits()).map(({ action, problem }) => [action, problem]), [[
      "mail.failed",
      "gave_up",
    ]]);
    transport.answer = () => ACCEPTED;
    const by = { actor: "owner", source: "192.0.2.1" };
    assertEquals(await service.admin.sendAgain([row ?? { about: "", id: "" }], by), 1);
    await settle();
    assertEquals(acceptedOf(transport), ["ada@example.org"]);
  }));

Deno.test("a mail is not sent after its own end, and cannot be sent again", () =>
  inQueue(async ({ service, queue, transport, clock, pass }) => {
    transport.answer = () => refusedAs("unreachable");
    await queue({ expiresMs: clock.nowMs() + HOUR_MS });
    await settle();
    await pass(HOUR_MS - MINUTE_MS);
    transport.answer = () => ACCEPTED;
    clock.advance(2 * MINUTE_MS);
    await settle();
    await pass(10 * MINUTE_MS);
    assertEquals(acceptedOf(transport), []);
    const [row] = await service.admin.list("failed", { after: null, limit: 10 });
    assertEquals([row?.problem?.code, row?.canSend], ["expired", false]);
    const by = { actor: "owner", source: "192.0.2.1" };
    assertEquals(await service.admin.sendAgain([row ?? { about: "", id: "" }], by), 0);
  }));

Deno.test("a server that is down: one attempt at a time, with pauses up to 5 minutes, and nothing is lost", () =>
  inQueue(async ({ service, queue, transport, pass }) => {
    transport.answer = () => refusedAs("unreachable", "connect ECONNREFUSED");
    for (let at = 0; at < 40; at++) await queue({ to: `user${at}@example.org`, about: `user:user${at}` });
    await settle();
    await pass(HOUR_MS);
    // The first three were sent together. Then 5, 10, 20, 40, 80, 160 seconds and 5 minutes.
    assert(transport.tried.length > 10 && transport.tried.length < 25, `${transport.tried.length} attempts`);
    assertEquals(service.status().lastProblem?.code, "unreachable");
    assertEquals(service.status().waiting, 40);
    transport.answer = () => ACCEPTED;
    await pass(10 * MINUTE_MS, { stepMs: 1000 });
    assertEquals(new Set(acceptedOf(transport)).size, 40);
    assertEquals([service.status().waiting, service.status().lastProblem], [0, null]);
  }));

Deno.test("a mail that the server cannot take does not stop the others", () =>
  inQueue(async ({ service, queue, transport, pass }) => {
    transport.answer = ({ to }) => to === "bad@example.org" ? refusedAs("timeout") : ACCEPTED;
    await queue({ to: "bad@example.org", about: "user:bad" });
    await settle();
    for (let at = 0; at < 10; at++) await queue({ to: `user${at}@example.org`, about: `user:user${at}` });
    await pass(2 * MINUTE_MS, { stepMs: 1000 });
    assertEquals([acceptedOf(transport).length, service.status().waiting], [10, 1]);
  }));

Deno.test("a wrong password is tried once a minute at most, later every 15 minutes", () =>
  inQueue(async ({ queue, transport, clock, pass }) => {
    const at: number[] = [];
    transport.answer = () => {
      at.push(clock.nowMs());
      return refusedAs("sign_in", "535 5.7.8 Authentication failed");
    };
    await queue();
    await settle();
    await pass(6 * HOUR_MS);
    const gaps = at.slice(1).map((ms, index) => ms - (at[index] ?? 0));
    assert(Math.min(...gaps) >= 45_000, `${Math.min(...gaps)}`);
    assert(at.length < 40, `${at.length} attempts`);
  }));

Deno.test("a recipient who is refused fails at once; after ten in a row the queue pauses", () =>
  inQueue(async ({ service, queue, transport, pass }) => {
    transport.answer = () => refusedAs("recipient_refused", "554 5.7.1 Relay access denied");
    for (let at = 0; at < 30; at++) await queue({ to: `user${at}@example.org`, about: `user:user${at}` });
    await settle();
    await pass(30_000, { stepMs: 1000 });
    const { failed, waiting, lastProblem } = service.status();
    assert(failed >= 10 && failed <= 12, `${failed} failed`);
    assertEquals([failed + waiting, lastProblem?.code], [30, "refuses_all"]);
  }));

Deno.test("no more mails in a minute than the settings say", () =>
  inQueue(async ({ queue, transport, clock, pass }) => {
    const at: number[] = [];
    transport.answer = () => {
      at.push(clock.nowMs());
      return ACCEPTED;
    };
    for (let mail = 0; mail < 70; mail++) await queue({ about: `user:user${mail}` });
    await pass(5 * MINUTE_MS, { stepMs: 500 });
    assertEquals(at.length, 70);
    const most = Math.max(
      ...at.map((ms) => at.filter((other) => other >= ms && other < ms + MINUTE_MS).length),
    );
    assert(most <= 31, `${most} in a minute`);
    assert((at.at(-1) ?? 0) - (at[0] ?? 0) < 2.5 * MINUTE_MS);
  }, { mail: { perMinute: 30 } }));

Deno.test("notices are sent before invitations and reminders", () =>
  inQueue(async ({ service, store, transport, pass }) => {
    const notice = { template: "bypass", values: { userName: "ada" }, about: "user:ada" } as const;
    const mails: Partial<NewMail>[] = [{}, { template: "reminder" }, notice];
    for (const [at, mail] of mails.entries()) {
      const { mutations } = service.prepare({ ...INVITATION, to: `m${at}@example.org`, ...mail });
      await store.commit({ mutations });
    }
    service.wake();
    await pass(3 * MINUTE_MS);
    assertEquals(acceptedOf(transport), ["m2@example.org", "m0@example.org", "m1@example.org"]);
  }, { mail: { perMinute: 1 } }));

for (const status of ["deleted", "inactive"] as const) {
  Deno.test(`a mail about a user who is ${status} is not sent, and is removed with its content`, () =>
    inQueue(async ({ queue, transport, entries }) => {
      await queue();
      await settle();
      assertEquals([transport.tried, await entries(["mail"])], [[], []]);
    }, { status }));
}

Deno.test("removed mails are gone, and are not sent", () =>
  inQueue(async ({ service, queue, transport, entries, pass }) => {
    transport.answer = () => refusedAs("recipient_later");
    for (const name of ["ada", "grace"]) await queue({ about: `user:${name}`, to: `${name}@example.org` });
    await settle();
    const rows = await service.admin.list("waiting", { after: null, limit: 1 });
    assertEquals(rows.map(({ to }) => to), ["ada@example.org"]);
    const [next] = await service.admin.list("waiting", { after: rows[0] ?? null, limit: 1 });
    assertEquals(next?.to, "grace@example.org");
    const by = { actor: "owner", source: "192.0.2.1" };
    assertEquals(await service.admin.remove("waiting", rows, by), 1);
    transport.answer = () => ACCEPTED;
    await pass(2 * MINUTE_MS);
    assertEquals([acceptedOf(transport), await entries(["mail"])], [["grace@example.org"], []]);
  }));

Deno.test("the mails of a deleted user are removed, also those that failed", () =>
  inQueue(async ({ service, queue, transport, entries }) => {
    transport.answer = ({ to }) => refusedAs(to.startsWith("a") ? "recipient_refused" : "recipient_later");
    await queue();
    await queue({ to: "b@example.org" });
    await queue({ to: "c@example.org", about: "user:grace" });
    await settle();
    await service.admin.removeAbout("user:ada");
    assertEquals((await entries(["mail"])).map((key) => key.slice(0, 4).join("/")).toSorted(), [
      "mail/content/user/grace",
      "mail/waiting/user/grace",
    ]);
    assertEquals([service.status().waiting, service.status().failed], [1, 0]);
  }));

Deno.test("no secret and no address is in the log", () =>
  inQueue(async ({ queue, transport, logged, pass }) => {
    transport.answer = ({ to }) =>
      refusedAs(to.startsWith("a") ? "recipient_refused" : "sign_in", "535 5.7.8 no");
    await queue();
    await queue({ to: "b@example.org" });
    await pass(MINUTE_MS);
    const text = await logged();
    assert(text.includes("a mail failed") && text.includes("mails cannot be sent"), text);
    assertEquals(["ada@example.org", "secret-token", "pass-word"].filter((one) => text.includes(one)), []);
  }, { mail: { user: "gateway", password: "pass-word" } }));

for (const code of ["recipient_later", "recipient_refused"] as const) {
  Deno.test(`a mail that is removed by its key is gone after ${code}, and others of the user stay`, () =>
    inQueue(async ({ queue, service, store, transport, entries, pass }) => {
      transport.answer = () => refusedAs(code);
      await queue({ about: "user:Ada", key: "enrolment" });
      await queue({ about: "user:Ada" });
      await queue({ about: "user:bob", key: "enrolment" });
      await settle();
      assertEquals((await entries(["mail", "content"])).length, 3);
      await store.commit({ mutations: service.prepareRemoval({ about: "user:ada", key: "enrolment" }) });
      transport.answer = () => ACCEPTED;
      const left = await entries(["mail", "content"]);
      assertEquals(left.map((key) => key[3]).sort(), ["ada", "bob"]);
      await pass(15 * MINUTE_MS);
      assertEquals(transport.accepted.length, code === "recipient_later" ? 2 : 0);
      assertEquals(service.status().waiting, 0);
    }));
}

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
