// Campaigns: each user gets one mail, whatever happens between two commits. Also users who leave or are renamed, and links that are not needed.

import { assert, assertEquals } from "@std/assert";
import type { CampaignOptions, CampaignView } from "../../../console/api/enrolment/campaigns.ts";
import type { NewMail } from "../../../platform/mail/mail.ts";
import type { Store } from "../../../platform/store.ts";
import type { EnrolmentMark } from "../../../radius/factors/own_factors.ts";
import { openComposition, type TestComposition } from "../../fakes/composition.ts";
import { SCIM_ACTOR } from "../../fakes/directory_calls.ts";
import { whileTimePasses } from "../../radius/rows/passing_time.ts";
import { eventually } from "../../upstream/manual_clock.ts";
import {
  addressOf,
  DAY_MS,
  type EnrolmentNode,
  type EnrolmentScene,
  openEnrolmentScene,
  userNames,
} from "./enrolment_scene.ts";

const USERS = 200;

async function recordOf(node: EnrolmentNode, id: string) {
  const campaign = await node.service.campaigns.read(id);
  if (campaign === null) throw new Error("Cannot find the campaign");
  return campaign.record;
}

/** The addresses that got a mail, in order. */
async function sentTo({ queue }: EnrolmentNode): Promise<string[]> {
  return (await queue.mails()).map(({ to }) => to).sort();
}

Deno.test("a campaign mails 200 users one invitation each", async () => {
  const names = userNames(USERS);
  await using scene = await openEnrolmentScene({ users: names });
  const node = await scene.start();
  const { id } = await node.campaign(names, { deadlineDays: 7 });
  await node.run(5000);
  const { state, invited, skipped } = await recordOf(node, id);
  assertEquals({ state, invited, skipped }, { state: "done", invited: USERS, skipped: {} });
  const mails = await node.queue.mails();
  assertEquals([mails.length, new Set(mails.map(({ to }) => to)).size], [USERS, USERS]);
  const links = mails.map(({ values }) => values.link ?? "");
  assertEquals(new Set(links).size, USERS);
  assert(links.every((link) => /^https:\/\/login\.example\.com\/device#invite=[\w-]{22}$/.test(link)));
  const [first] = mails;
  const mark = node.marks.of(first?.values.userName ?? "");
  const view = await node.embedded.phone.viewInvitation(links[0]?.split("=")[1] ?? "", "");
  assert(view.ok && view.userName === first?.values.userName && view.deadlineMs === mark?.linkUntilMs);
  assertEquals([first?.expiresMs, mark?.deadlineMs], [
    mark?.linkUntilMs,
    (mark?.invitedMs ?? 0) + 7 * DAY_MS,
  ]);
});

Deno.test("a campaign notes for each user why there is no invitation", async () => {
  await using scene = await openEnrolmentScene({
    users: [
      "plain",
      "enrolled",
      "over1",
      ["silent", {}],
      ["refused", { emails: [{ value: "a@b.invalid" }] }],
      ["inactive", { active: false, emails: addressOf("inactive") }],
      ["number", { emails: addressOf("number"), phoneNumbers: [{ value: "+4930123456" }] }],
    ],
  });
  const node = await scene.start();
  scene.pairings.adopt(
    scene.pairings.prepare({ canonical: "enrolled", shown: "enrolled" }, {
      ...{ kind: "totp", seed: new Uint8Array(20) },
    }).pairing,
  );
  const names = ["not-in-directory", "inactive", "enrolled", "silent", "refused", "number", "plain", "over1"];
  const { id } = await node.campaign(names, { maximum: 1, includesNumbers: false });
  await node.run();
  const record = await recordOf(node, id);
  assertEquals([record.invited, record.next, record.state], [1, 8, "done"]);
  const { rows, total } = await node.service.campaigns.results(id, { did: "skipped", page: 1, size: 100 });
  assertEquals(total, 7);
  assertEquals(Object.fromEntries(rows.map(({ name, reason }) => [name, reason])), {
    "not-in-directory": "unknown_user",
    inactive: "inactive",
    enrolled: "has_factor",
    silent: "no_address",
    refused: "no_address",
    number: "has_number",
    over1: "over_maximum",
  });
  const pageOf = (did: "invited" | "skipped", page: number) =>
    node.service.campaigns.results(id, { did, page, size: 3 });
  const pages = await Promise.all([1, 2, 3, 4].map((page) => pageOf("skipped", page)));
  assertEquals(pages.flatMap((page) => page.rows), rows);
  assertEquals(pages.map((page) => [page.total, page.rows.length]), [[7, 3], [7, 3], [7, 1], [7, 0]]);
  assertEquals((await pageOf("invited", 1)).rows.map(({ name }) => name), ["plain"]);
  assertEquals(await sentTo(node), ["plain@example.com"]);
  const again = await node.campaign(["plain", "number"]);
  await node.run();
  assertEquals((await recordOf(node, again.id)).skipped, { invited_already: 1 });
  assertEquals(await sentTo(node), ["number@example.com", "plain@example.com"]);
});

/** The store of a process that dies at its commit number `count`: before it, or after it without having the answer. */
function dyingStore(store: Store, death: { left: number; readonly isAfter: boolean }): Store {
  return {
    ...store,
    async commit(transaction) {
      death.left -= 1;
      if (death.left > 0) return await store.commit(transaction);
      if (death.left === 0 && death.isAfter) await store.commit(transaction);
      throw new Error("The process ended");
    },
  };
}

for (const isAfter of [false, true]) {
  const when = isAfter ? "right after" : "right before";
  Deno.test(`a campaign that ends ${when} each of its commits mails each user once`, async () => {
    const names = ["a", "b", "inactive", "c", "d"];
    const users = names.map((name) =>
      [name, { active: name !== "inactive", emails: addressOf(name) }] as const
    );
    let deaths = 0;
    for (let count = 1;; count++) {
      await using scene = await openEnrolmentScene({ users });
      const before = await scene.start();
      const { id } = await before.campaign(names);
      const death = { left: count, isAfter };
      const dying = await scene.start((store) => dyingStore(store, death));
      await dying.run();
      await dying.stop();
      const after = await scene.start();
      await after.run();
      const { state, invited, skipped } = await recordOf(after, id);
      assertEquals({ state, invited, skipped }, { state: "done", invited: 4, skipped: { inactive: 1 } });
      assertEquals(
        await sentTo(after),
        ["a", "b", "c", "d"].map((name) => `${name}@example.com`),
        `at ${count}`,
      );
      for (const { values } of await after.queue.mails()) {
        const view = await after.embedded.phone.viewInvitation((values.link ?? "").split("=")[1] ?? "", "");
        assert(view.ok && view.userName === values.userName, `the link of each mail is valid, at ${count}`);
      }
      if (death.left > 0) break;
      deaths += 1;
    }
    assertEquals(deaths, 5, "four invitations, and the end of the campaign with the skipped user");
  });
}

Deno.test("two nodes that run one campaign mail each user once", async () => {
  const names = userNames(60);
  await using scene = await openEnrolmentScene({ users: names });
  // Without a lease between them: the record of the campaign decides.
  const [a, b] = [await scene.start(), await scene.start()];
  const { id } = await a.campaign(names);
  a.service.runner.wake();
  b.service.runner.wake();
  for (let round = 0; round < 20; round++) {
    scene.clock.advance(500);
    await Promise.all([a.service.runner.idle(), b.service.runner.idle()]);
  }
  assertEquals((await recordOf(a, id)).state, "done");
  assertEquals(await sentTo(a), names.map((name) => `${name}@example.com`).sort());
});

Deno.test("a campaign waits while the mail queue is full, and then continues", async () => {
  await using scene = await openEnrolmentScene({ users: ["a", "b", "c"] });
  const node = await scene.start();
  node.queue.isFull = true;
  const { id } = await node.campaign(["a", "b", "c"]);
  await node.run();
  const { wait, next, state } = await recordOf(node, id);
  assertEquals({ wait, next, state }, { wait: "mail_queue_full", next: 0, state: "running" });
  node.queue.isFull = false;
  await node.run(11_000);
  assertEquals([(await recordOf(node, id)).wait, (await sentTo(node)).length], [null, 3]);
});

Deno.test("a campaign keeps its limit per minute", async () => {
  const names = userNames(30);
  await using scene = await openEnrolmentScene({ users: names });
  const node = await scene.start();
  const { id } = await node.campaign(names, { perMinute: 6 });
  await node.run(60_000);
  const { invited } = await recordOf(node, id);
  assert(invited >= 6 && invited <= 7, `${invited} in the first minute`);
});

Deno.test("a cancelled campaign invites and reminds no further user", async () => {
  const names = userNames(30);
  await using scene = await openEnrolmentScene({ users: names });
  const node = await scene.start();
  const { id } = await node.campaign(names, { perMinute: 60 });
  await node.run(3000);
  const found = await node.service.campaigns.read(id);
  if (found === null) throw new Error("Cannot find the campaign");
  const { campaigns } = node.service;
  const mutations = [campaigns.setting(id, { ...found.record, state: "cancelled" })];
  assert((await scene.store.commit({ checks: [campaigns.check(found)], mutations })).ok);
  const sent = (await sentTo(node)).length;
  assert(sent > 0 && sent < 30);
  await node.run(60_000);
  scene.clock.advance(8 * DAY_MS);
  await node.run(60_000);
  assertEquals((await sentTo(node)).length, sent);
});

/** Runs a campaign with one user, and what `change` does before it. */
async function inviteOne(scene: EnrolmentScene, node: EnrolmentNode, options: Partial<CampaignOptions> = {}) {
  const { id } = await node.campaign(["ada"], options);
  await node.run();
  return { record: await recordOf(node, id), mails: await node.queue.mails(), scene };
}

Deno.test("a further invitation replaces the earlier link", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada"] });
  const node = await scene.start();
  const first = await inviteOne(scene, node);
  const second = await inviteOne(scene, node, { again: true });
  assertEquals([second.record.invited, second.mails.length], [1, 2]);
  const views = await Promise.all(
    second.mails.map(({ values }) =>
      node.embedded.phone.viewInvitation((values.link ?? "").split("=")[1] ?? "", "")
    ),
  );
  assertEquals(views.map(({ ok }) => ok), [false, true]);
  assertEquals(first.mails.length, 1);
});

Deno.test("a campaign finds a user who was renamed since it began, and not one who was deleted", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada", "bob"] });
  const node = await scene.start();
  const { id } = await node.campaign(["ada", "bob"]);
  const stored = await scene.target.directory.read("user", "ada");
  if (stored?.content.kind !== "user") throw new Error("Cannot read the user");
  const actor = { name: "scim:hr", source: "" };
  await scene.target.rename("user", "ada", { ...stored.content, name: "ada.new" }, { actor });
  await scene.target.remove("user", "bob", { actor });
  await node.run();
  const { invited, skipped } = await recordOf(node, id);
  assertEquals({ invited, skipped }, { invited: 1, skipped: { unknown_user: 1 } });
  assertEquals((await node.queue.mails()).map(({ values }) => values.userName), ["ada.new"]);
  assert(node.marks.of("ada.new") !== null && node.marks.of("ada") === null);
});

/** The mails wait: no server listens at the port. */
const MAIL = `[mail]
host = "127.0.0.1"
port = 9
security = "none"
from = "it@example.com"
`;
const LEAVING_USERS = ["ada", "bob", "cleo", "dora"];

async function markedUsers({ store }: TestComposition): Promise<string[]> {
  const marks = await Array.fromAsync(store.list<EnrolmentMark>(["enrolment"]));
  return marks.map(({ key }) => String(key.at(-1)));
}

/** The users with a mail that waits, as the node lists them. */
async function mailedUsers({ mail }: TestComposition): Promise<string[]> {
  const rows = await mail.admin.list("waiting", { after: null, limit: 10 });
  return rows.map(({ about }) => about);
}

/** Renames a user, and changes the others of `changes` in the same write. */
async function rename(
  { identity }: TestComposition,
  name: string,
  changes: { name: string; active?: boolean },
): Promise<void> {
  const target = identity.targets.get("default");
  const stored = await target?.directory.read("user", name);
  if (stored?.content.kind !== "user") throw new Error("Cannot read the user");
  await target?.rename("user", name, { ...stored.content, ...changes }, { actor: SCIM_ACTOR });
}

Deno.test("a user who leaves after the invitation has no link, mail and deadline on any node, a renamed one keeps them", async () => {
  const kv = await Deno.openKv(":memory:");
  {
    await using a = await openComposition(MAIL, { joins: { kv, node: "aaaaaaaa" } });
    await using b = await openComposition(MAIL, { joins: { kv, node: "bbbbbbbb" } });
    const both = <T>(work: Promise<T>) => whileTimePasses(b.clock, whileTimePasses(a.clock, work));
    const becomes = (what: string, condition: () => Promise<boolean>) => both(eventually(what, condition));
    for (const name of LEAVING_USERS) {
      await both(a.ask("POST", "/users", { user: { userName: name, emails: addressOf(name) } }));
    }
    const campaign = { name: "Rollout", choice: { names: LEAVING_USERS }, options: { deadlineDays: 7 } };
    assertEquals((await both(a.ask("POST", "/enrolment/campaigns", campaign))).status, 200);
    await becomes("all are invited", async () => (await markedUsers(b)).length === LEAVING_USERS.length);
    await both(b.ask("DELETE", "/users/ada", {}));
    await both(b.ask("PUT", "/users/bob/active", { active: false }));
    await both(rename(b, "cleo", { name: "clea" }));
    await both(rename(b, "dora", { name: "doro", active: false }));
    await becomes("the others are gone", async () => (await markedUsers(a)).join() === "clea");
    for (const node of [a, b]) {
      await becomes("the mails are gone", async () => (await mailedUsers(node)).join() === "user:clea");
      const { text } = await both(node.ask("GET", "/enrolment/campaigns"));
      const [view] = (JSON.parse(text) as { campaigns: CampaignView[] }).campaigns;
      assertEquals([view?.invited, view?.state], [LEAVING_USERS.length, "done"]);
    }
    await both(b.ask("PUT", "/users/bob/active", { active: true }));
    assertEquals(await markedUsers(b), ["clea"]);
    const again = { ...campaign, name: "Again", choice: { names: ["bob", "clea"] } };
    assertEquals((await both(b.ask("POST", "/enrolment/campaigns", again))).status, 200);
    await becomes("the user who returned is invited", async () => (await markedUsers(a)).includes("bob"));
    await becomes("the mail waits", async () => (await mailedUsers(a)).includes("user:bob"));
  }
  kv.close();
});

/** Gives a user an authenticator app, as on another page. */
function addApp(scene: EnrolmentScene, user: string): void {
  const app = { kind: "totp", seed: new Uint8Array(20) } as const;
  scene.pairings.adopt(scene.pairings.prepare({ canonical: user, shown: user }, app).pairing);
}

/** Why the link of a mail does not work; "" if it works. */
async function whyClosed({ embedded }: EnrolmentNode, mail: NewMail | undefined): Promise<string> {
  const view = await embedded.phone.viewInvitation((mail?.values.link ?? "").split("=")[1] ?? "", "");
  return view.ok ? "" : view.reason;
}

Deno.test("the link of a user who enrolled in another way ends, also on the other node", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada", "bob"] });
  const node = await scene.start();
  await node.campaign(["ada", "bob"]);
  await node.run();
  const mails = await node.queue.mails();
  const linkOf = (user: string) => mails.find(({ values }) => values.userName === user);
  assertEquals([await whyClosed(node, linkOf("ada")), await whyClosed(node, linkOf("bob"))], ["", ""]);
  addApp(scene, "ada");
  await node.run(60_000);
  assertEquals(await node.queue.removals(), ["user:ada enrolment"]);
  const other = await scene.start();
  for (const one of [node, other]) {
    assertEquals([await whyClosed(one, linkOf("ada")), await whyClosed(one, linkOf("bob"))], [
      "already_used",
      "",
    ]);
  }
});

Deno.test("a user who used the link and lost the factor is invited again without the option for it", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada", "bob"] });
  const node = await scene.start();
  await node.campaign(["ada", "bob"]);
  await node.run();
  const mails = await node.queue.mails();
  const invitation = (mails.find(({ values }) => values.userName === "ada")?.values.link ?? "").split("=")[1];
  const used = await node.embedded.phone.acceptInvitation(invitation ?? "", { token: null, source: "" });
  assert(used.ok);
  const { id } = await node.campaign(["ada", "bob"]);
  await node.run();
  const { invited, skipped } = await recordOf(node, id);
  assertEquals({ invited, skipped }, { invited: 1, skipped: { invited_already: 1 } });
});
