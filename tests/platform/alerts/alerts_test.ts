// Alerts as a whole: a record or a state leads to a message, once, also if something on the way fails.

import { assert, assertEquals } from "@std/assert";
import { NodeLease } from "../../../platform/cluster/lease.ts";
import { BEAT_MS, Nodes } from "../../../platform/cluster/nodes.ts";
import { createLog } from "../../../platform/log.ts";
import { describeNode, openNode } from "../../fakes/shared_store.ts";
import { createManualClock, eventually } from "../../upstream/manual_clock.ts";
import {
  type AlertWorld,
  BY,
  failing,
  openAlertWorld,
  openChatWorld,
  pendingOf,
  typesOf,
  webhooksOf,
} from "./alert_world.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

Deno.test("a lockout is sent by webhook and by mail, and is in the list and the audit log", async () => {
  await using world = await openChatWorld();
  await world.receive("team", {
    kind: "mail",
    language: "de",
    addresses: ["a@example.com", "b@example.com"],
  });
  await world.record("user.locked", "ada", { client: "vpn-1", hard: true });
  await world.run();
  const [webhook] = await webhooksOf(world, 1);
  assertEquals(webhook?.body.type, "alert.opened");
  assertEquals(webhook?.body.text.split("\n")[0], "User ada is locked");
  assertEquals(webhook?.body.data.values, { user: "ada", client: "vpn-1", isHard: true });
  await eventually("both mails are queued", async () => (await world.mail.mails()).length === 2);
  const mails = await world.mail.mails();
  assertEquals(mails.map(({ to, language, values }) => [to, language, values.title]), [
    ["a@example.com", "de", "Benutzer ada ist gesperrt"],
    ["b@example.com", "de", "Benutzer ada ist gesperrt"],
  ]);
  await eventually("nothing waits", async () => await pendingOf(world) === 0);
  const { open, items, next } = await world.service.list("");
  assertEquals(open.map(({ kind, about, count }) => [kind, about, count]), [["user_locked", "user:ada", 1]]);
  assertEquals(items[0]?.deliveries.map(({ receiver, state }) => [receiver, state]), [
    ...[["chat", "sent"], ["team", "sent"]],
  ]);
  assertEquals(next, null);
  const actions = (await Array.fromAsync(world.store.list<{ action: string }>(["audit"])))
    .map(({ value }) => value?.action);
  assertEquals(actions.filter((action) => action === "alert.opened").length, 1);
});

Deno.test("an acknowledged alert leaves the open list of every node, with who and when, until the next event", async () => {
  const clock = createManualClock();
  await using world = await openAlertWorld({ clock });
  await using other = await openAlertWorld({ store: world.store, clock });
  // It serves the page, and does not watch.
  other.kill();
  const hugo = { ...BY, actor: "administrator:hugo", name: "hugo" };
  await world.record("user.not_me", "ada");
  await world.run();
  const ids = async ({ service }: AlertWorld) => (await service.listOpen()).map(({ id }) => id);
  const [id = ""] = await ids(world);
  assertEquals(await world.service.acknowledge("none", 1, hugo), "unknown");
  assertEquals(await world.service.acknowledge(id, 2, hugo), "changed");
  assertEquals(await ids(other), [id]);
  const atMs = clock.nowMs();
  assertEquals(await world.service.acknowledge(id, 1, hugo), "done");
  assertEquals(await other.service.acknowledge(id, 1, { ...hugo, name: "eve" }), "done");
  assertEquals([await ids(world), await ids(other)], [[], []]);
  const { open, items } = await other.service.list("");
  assertEquals([open, items.map(({ acknowledged }) => acknowledged)], [[], [{ by: "hugo", atMs }]]);
  const records = await Array.fromAsync(world.store.list<Record<string, unknown>>(["audit"]));
  const audited = records.flatMap(({ value }) => value?.["action"] === "alert.acknowledge" ? [value] : []);
  assertEquals(audited.map(({ actor, object, alert, subject }) => ({ actor, object, alert, subject })), [
    { actor: "administrator:hugo", object: "alert:fraud_reported", alert: id, subject: "user:ada" },
  ]);
  await world.record("user.not_me", "ada");
  await world.run();
  assertEquals([await ids(world), await ids(other)], [[id], [id]]);
  assertEquals((await other.service.list("")).items[0]?.acknowledged, null);
});

Deno.test("a state that becomes critical opens its acknowledged alert again", async () => {
  await using world = await openAlertWorld();
  const state = (severity: "warning" | "critical") =>
    world.states = [{
      ...failing("ldap"),
      kind: "certificate_expiring",
      about: "certificate:http",
      severity,
    }];
  state("warning");
  await world.run(10 * MINUTE_MS, 10_000);
  const [alert] = await world.service.listOpen();
  assertEquals(await world.service.acknowledge(alert?.id ?? "", 1, { ...BY, name: "hugo" }), "done");
  await world.run(MINUTE_MS, 10_000);
  assertEquals(await world.service.listOpen(), []);
  state("critical");
  await world.run(MINUTE_MS, 10_000);
  assertEquals((await world.service.listOpen()).map(({ severity }) => severity), ["critical"]);
});

Deno.test("what happened before the first start is no alert; what happened while the gateway was stopped is one", async () => {
  const clock = createManualClock();
  const kv = await Deno.openKv(":memory:");
  {
    await using first = await openAlertWorld({ kv, clock });
    await first.receive("chat");
    await first.service.close();
    await first.record("user.locked", "ada");
    await using again = await openAlertWorld({ store: first.store, clock });
    await again.run();
    assertEquals((await webhooksOf(again, 1)).map(({ body }) => body.data.about), ["user:ada"]);
  }
});

Deno.test("a node that is killed between the commit and the delivery: the next one delivers", async () => {
  await using world = await openChatWorld();
  // The first node never hears an answer.
  world.answer = () => new Promise(() => undefined);
  await world.record("user.not_me", "ada");
  await world.run();
  await eventually("the request is sent", () => world.requests() === 1);
  world.kill();
  await using next = await openAlertWorld({ store: world.store, clock: world.clock });
  await next.run();
  const [webhook] = await webhooksOf(next, 1);
  assertEquals(webhook?.body.data.kind, "fraud_reported");
  await eventually("nothing waits", async () => await pendingOf(next) === 0);
});

Deno.test("the same object within the cooldown is counted; the next message says how many there were", async () => {
  await using world = await openChatWorld();
  for (let number = 0; number < 3; number++) {
    await world.record("user.locked", number === 1 ? "ADA" : "ada");
    await world.run();
  }
  assertEquals((await webhooksOf(world, 1)).length, 1);
  await world.run(15 * MINUTE_MS, MINUTE_MS);
  await world.record("user.locked", "ada");
  await world.run();
  const [, second] = await webhooksOf(world, 2);
  assertEquals([second?.body.type, second?.body.data.count], ["alert.again", 4]);
  assertEquals((second?.body.data.values as { since: number }).since, 3);
  assertEquals((await world.service.list("")).items.length, 1);
});

Deno.test("10,000 lockouts in a minute: few messages, few records, and the last one says how many", async () => {
  await using world = await openChatWorld();
  const commits = countCommits(world);
  for (let at = 0; at < 10_000; at += 500) {
    const records = Array.from({ length: 500 }, (_, one) => world.record("user.locked", `u${at + one}`));
    await Promise.all(records);
  }
  const before = commits();
  await world.run(20 * MINUTE_MS, 10_000);
  const sent = await webhooksOf(world, 7);
  const { items } = await world.service.list("");
  assertEquals(items.reduce((sum, { count }) => sum + count, 0), 10_000);
  assertEquals(items.length, 6);
  assertEquals(sent.length, 7);
  assert(sent.at(-1)?.body.text.startsWith("Again: "), sent.at(-1)?.body.text);
  assert(commits() - before < 100, `${commits() - before} commits`);
});

/** Counts the commits of a world from now on. */
function countCommits({ store }: AlertWorld): () => number {
  const { commit } = store;
  let count = 0;
  store.commit = (transaction) => {
    count++;
    return commit.call(store, transaction);
  };
  return () => count;
}

Deno.test("a flood of warnings uses up no limit of critical alerts", async () => {
  await using world = await openAlertWorld();
  world.settings.perHour = 2;
  await world.receive("chat");
  for (const name of ["a", "b", "c", "d"]) await world.record("user.locked", name);
  await world.run();
  // The deliveries of a run may end after it.
  await webhooksOf(world, 2);
  await world.record("user.not_me", "ada");
  await world.run();
  const sent = await webhooksOf(world, 3);
  assertEquals(sent.map(({ body }) => body.data.kind), ["user_locked", "user_locked", "fraud_reported"]);
  const states = (await world.service.list("")).items.map((
    { kind, deliveries },
  ) => [kind, deliveries[0]?.state]);
  assertEquals(states.filter(([, state]) => state === "suppressed").length, 2);
  // After the hour, one message says how many were left out.
  await world.run(HOUR_MS, 10 * MINUTE_MS);
  const [, , , last] = await webhooksOf(world, 4);
  assertEquals([last?.body.type, last?.body.data.count], ["alert.left_out", 2]);
});

Deno.test("a state that lasts is sent once, again after a day, and when it ended", async () => {
  await using world = await openChatWorld();
  world.states = [failing("ldap")];
  await world.run(4 * MINUTE_MS, 10_000);
  assertEquals(typesOf(world), []);
  await world.run(2 * MINUTE_MS, 10_000);
  await webhooksOf(world, 1);
  await world.run(HOUR_MS, 10_000);
  assertEquals(typesOf(world), ["alert.opened"]);
  await world.run(24 * HOUR_MS, 10 * MINUTE_MS);
  await webhooksOf(world, 2);
  world.states = [failing("ldap", "ok")];
  await world.run(6 * MINUTE_MS, 10_000);
  await webhooksOf(world, 3);
  assertEquals(typesOf(world), ["alert.opened", "alert.reminder", "alert.ended"]);
  const { open, items } = await world.service.list("");
  assertEquals([open.length, items.length], [0, 1]);
});

Deno.test("states that cannot be read change nothing, and events are still sent", async () => {
  await using world = await openChatWorld();
  world.states = [failing("ldap")];
  await world.run(6 * MINUTE_MS, 10_000);
  await webhooksOf(world, 1);
  world.states = new Error("planted");
  await world.run(20 * MINUTE_MS, 10_000);
  await world.record("user.not_me", "ada");
  await world.run();
  await webhooksOf(world, 2);
  assertEquals((await world.service.list("")).open.length, 2);
});

Deno.test("an alert that is open is known after a restart: it is not sent again, and its end is sent", async () => {
  await using world = await openChatWorld();
  world.states = [failing("ldap")];
  await world.run(6 * MINUTE_MS, 10_000);
  await webhooksOf(world, 1);
  await world.service.close();
  await using next = await openAlertWorld({ store: world.store, clock: world.clock });
  next.states = [failing("ldap")];
  await next.run(20 * MINUTE_MS, 10_000);
  next.states = [];
  await next.run(6 * MINUTE_MS, 10_000);
  assertEquals((await webhooksOf(next, 1)).map(({ body }) => body.type), ["alert.ended"]);
});

Deno.test("records that cannot be read stop nothing", async () => {
  await using world = await openChatWorld();
  await world.service.close();
  const planted = { kind: "__proto__", severity: 5, values: null };
  await world.store.commit({
    mutations: [
      { type: "set", key: ["alert", "0"], value: planted },
      { type: "set", key: ["alert_open", "0"], value: 1 },
      { type: "set", key: ["alert_open", "gone"], value: 1 },
      { type: "set", key: ["alert_pending", "chat", "0"], value: planted },
      { type: "set", key: ["alert_pending", "chat", "1"], value: null },
      { type: "set", key: ["alert_delivery", "0", "chat"], value: "x" },
      { type: "set", key: ["alert_cursor"], value: { position: 5, counts: [], budgets: { chat: 7 } } },
    ],
  });
  await using next = await openAlertWorld({ store: world.store, clock: world.clock });
  await next.record("user.not_me", "ada");
  await next.run();
  assertEquals((await webhooksOf(next, 1)).length, 1);
  assertEquals((await next.service.list("")).items.length, 1);
});

Deno.test("alerts that are off send nothing, and begin with the time when they are on again", async () => {
  await using world = await openChatWorld();
  world.settings.enabled = false;
  await world.run();
  await world.record("user.not_me", "ada");
  await world.run(MINUTE_MS, 10_000);
  world.settings.enabled = true;
  await world.run();
  await world.record("user.not_me", "grace");
  await world.run();
  assertEquals((await webhooksOf(world, 1)).map(({ body }) => body.data.about), ["user:grace"]);
  assertEquals((await world.service.list("")).items.length, 1);
});

Deno.test("rejected sign-ins become one alert, which ends", async () => {
  await using world = await openChatWorld();
  for (let count = 0; count < 19; count++) await world.record("login.rejected", "ada");
  await world.run();
  assertEquals(typesOf(world), []);
  await world.record("login.rejected", "ada");
  await world.run();
  const [opened] = await webhooksOf(world, 1);
  assertEquals(opened?.body.data.values, { inTenMinutes: 20, average: null });
  await world.run(12 * MINUTE_MS, MINUTE_MS);
  await webhooksOf(world, 2);
  assertEquals(typesOf(world), ["alert.opened", "alert.ended"]);
});

// Alerts on two nodes with one store: one node watches and sends each message once, and the other continues when it dies.

interface AlertNode extends AlertWorld {
  readonly lease: () => NodeLease | undefined;
  readonly end: () => Promise<void>;
}

async function joinAlerts(kv: Deno.Kv, node: string): Promise<AlertNode> {
  const clock = createManualClock(Date.now());
  const { store } = await openNode(kv, node);
  const log = createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() });
  const describe = () => ({
    ...describeNode(node, clock.nowMs()),
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
