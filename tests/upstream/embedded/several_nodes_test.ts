// The embedded services on two nodes that share a store: a request opened on one node is seen and decided on the other.

import { assert, assertEquals } from "@std/assert";
import { openNode } from "../../fakes/shared_store.ts";
import { createFakeUserRecords } from "../../fakes/user_records.ts";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { createVault } from "../../../platform/vault.ts";
import { TelephonyOutbox } from "../../../upstream/embedded/telephony/outbox.ts";
import { createManualClock } from "../manual_clock.ts";
import { CONTEXT, loadEmbedded, right } from "../start_services.ts";
import { pairPhone } from "./second_factor/start_second_factor.ts";

async function startTwo(settings: { phrasesPerMinute?: number; numberMatching?: boolean } = {}) {
  const kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const random = createSystemRandom();
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const userRecords = createFakeUserRecords();
  const start = async (name: string) => {
    const { store } = await openNode(kv, name);
    const deps = { store, vault, clock, random, userRecords };
    const outbox = new TelephonyOutbox(deps);
    await outbox.load();
    const embedded = await loadEmbedded(deps, { numberMatching: false, ...settings });
    return { ...deps, ...embedded, outbox, catchUp: () => store.catchUp() };
  };
  const [a, b] = [await start("a"), await start("b")];
  return {
    ...{ a, b, clock, start },
    async [Symbol.asyncDispose]() {
      for (const node of [a, b]) await node.close();
      kv.close();
    },
  };
}

const APPROVED = { approve: true, number: null } as const;

/** Both nodes know the phone, which was paired on `a`. */
async function startPaired() {
  const two = await startTwo();
  const paired = await pairPhone(two.a, "ada");
  await two.b.catchUp();
  const ask = async () =>
    right(
      await two.a.service.initiate({
        pairingId: paired.pairingId,
        terminalName: "VPN",
        context: CONTEXT,
      }),
    );
  return { ...two, ...paired, ask };
}

Deno.test("a phone on one node sees a request of the other, and its decision reaches the waiting login", async () => {
  await using two = await startPaired();
  const { a, b, token } = two;
  let views = 0;
  let lists = 0;
  b.phone.watch(token, () => void views++);
  b.admin.onChange(() => void lists++);
  const request = await two.ask();
  let decided = 0;
  a.service.onDecision(request.id, () => void decided++);
  await b.catchUp();
  assertEquals([views, lists, b.admin.pendingCount()], [1, 1, 1]);
  assertEquals((await b.phone.view(token))?.requests.map(({ requestId }) => requestId), [request.id]);
  right(await b.phone.decide(token, request.id, APPROVED));
  assertEquals(decided, 0);
  await a.catchUp();
  assertEquals([decided, right(await a.service.status(request.id)).granted], [1, true]);
  assertEquals([a.admin.pendingCount(), (await a.phone.view(token))?.requests], [0, []]);
});

Deno.test("of two decisions at the same moment on two nodes one wins, and both nodes then know it", async () => {
  await using two = await startPaired();
  const { a, b, token } = two;
  for (let at = 0; at < 10; at++) {
    const { id } = await two.ask();
    await b.catchUp();
    const outcomes = await Promise.all([
      a.phone.decide(token, id, APPROVED),
      b.phone.decide(token, id, { approve: false }),
    ]);
    assertEquals(outcomes.filter(({ ok }) => ok).length, 1, JSON.stringify(outcomes));
    for (const node of [a, b]) {
      assertEquals(right(await node.service.status(id)).granted, outcomes[0].ok);
    }
    await a.catchUp();
  }
});

Deno.test("a phrase that one node shows pairs the phone through the other, once", async () => {
  await using two = await startTwo();
  const { a, b } = two;
  const { token, phrase } = right(await a.phone.startWithPhrase("192.0.2.1"));
  await b.catchUp();
  let views = 0;
  a.phone.watch(token, () => void views++);
  const typed = await Promise.all(
    [a, b].map((node) => node.service.createPairing({ phrase, userName: "ada" })),
  );
  assertEquals(typed.filter(({ ok }) => ok).length, 1);
  await Promise.all([a.catchUp(), b.catchUp()]);
  assert(views > 0);
  const [pairing] = (await a.phone.view(token))?.pairings ?? [];
  right(await a.phone.decidePairing(token, pairing?.pairingId ?? "", { approve: true }));
  await b.catchUp();
  assertEquals((await b.phone.view(token))?.pairings.map(({ status }) => status), ["enabled"]);
});

Deno.test("an invitation and a device passcode are valid once on all nodes", async () => {
  await using two = await startPaired();
  const { a, b, token, pairingId } = two;
  const { invitation } = await a.admin.invite("bob");
  await b.catchUp();
  const accept = (node: typeof a) => node.phone.acceptInvitation(invitation, { token: null, source: "x" });
  const accepted = await Promise.all([accept(a), accept(b)]);
  assertEquals(accepted.filter(({ ok }) => ok).length, 1);
  const { code } = right(await b.phone.passcode(token, pairingId));
  const used = await Promise.all([a, b].map((node) => node.admin.usePasscode(pairingId, code)));
  assertEquals(used.toSorted(), [false, true]);
});

Deno.test("a pairing that ends on one node ends the requests and the token on the other", async () => {
  await using two = await startPaired();
  const { a, b, token, pairingId } = two;
  const { id } = await two.ask();
  await b.catchUp();
  right(await b.phone.unpair(token, pairingId));
  await a.catchUp();
  assertEquals(right(await a.service.status(id)).cancelled, true);
  assertEquals(await a.phone.view(token), null);
});

Deno.test("the rate limits of phrases and of wrong phrases hold for all nodes together", async () => {
  await using two = await startTwo({ phrasesPerMinute: 6 });
  const { a, b, clock } = two;
  const started = await Promise.all(
    Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? a : b).phone.startWithPhrase("192.0.2.1")),
  );
  assertEquals(started.filter(({ ok }) => ok).length, 6);
  const codes: number[] = [];
  for (let at = 0; at < 22; at++) {
    const node = at % 2 === 0 ? a : b;
    await node.catchUp();
    const typed = await node.service.createPairing({ phrase: `maple river stone ${at}`, userName: "ada" });
    if (!typed.ok) codes.push("code" in typed.fault ? typed.fault.code ?? 0 : 429);
  }
  assertEquals(codes, [...Array(20).fill(404), 429, 429]);
  // A node that starts later has the same counts.
  const late = await two.start("c");
  const refused = await late.service.createPairing({ phrase: "maple river stone 1", userName: "ada" });
  assertEquals(refused.ok ? null : refused.fault.kind, "busy");
  await late.close();
  clock.advance(60_000);
  assertEquals((await b.phone.startWithPhrase("192.0.2.1")).ok, true);
});

Deno.test("a request expires on all nodes", async () => {
  await using two = await startPaired();
  const { a, b, clock } = two;
  const { id } = await two.ask();
  await b.catchUp();
  clock.advance(60_000);
  await Promise.all([a.catchUp(), b.catchUp()]);
  for (const node of [a, b]) assertEquals(right(await node.service.status(id)).reasonCode, 5);
  assertEquals([a.admin.pendingApprovals(), b.admin.pendingApprovals()], [[], []]);
});

Deno.test("a message in the outbox of one node is in the list of the other", async () => {
  await using two = await startTwo();
  let changes = 0;
  two.b.outbox.messages.onChange(() => void changes++);
  await two.a.outbox.service.text({ to: "+15005550006", body: "Your passcode: 123456", validitySeconds: 60 });
  await two.b.catchUp();
  const [item] = two.b.outbox.messages.items();
  assertEquals([changes, await two.b.outbox.messages.reveal(item?.id ?? "")], [1, "Your passcode: 123456"]);
});
