// Relayed logins over retransmissions, restarts and nodes: the server is asked once, and one push is sent.

import { assert, assertEquals } from "@std/assert";
import type { Mutation, Store } from "../../../platform/store.ts";
import { type BuiltRequest, readReply } from "../../support/radius_packets.ts";
import { microsoftOf, MPPE_KEYS, startRelayServer, valuesOf } from "../../support/relay_server.ts";
import { openDisk } from "../rows/disk.ts";
import { type InProcess, SECRET, startInProcess } from "../rows/in_process.ts";
import { decide, giveDevice } from "../rows/people.ts";
import { becomes, pass, whileTimePasses } from "../rows/passing_time.ts";
import { openRecorder, type Recorder } from "../rows/recorder.ts";
import { startTwoNodes } from "../rows/two_nodes.ts";
import { EapPeer, keysOf, msChapParts, relayOnce } from "./relayed_peer.ts";
import { decideOnPush, openRelay } from "./relay_world.ts";

const CLASS = { type: 25, value: new TextEncoder().encode("staff") };
const BOTH_KEYS = [MPPE_KEYS.send, MPPE_KEYS.receive];
const pushes = (world: InProcess) => world.secondFactor.initiated().length;
const pushed = (world: InProcess, count = 1) => becomes(`${count} pushes`, () => pushes(world) === count);

/** The replies to packets, in the order of the packets. */
async function repliesTo(recorder: Recorder, packets: readonly BuiltRequest[]) {
  const replies = await recorder.replies(packets.length);
  return packets.map((packet) => {
    const mine = replies.filter((octets) => octets[1] === packet.identifier);
    const reply = readReply(mine.at(-1) ?? new Uint8Array(0), packet, SECRET);
    assertEquals(reply.problems, []);
    return { ...reply, count: mine.length, keys: keysOf(reply, packet) };
  });
}

Deno.test("a relayed round neither reads nor writes the store", async () => {
  using server = startRelayServer({ script: "tunnel", more: 'eap_outer_identity = "trust"\n' });
  server.rounds = 6;
  await using relay = await openRelay(server);
  const { store } = relay.world;
  const calls: string[] = [];
  for (const name of ["commit", "append", "get"] as const) {
    const original = store[name] as (...given: unknown[]) => unknown;
    Object.assign(store, { [name]: (...given: unknown[]) => (calls.push(name), original(...given)) });
  }
  const peer = new EapPeer(relay.world, { userName: "anna" });
  await peer.upTo(6);
  assertEquals(calls, []);
  decideOnPush(relay, true);
  assertEquals((await peer.login()).kind, "accept");
  assert(calls.includes("commit"));
});

Deno.test("a retransmission of a round, and the same round re-issued, get the same challenge, and the server sees one request", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const peer = new EapPeer(relay.world, { userName: "anna" });
  await peer.upTo(1);
  const first = peer.build();
  const packets = [first, peer.build(), peer.build()];
  using recorder = openRecorder(relay.world, SECRET);
  await recorder.send(first, ...packets);
  const replies = await repliesTo(recorder, packets);
  const later = peer.build();
  await recorder.send(later);
  const [again] = await repliesTo(recorder, [later]);
  for (const reply of [...replies, again]) {
    assertEquals([reply?.code, reply?.state], [11, replies[0]?.state]);
  }
  assertEquals(server.requests.length, 2);
});

Deno.test("while the phone is asked, each copy of the last packet waits, and all get the Access-Accept with keys of their own", async () => {
  using server = startRelayServer();
  server.attributes = [CLASS];
  await using relay = await openRelay(server);
  const { world, phone } = relay;
  const peer = new EapPeer(world, { userName: "anna" });
  await peer.upTo(2);
  const packets = [peer.build(), peer.build(), peer.build()];
  using recorder = openRecorder(world, SECRET);
  for (const packet of packets) {
    await recorder.send(packet);
    await pass(world.clock, 500);
  }
  await pushed(world);
  decide(world, phone, true);
  await pass(world.clock, 3000);
  for (const { code, keys, attributes } of await repliesTo(recorder, packets)) {
    assertEquals([code, keys, valuesOf(attributes, 25)], [2, BOTH_KEYS, [CLASS.value]]);
  }
  const salts = (await repliesTo(recorder, packets)).flatMap(({ attributes }) =>
    [16, 17].flatMap((type) => microsoftOf(attributes, type).map((value) => value.subarray(0, 2).toHex()))
  );
  assert(salts.every((salt) => (Number.parseInt(salt, 16) & 0x8000) !== 0));
  const late = peer.build();
  await recorder.send(late);
  const [again] = await repliesTo(recorder, [late]);
  assertEquals([again?.code, again?.keys], [2, BOTH_KEYS]);
  assertEquals([server.requests.length, pushes(world)], [3, 1]);
});

Deno.test("a copy of a packet with a wrong password gets the same answer of the server, and counts once", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const peer = new EapPeer(relay.world, { userName: "anna", isRight: false });
  await peer.upTo(1);
  const [first, second] = [peer.build(), peer.build()];
  const answer = await peer.exchange(first);
  const again = await peer.exchange(second);
  assertEquals([again.kind, again.state], ["challenge", answer.state]);
  assertEquals([server.requests.length, relay.world.radius.limits.failures("anna").total], [2, 1]);
});

Deno.test("a copy of a denied packet is denied again, and nothing is sent", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  decideOnPush(relay, false);
  const { more } = msChapParts(true);
  const parts = { userName: "anna", nasPort: 7, ...(more === undefined ? {} : { more }) };
  assertEquals((await relayOnce(relay.world, parts)).answer.kind, "reject");
  const { answer } = await relayOnce(relay.world, parts);
  assertEquals([answer.kind, microsoftOf(answer.attributes, 2).length], ["reject", 1]);
  assertEquals([server.requests.length, pushes(relay.world)], [1, 1]);
});

for (const isSame of [true, false]) {
  const what = isSame ? "the same packet" : "the packet, re-issued,";
  Deno.test(`restart during the wait: ${what} waits again for the same push, and gets the stored Access-Accept`, async () => {
    using server = startRelayServer();
    server.attributes = [CLASS];
    await using disk = await openDisk();
    await using relay = await openRelay(server, { kvPath: disk.path });
    const { world: first, phone } = relay;
    const peer = new EapPeer(first, { userName: "anna" });
    await peer.upTo(2);
    const packet = peer.build();
    using before = openRecorder(first, SECRET);
    await before.send(packet);
    await pushed(first);
    await first.stop();
    await using second = await startInProcess({ toml: server.toml, kvPath: disk.path, after: first });
    const next = isSame ? packet : peer.build();
    using after = openRecorder(second, SECRET);
    await after.send(next);
    await pass(second.clock, 1500);
    assertEquals((await after.replies()).length, 0);
    decide(second, phone, true);
    await pass(second.clock, 3000);
    const [reply] = await repliesTo(after, [next]);
    assertEquals([reply?.code, reply?.keys], [2, BOTH_KEYS]);
    assertEquals(valuesOf(reply?.attributes ?? [], 25), [CLASS.value]);
    assertEquals([server.requests.length, pushes(second)], [3, 1]);
  });
}

Deno.test("restart during the wait: a denial meanwhile is an Access-Reject with EAP-Failure", async () => {
  using server = startRelayServer();
  await using disk = await openDisk();
  await using relay = await openRelay(server, { kvPath: disk.path });
  const { world: first, phone } = relay;
  const peer = new EapPeer(first, { userName: "anna" });
  await peer.upTo(2);
  using before = openRecorder(first, SECRET);
  await before.send(peer.build());
  await pushed(first);
  await first.stop();
  decide(first, phone, false);
  await using second = await startInProcess({ toml: server.toml, kvPath: disk.path, after: first });
  peer.world = second;
  const answer = await peer.exchange();
  assertEquals([answer.kind, peer.received[0]], ["reject", 4]);
  assertEquals([server.requests.length, pushes(second)], [3, 1]);
});

Deno.test("restart between rounds: the next round continues at the server", async () => {
  using server = startRelayServer();
  await using disk = await openDisk();
  await using relay = await openRelay(server, { kvPath: disk.path });
  const peer = new EapPeer(relay.world, { userName: "anna" });
  await peer.upTo(1);
  await relay.world.stop();
  await using second = await startInProcess({ toml: server.toml, kvPath: disk.path, after: relay.world });
  peer.world = second;
  decideOnPush({ ...relay, world: second }, true);
  assertEquals((await peer.login()).kind, "accept");
});

Deno.test("two nodes: the rounds of one login can go to both, and after the death of one the other holds the same push", async () => {
  using server = startRelayServer();
  server.attributes = [CLASS];
  await using nodes = await startTwoNodes({ toml: server.toml });
  const { a, b, known } = nodes;
  const phone = await giveDevice(a, "anna");
  await becomes("b knows the phone", async () => {
    await b.store.catchUp();
    return b.radius.pairings.of("anna").length === 1;
  });
  const peer = new EapPeer(a, { userName: "anna" });
  await peer.upTo(1);
  peer.world = b;
  await peer.upTo(1);
  peer.world = a;
  await a.client.sendRaw(peer.build().bytes);
  await whileTimePasses(a.clock, pushed(a));
  const isHeld = async () => {
    await b.store.catchUp();
    return b.radius.monitor.conversations(1)[0]?.moments.at(-1)?.row === "pushed_and_held";
  };
  await whileTimePasses(a.clock, becomes("b knows that a holds the request", isHeld));
  // Otherwise both would accept, and one of them would lose the race.
  await a.stop();
  known.dead.add("a");
  peer.world = b;
  const packet = peer.build();
  let isDecided = false;
  b.clock.after(1500, () => {
    isDecided = true;
    decide(a, phone, true);
  });
  const answer = await peer.exchange(packet);
  assert(isDecided);
  assertEquals([answer.kind, keysOf(answer, packet)], ["accept", BOTH_KEYS]);
  assertEquals(valuesOf(answer.attributes, 25), [CLASS.value]);
  assertEquals([server.requests.length, pushes(a)], [3, 1]);
});

/** Makes the first commits race whose mutations contain a key. */
function racing(first: string, races: number) {
  let left = races;
  const touches = (mutation: Mutation) =>
    mutation.type !== "audit" && "key" in mutation && mutation.key[0] === first;
  return (store: Store): Store => ({
    ...store,
    commit(transaction) {
      if (left === 0 || !transaction.mutations.some(touches)) return store.commit(transaction);
      left--;
      return Promise.resolve({ ok: false, reason: "raced" });
    },
  });
}

Deno.test("two nodes: a relayed packet that loses races asks the server once, and counts or pushes once", async () => {
  using server = startRelayServer();
  const store = racing("limit", 3);
  await using nodes = await startTwoNodes({ toml: server.toml, store });
  const { a } = nodes;
  const phone = await giveDevice(a, "anna");
  const wrong = await relayOnce(a, { userName: "anna", ...msChapParts(false) });
  assertEquals([wrong.answer.kind, server.requests.length], ["reject", 1]);
  assertEquals(a.radius.limits.failures("anna").total, 1);
  decideOnPush({ world: a, phone }, true);
  const { answer } = await relayOnce(a, { userName: "anna", ...msChapParts(true) });
  assertEquals([answer.kind, server.requests.length, pushes(a)], ["accept", 2, 1]);
});
