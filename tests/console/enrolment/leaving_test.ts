// What becomes of the invitations, mails and deadlines of users who leave or are renamed, on two nodes that share a store.

import { assertEquals } from "@std/assert";
import type { CampaignView } from "../../../console/api/enrolment/campaigns.ts";
import type { EnrolmentMark } from "../../../radius/factors/enrolment_marks.ts";
import { SCIM_ACTOR } from "../../fakes/directory_calls.ts";
import { openComposition, type TestComposition } from "../../fakes/composition.ts";
import { whileTimePasses } from "../../radius/rows/passing_time.ts";
import { eventually } from "../../upstream/manual_clock.ts";
import { addressOf } from "./enrolment_scene.ts";

/** The mails wait: no server listens at the port. */
const MAIL = `[mail]
host = "127.0.0.1"
port = 9
security = "none"
from = "it@example.com"
`;
const USERS = ["ada", "bob", "cleo", "dora"];

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
    for (const name of USERS) {
      await both(a.ask("POST", "/users", { user: { userName: name, emails: addressOf(name) } }));
    }
    const campaign = { name: "Rollout", choice: { names: USERS }, options: { deadlineDays: 7 } };
    assertEquals((await both(a.ask("POST", "/enrolment/campaigns", campaign))).status, 200);
    await becomes("all are invited", async () => (await markedUsers(b)).length === USERS.length);
    await both(b.ask("DELETE", "/users/ada", {}));
    await both(b.ask("PUT", "/users/bob/active", { active: false }));
    await both(rename(b, "cleo", { name: "clea" }));
    await both(rename(b, "dora", { name: "doro", active: false }));
    await becomes("the others are gone", async () => (await markedUsers(a)).join() === "clea");
    for (const node of [a, b]) {
      await becomes("the mails are gone", async () => (await mailedUsers(node)).join() === "user:clea");
      const { text } = await both(node.ask("GET", "/enrolment/campaigns"));
      const [view] = (JSON.parse(text) as { campaigns: CampaignView[] }).campaigns;
      assertEquals([view?.invited, view?.state], [USERS.length, "done"]);
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
