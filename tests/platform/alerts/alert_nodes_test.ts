// Alerts on two nodes with one store: one node watches and sends each message once, and the other continues when it dies.

import { assertEquals } from "@std/assert";
import { NodeLease } from "../../../platform/cluster/lease.ts";
import { BEAT_MS, Nodes } from "../../../platform/cluster/nodes.ts";
import { createLog } from "../../../platform/log.ts";
import { openNode } from "../../fakes/shared_store.ts";
import { createManualClock, eventually } from "../../upstream/manual_clock.ts";
import { type AlertWorld, failing, openAlertWorld } from "./alert_world.ts";

interface AlertNode extends AlertWorld {
  readonly lease: () => NodeLease | undefined;
  readonly end: () => Promise<void>;
}

async function joinAlerts(kv: Deno.Kv, node: string): Promise<AlertNode> {
  const clock = createManualClock(Date.now());
  const { store } = await openNode(kv, node);
  const log = createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() });
  const describe = () => ({
    ...{ name: node, version: "1", startedMs: clock.nowMs(), radius: [], http: "", publicKey: "" },
    figures: { waiting: 0, requestsPerS: 0, rssOctets: 0, lagMs: 0, leases: [] },
    ...{ auditMark: store.auditMark(), firstAuditMark: store.firstAuditMark },
  });
  const nodes = new Nodes({ store, clock, log, describe });
  await nodes.start();
  const leases: NodeLease[] = [];
  const world = await openAlertWorld({
    ...{ store, clock },
    cluster: {
      list: () => nodes.list(),
      openLease(name, events) {
        const lease = new NodeLease({ store, nodes, clock, log, name, ...events });
        leases.push(lease);
        return lease;
      },
    },
  });
  const end = async () => {
    await world.service.close();
    await nodes.close();
  };
  return Object.assign(world, { lease: () => leases[0], end });
}

/** Lets the nodes beat and run until it is so. */
async function until(
  what: string,
  nodes: readonly AlertNode[],
  hasHappened: () => boolean | Promise<boolean>,
): Promise<void> {
  await eventually(what, async () => {
    for (const { clock, store } of nodes) {
      clock.advance(BEAT_MS);
      await store.catchUp();
    }
    return await hasHappened();
  }, { withinMs: 10_000 });
}

const aboutOf = ({ webhooks }: AlertNode) => webhooks.map(({ body }) => body.data.about);
const allOf = (nodes: readonly AlertNode[]) => nodes.flatMap(aboutOf).toSorted();

/** Ends all nodes. One that waits for the lease of another one must see its end. */
async function endAll(kv: Deno.Kv, nodes: readonly AlertNode[]): Promise<void> {
  for (const node of nodes) await node.end();
  kv.close();
}

Deno.test("records of two nodes: each message is sent once, by the node with the lease", async () => {
  const kv = await Deno.openKv(":memory:");
  const [a, b] = [await joinAlerts(kv, "a"), await joinAlerts(kv, "b")];
  const both = [a, b];
  await b.receive("chat");
  await until("a node has the lease", both, () => both.some((node) => node.lease()?.isHeld));
  await until(
    "both know the receiver",
    both,
    () => both.every(({ service }) => service.receivers.all.size === 1),
  );
  await a.record("user.not_me", "ada");
  await b.record("user.not_me", "grace");
  await until("both messages arrive", both, () => allOf(both).length >= 2);
  let rounds = 0;
  await until("some time passes", both, () => ++rounds > 50);
  assertEquals(allOf(both), ["user:ada", "user:grace"]);
  assertEquals(both.filter(({ webhooks }) => webhooks.length > 0).length, 1);
  await endAll(kv, both);
});

Deno.test("the node with the lease dies while it sends: the other one sends the message, and knows the open alerts", async () => {
  const kv = await Deno.openKv(":memory:");
  const [a, b] = [await joinAlerts(kv, "a"), await joinAlerts(kv, "b")];
  const both = [a, b];
  await a.receive("chat");
  await until("a node has the lease", both, () => both.some((node) => node.lease()?.isHeld));
  const [holder, other] = a.lease()?.isHeld === true ? [a, b] : [b, a];
  const { store } = other;
  for (const node of both) node.states = [failing("ldap")];
  const openCount = async () => (await Array.fromAsync(store.list(["alert_open"]))).length;
  await until("the state is an alert", both, async () => await openCount() === 1);
  await until("it is sent", both, () => holder.webhooks.length === 1);
  // The answers never reach the dying node.
  holder.answer = () => new Promise(() => undefined);
  await other.record("user.not_me", "ada");
  await until("the message is being sent", both, () => holder.requests() === 2);
  holder.kill();
  await until("the other node sends it", [other], () => other.webhooks.length > 0);
  assertEquals(aboutOf(other), ["user:ada"]);
  const opened = (await other.service.list("")).items.filter(({ kind }) => kind === "backend_failing");
  assertEquals(opened.map(({ count, endedMs }) => [count, endedMs]), [[1, null]]);
  await endAll(kv, both);
});
