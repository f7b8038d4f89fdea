// Subscriptions of phones: who may make one, what the store has of it, and when it ends.

import { assertEquals } from "@std/assert";
import { eventually, settle } from "../../manual_clock.ts";
import { right } from "../../start_services.ts";
import { pagesOf, startPush } from "./start_push.ts";

Deno.test("view() of a phone before and after it subscribes, and after it unsubscribes", async () => {
  await using push = await startPush({ subscribes: false });
  const { pages, token } = push;
  const view = pages.pushView(token);
  assertEquals({ ...view, publicKey: view?.publicKey.length }, {
    enabled: true,
    publicKey: 87,
    subscribed: false,
    problem: null,
  });
  assertEquals(pages.facts(push.pairingId)?.push, "off");
  assertEquals(await pages.subscribe(token, push.subscription), { ok: true });
  assertEquals([pages.pushView(token)?.subscribed, pages.facts(push.pairingId)?.push], [true, "on"]);
  assertEquals(await pages.unsubscribe(token), { ok: true });
  assertEquals(await pages.unsubscribe(token), { ok: true });
  assertEquals([pages.pushView(token)?.subscribed, pages.facts(push.pairingId)?.push], [false, "off"]);
});

Deno.test("only a phone with an enabled pairing subscribes, while push is on, at an allowed host", async () => {
  await using push = await startPush({ subscribes: false });
  const { pages, token, subscription, service } = push;
  const unpaired = right(await push.embedded.phone.startWithPhrase("192.0.2.9")).token;
  for (const stranger of ["", "x".repeat(43), "x".repeat(10_000), unpaired]) {
    assertEquals(await pages.subscribe(stranger, subscription), { ok: false, reason: "unknown_token" });
  }
  const elsewhere = service.subscribe({ origin: "https://example.com" });
  const refused = await pages.subscribe(token, elsewhere);
  assertEquals(refused, { ok: false, reason: "push_host_not_allowed" });
  push.settings.enabled = false;
  assertEquals(await pages.subscribe(token, subscription), { ok: false, reason: "push_off" });
  assertEquals([pages.status().subscribed, pages.pushView("")], [0, null]);
});

Deno.test("a phone may change its subscription 20 times in a minute", async () => {
  await using push = await startPush({ subscribes: false });
  const changes = [];
  for (let count = 0; count < 21; count++) {
    changes.push((await push.pages.subscribe(push.token, push.subscription)).ok);
  }
  assertEquals(changes, [...Array(20).fill(true), false]);
});

Deno.test("the store has no endpoint and no key of a subscription in clear text", async () => {
  await using push = await startPush();
  const { endpoint, keys } = push.subscription;
  const entries = await Array.fromAsync(push.ground.store.list<unknown>([]));
  const dump = entries.map(({ value }) => Deno.inspect(value, { depth: 9, iterableLimit: 5000 })).join("\n");
  assertEquals(dump.includes("fcm.googleapis.com"), true);
  const asOctets = (text: string) => [...new TextEncoder().encode(text)].join(", ");
  for (const secret of [endpoint, new URL(endpoint).pathname, keys.p256dh, keys.auth]) {
    assertEquals([dump.includes(secret), dump.includes(asOctets(secret))], [false, false]);
  }
});

Deno.test("after a restart the subscription and the key pair are the same", async () => {
  await using push = await startPush();
  const again = await push.restart();
  assertEquals(pagesOf(again).pushView(push.token), push.pages.pushView(push.token));
  right(
    await again.service.initiate({
      pairingId: push.pairingId,
      terminalName: "VPN",
      context: { client: "vpn-1", place: "", hasPrompt: true },
    }),
  );
  push.clock.advance(0);
  await push.delivered(1);
  assertEquals(push.service.refused, []);
});

Deno.test("the subscription ends with the last pairing of the phone: by the phone, and by an administrator", async () => {
  for (const isPhone of [true, false]) {
    await using push = await startPush();
    const { embedded, token, pairingId, pages } = push;
    const { invitation } = await embedded.admin.invite("bob");
    const second = right(await embedded.phone.acceptInvitation(invitation, { token, source: "x" }));
    await pages.seen(token, "phone");
    await embedded.admin.revokePairing(second.pairingId);
    assertEquals(pages.status().subscribed, 1, "another pairing keeps it");
    if (isPhone) right(await embedded.phone.unpair(token, pairingId));
    else await embedded.admin.revokePairing(pairingId);
    assertEquals([pages.status().subscribed, pages.pushView(token)], [0, null]);
    const left = await Array.fromAsync(push.ground.store.list(["embedded"]));
    const tables = left.map(({ key }) => String(key[1])).filter((name) =>
      /^(push_subscription|device|phone)$/.test(name)
    );
    assertEquals(tables, []);
  }
});

Deno.test("a phone with two pairings receives the requests of both", async () => {
  await using push = await startPush();
  const { embedded, token } = push;
  const { invitation } = await embedded.admin.invite("bob");
  const second = right(await embedded.phone.acceptInvitation(invitation, { token, source: "x" }));
  await push.ask();
  await push.ask({ pairingId: second.pairingId });
  await push.delivered(2);
  const users = push.service.delivered.map(({ payload }) => payload.userName);
  assertEquals(users.toSorted(), ["ada", "bob"]);
});

Deno.test("a renamed user keeps the subscription, and messages have the new name", async () => {
  await using push = await startPush();
  const rename = { kind: "user", from: "ada", to: "ada.new", name: "ada.new", isLeaving: false } as const;
  const { checks = [], mutations, done } = await push.embedded.prepareRename(rename);
  const outcome = await push.ground.store.commit({ checks, mutations });
  if (outcome.ok) done(outcome.versionstamp);
  await push.ask();
  await push.delivered(1);
  assertEquals(push.service.delivered[0]?.payload.userName, "ada.new");
});

Deno.test("test(): the result of a test message, its limit, and who has none", async () => {
  await using push = await startPush();
  const { pages, token, pairingId, service } = push;
  assertEquals(await pages.testOwn(token), { ok: true });
  assertEquals(service.delivered.map(({ payload }) => payload), [{ v: 1, kind: "test" }]);
  assertEquals(await pages.test(pairingId, "grace"), { ok: true });
  service.answers.push({ status: 403 });
  const refused = await pages.test(pairingId, "grace");
  assertEquals(!refused.ok && typeof refused.fault === "object" && refused.fault.code, "credentials_refused");
  for (let count = 3; count < 5; count++) await pages.test(pairingId, "grace");
  assertEquals(await pages.test(pairingId, "grace"), { ok: false, fault: "too_many_tries" });
  assertEquals(await pages.test("another", "grace"), { ok: false, fault: "unknown_token" });
  push.clock.advance(60_000);
  await pages.unsubscribe(token);
  assertEquals(await pages.test(pairingId, "grace"), { ok: false, fault: "push_off" });
});

Deno.test("test(): an administrator sends 30 in one minute, to any phones", async () => {
  await using push = await startPush();
  const { pages, embedded, service } = push;
  const pairings = await Promise.all(
    Array.from({ length: 8 }, async (_, at) => {
      const { invitation } = await embedded.admin.invite(`user-${at}`);
      const { token, pairingId } = right(
        await embedded.phone.acceptInvitation(invitation, { token: null, source: "192.0.2.1" }),
      );
      await pages.subscribe(token, service.subscribe());
      return pairingId;
    }),
  );
  const testAll = async (by: string) => {
    let sent = 0;
    for (const pairingId of pairings.flatMap((id) => [id, id, id, id])) {
      if ((await pages.test(pairingId, by)).ok) sent++;
    }
    return sent;
  };
  assertEquals(await testAll("grace"), 30);
  assertEquals(await pages.test(pairings[0] ?? "", "grace"), { ok: false, fault: "too_many_tries" });
  assertEquals(await pages.test(pairings[0] ?? "", "linus"), { ok: true }, "another administrator");
  push.clock.advance(60_000);
  assertEquals(await testAll("grace"), 30);
});

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

Deno.test("seen(): a use is written at most once an hour, and a phone is marked after 90 days", async () => {
  await using push = await startPush();
  const { pages, token, pairingId, clock } = push;
  const startMs = clock.nowMs();
  const facts = () => pages.facts(pairingId);
  assertEquals([facts()?.kind, facts()?.lastSeenMs, facts()?.isStale], [null, null, false]);
  for (const kind of [null, "computer", "tablet", "phone"] as const) await pages.seen(token, kind);
  clock.advance(HOUR_MS - 1);
  await pages.seen(token, null);
  assertEquals([facts()?.kind, facts()?.lastSeenMs], ["tablet", startMs]);
  clock.advance(1);
  // A tablet that requests pages for computers.
  await pages.seen(token, "computer");
  assertEquals([facts()?.kind, facts()?.lastSeenMs], ["tablet", startMs + HOUR_MS]);
  clock.advance(90 * DAY_MS);
  assertEquals(facts()?.isStale, false);
  clock.advance(1);
  assertEquals(facts()?.isStale, true);
  await pages.seen("unknown", "phone");
  assertEquals(pages.facts("unknown"), null);
});

Deno.test("a phone that was paired before uses were recorded is marked 90 days after the first start with push", async () => {
  await using push = await startPush();
  push.clock.advance(90 * DAY_MS);
  assertEquals(push.pages.facts(push.pairingId)?.isStale, false);
  push.clock.advance(1);
  assertEquals(push.pages.facts(push.pairingId)?.isStale, true);
});

Deno.test("probe() calls each named host and each used one, and sends no message", async () => {
  await using push = await startPush();
  push.settings.hosts = ["fcm.googleapis.com", "push.example.com", "*.push.apple.com"];
  push.addresses.set("push.example.com", ["10.0.0.1"]);
  const { hosts } = await push.pages.probe();
  assertEquals(hosts.map(({ host, problem }) => [host, problem?.code ?? null]), [
    ["fcm.googleapis.com", null],
    ["push.example.com", "private_address"],
  ]);
  await settle();
  assertEquals([push.service.requests, push.service.delivered], [["https://fcm.googleapis.com"], []]);
  await eventually("the host is well", () => hosts[0]?.lastGoodMs !== null);
});
