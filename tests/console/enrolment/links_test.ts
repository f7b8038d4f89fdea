// The links of invitations that are not needed or not valid any more.

import { assert, assertEquals } from "@std/assert";
import type { NewMail } from "../../../platform/mail/mail.ts";
import { type EnrolmentNode, type EnrolmentScene, openEnrolmentScene } from "./enrolment_scene.ts";

async function recordOf(node: EnrolmentNode, id: string) {
  const campaign = await node.service.campaigns.read(id);
  if (campaign === null) throw new Error("Cannot find the campaign");
  return campaign.record;
}

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
