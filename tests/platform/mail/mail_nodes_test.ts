// The queue on two nodes with one store: one node sends, and the other continues when it dies.

import { assertEquals } from "@std/assert";
import { createLog } from "../../../platform/log.ts";
import { NodeLease } from "../../../platform/cluster/lease.ts";
import { BEAT_MS, Nodes } from "../../../platform/cluster/nodes.ts";
import { openNode, stepClock } from "../../fakes/shared_store.ts";
import { ACCEPTED, createFakeTransport, type FakeTransport, refusedAs } from "../../fakes/mail_transport.ts";
import { type MailWorld, openMailWorld } from "./mail_world.ts";

interface MailNode extends MailWorld {
  readonly transport: FakeTransport;
  readonly clock: ReturnType<typeof stepClock>;
  readonly lease: () => NodeLease;
}

async function joinMail(kv: Deno.Kv, node: string): Promise<MailNode> {
  const clock = stepClock(1_000_000);
  const { store } = await openNode(kv, node);
  const log = createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() });
  const describe = () => ({
    ...{ name: node, version: "1", startedMs: clock.nowMs(), radius: [], http: "", publicKey: "" },
    figures: { waiting: 0, requestsPerS: 0, rssOctets: 0, lagMs: 0, leases: [] },
  });
  const nodes = new Nodes({ store, clock, log, describe });
  await nodes.start();
  const leases: NodeLease[] = [];
  const transport = createFakeTransport();
  const world = await openMailWorld({
    ...{ kv, clock, store, mail: {}, openTransport: () => transport },
    cluster: {
      openLease(name, events) {
        const lease = new NodeLease({ store, nodes, clock, log, name, ...events });
        leases.push(lease);
        return lease;
      },
    },
  });
  return { ...world, transport, clock, lease: () => leases[0] as NodeLease };
}

async function pass(nodes: readonly MailNode[], beats: number): Promise<void> {
  for (let at = 0; at < beats; at++) {
    for (const { clock } of nodes) await clock.advance(BEAT_MS);
    for (const { store } of nodes) await store.catchUp();
  }
}

const namesOf = ({ accepted }: FakeTransport) => accepted.map(({ to }) => to).toSorted();

Deno.test("one of two nodes sends, also the mails that the other one queued", async () => {
  const kv = await Deno.openKv(":memory:");
  const [a, b] = [await joinMail(kv, "a"), await joinMail(kv, "b")];
  await a.queue({ to: "a@example.org", about: "user:a" });
  await pass([a, b], 4);
  await b.queue({ to: "b@example.org", about: "user:b" });
  await pass([a, b], 12);
  assertEquals([namesOf(a.transport), namesOf(b.transport)], [["a@example.org", "b@example.org"], []]);
  assertEquals([a, b].map(({ service }) => service.status().waiting), [0, 0]);
  await Promise.all([pass([a, b], 12), a.close(), b.close()]);
  kv.close();
});

Deno.test("a node that dies while it sends: the other one sends its mails, with their Message-IDs", async () => {
  const kv = await Deno.openKv(":memory:");
  const [a, b] = [await joinMail(kv, "a"), await joinMail(kv, "b")];
  // The answers never reach the dying node.
  a.transport.answer = () => new Promise(() => undefined);
  for (const name of ["ada", "grace"]) await a.queue({ to: `${name}@example.org`, about: `user:${name}` });
  await pass([a, b], 4);
  assertEquals([a.transport.tried.length, b.transport.tried.length], [2, 0]);
  // Node a no longer beats.
  await pass([b], 60);
  assertEquals(namesOf(b.transport), ["ada@example.org", "grace@example.org"]);
  const ids = (transport: FakeTransport) => transport.tried.map(({ messageId }) => messageId).toSorted();
  assertEquals(ids(b.transport), ids(a.transport));
  await Promise.all([pass([a, b], 12), a.close(), b.close()]);
  kv.close();
});

Deno.test("a node that does not send shows the last problem and the last delivery, also after its start", async () => {
  const kv = await Deno.openKv(":memory:");
  const [a, b] = [await joinMail(kv, "a"), await joinMail(kv, "b")];
  a.transport.answer = () => refusedAs("sign_in", "535 5.7.8 no");
  await a.queue();
  await pass([a, b], 4);
  const later = await joinMail(kv, "c");
  for (const { service } of [b, later]) {
    const { lastProblem, pausedUntilMs } = service.status();
    assertEquals([lastProblem?.code, lastProblem?.detail, pausedUntilMs !== null], [
      "sign_in",
      "535 5.7.8 no",
      true,
    ]);
  }
  a.transport.answer = () => ACCEPTED;
  await pass([a, b, later], 80);
  for (const { service } of [a, b, later]) {
    const { lastProblem, lastSentMs } = service.status();
    assertEquals([lastProblem, lastSentMs !== null], [null, true]);
  }
  await Promise.all([pass([a, b, later], 12), a.close(), b.close(), later.close()]);
  kv.close();
});

Deno.test("a node that lost the lease while it sent does not record its result", async () => {
  const kv = await Deno.openKv(":memory:");
  const [a, b] = [await joinMail(kv, "a"), await joinMail(kv, "b")];
  const answer = Promise.withResolvers<typeof ACCEPTED>();
  a.transport.answer = () => answer.promise;
  b.transport.answer = () => refusedAs("recipient_refused", "550 5.1.1 unknown");
  await a.queue({ to: "ada@example.org", about: "user:ada" });
  await pass([a, b], 4);
  await pass([b], 60);
  assertEquals([b.transport.tried.length, b.service.status().failed], [1, 1]);
  answer.resolve(ACCEPTED);
  await pass([a, b], 12);
  assertEquals((await b.entries(["mail"])).map((key) => key[1]), ["content", "failed"]);
  await Promise.all([pass([a, b], 12), a.close(), b.close()]);
  kv.close();
});
