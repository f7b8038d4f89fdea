// The queue on two nodes with one store: one node sends, and the other continues when it dies.

import { assert, assertEquals } from "@std/assert";
import { createLog } from "../../../platform/log.ts";
import { NodeLease } from "../../../platform/cluster/lease.ts";
import { BEAT_MS, Nodes } from "../../../platform/cluster/nodes.ts";
import { describeNode, openNode, stepClock } from "../../fakes/shared_store.ts";
import { ACCEPTED, createFakeTransport, type FakeTransport, refusedAs } from "../../fakes/mail_transport.ts";
import { eventually } from "../../upstream/manual_clock.ts";
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
  const describe = () => describeNode(node, clock.nowMs());
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

/** One beat of each node. */
async function beat(nodes: readonly MailNode[]): Promise<void> {
  for (const { clock } of nodes) await clock.advance(BEAT_MS);
  for (const { store } of nodes) await store.catchUp();
}

async function pass(nodes: readonly MailNode[], beats: number): Promise<void> {
  for (let at = 0; at < beats; at++) await beat(nodes);
}

/** Lets the nodes beat until it is so. */
async function until(
  what: string,
  nodes: readonly MailNode[],
  hasHappened: () => boolean | Promise<boolean>,
): Promise<void> {
  await eventually(what, async () => {
    await beat(nodes);
    return await hasHappened();
  }, { withinMs: 10_000 });
}

/** The node that sends, and the other one. Either may win the lease. */
function holderOf([a, b]: readonly [MailNode, MailNode]): readonly [holder: MailNode, other: MailNode] {
  assert(a.lease().isHeld !== b.lease().isHeld, "one node has the lease");
  return a.lease().isHeld ? [a, b] : [b, a];
}

const triedOf = (nodes: readonly MailNode[]) => nodes.flatMap(({ transport }) => transport.tried);
const namesOf = ({ accepted }: FakeTransport) => accepted.map(({ to }) => to).toSorted();

Deno.test("one of two nodes sends, also the mails that the other one queued", async () => {
  const kv = await Deno.openKv(":memory:");
  const both = [await joinMail(kv, "a"), await joinMail(kv, "b")] as const;
  const [a, b] = both;
  await a.queue({ to: "a@example.org", about: "user:a" });
  await until("the first mail is sent", both, () => triedOf(both).length === 1);
  await b.queue({ to: "b@example.org", about: "user:b" });
  await until("no mail waits", both, () => both.every(({ service }) => service.status().waiting === 0));
  await pass(both, 12);
  const [holder, other] = holderOf(both);
  assertEquals([namesOf(holder.transport), namesOf(other.transport)], [
    ["a@example.org", "b@example.org"],
    [],
  ]);
  await Promise.all([pass(both, 12), a.close(), b.close()]);
  kv.close();
});

Deno.test("a node that dies while it sends: the other one sends its mails, with their Message-IDs", async () => {
  const kv = await Deno.openKv(":memory:");
  const both = [await joinMail(kv, "a"), await joinMail(kv, "b")] as const;
  const [a, b] = both;
  // The answers never reach the dying node.
  for (const { transport } of both) transport.answer = () => new Promise(() => undefined);
  for (const name of ["ada", "grace"]) await a.queue({ to: `${name}@example.org`, about: `user:${name}` });
  await until("both mails are being sent", both, () => triedOf(both).length === 2);
  const [holder, other] = holderOf(both);
  assertEquals([holder.transport.tried.length, other.transport.tried.length], [2, 0]);
  other.transport.answer = () => ACCEPTED;
  // The holder no longer beats.
  await until("the other node sends both", [other], () => other.transport.accepted.length === 2);
  assertEquals(namesOf(other.transport), ["ada@example.org", "grace@example.org"]);
  const ids = (transport: FakeTransport) => transport.tried.map(({ messageId }) => messageId).toSorted();
  assertEquals(ids(other.transport), ids(holder.transport));
  await Promise.all([pass(both, 12), a.close(), b.close()]);
  kv.close();
});

Deno.test("a node that does not send shows the last problem and the last delivery, also after its start", async () => {
  const kv = await Deno.openKv(":memory:");
  const [a, b] = [await joinMail(kv, "a"), await joinMail(kv, "b")];
  for (const { transport } of [a, b]) transport.answer = () => refusedAs("sign_in", "535 5.7.8 no");
  await a.queue();
  const problemOf = ({ service }: MailNode) => service.status().lastProblem?.code ?? null;
  await until("both know the problem", [a, b], () => [a, b].every((node) => problemOf(node) === "sign_in"));
  const later = await joinMail(kv, "c");
  for (const { service } of [a, b, later]) {
    const { lastProblem, pausedUntilMs } = service.status();
    assertEquals([lastProblem?.code, lastProblem?.detail, pausedUntilMs !== null], [
      "sign_in",
      "535 5.7.8 no",
      true,
    ]);
  }
  for (const { transport } of [a, b, later]) transport.answer = () => ACCEPTED;
  const all = [a, b, later];
  await until("all know the delivery", all, () =>
    all.every(({ service }) => {
      const { lastProblem, lastSentMs } = service.status();
      return lastProblem === null && lastSentMs !== null;
    }));
  await Promise.all([pass(all, 12), a.close(), b.close(), later.close()]);
  kv.close();
});

Deno.test("a node that lost the lease while it sent does not record its result", async () => {
  const kv = await Deno.openKv(":memory:");
  const both = [await joinMail(kv, "a"), await joinMail(kv, "b")] as const;
  const [a, b] = both;
  const answer = Promise.withResolvers<typeof ACCEPTED>();
  for (const { transport } of both) transport.answer = () => answer.promise;
  await a.queue({ to: "ada@example.org", about: "user:ada" });
  await until("the mail is being sent", both, () => triedOf(both).length === 1);
  const [, other] = holderOf(both);
  other.transport.answer = () => refusedAs("recipient_refused", "550 5.1.1 unknown");
  await until("the other node has failed", [other], () => other.service.status().failed === 1);
  assertEquals(other.transport.tried.length, 1);
  answer.resolve(ACCEPTED);
  await pass(both, 12);
  assertEquals((await other.entries(["mail"])).map((key) => key[1]), ["content", "failed"]);
  await Promise.all([pass(both, 12), a.close(), b.close()]);
  kv.close();
});
