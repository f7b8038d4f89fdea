// An authenticator app by invitation: the same rules as for a phone, and once.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { createInvitedApp } from "../../../console/api/enrolment/invited_app.ts";
import { Refusal } from "../../../console/api/errors.ts";
import { decodeBase32, totpAt } from "../../../radius/factors/totp.ts";
import { readUserNotices } from "../../../console/api/notices/notices.ts";
import { DAY_MS, type EnrolmentNode, type EnrolmentScene, openEnrolmentScene } from "./enrolment_scene.ts";

const ORIGIN = { source: "192.0.2.9", browser: "Firefox on Windows" };
const STEP_MS = 30_000;

async function open(scene: EnrolmentScene) {
  const node = await scene.start();
  await node.campaign(["ada"]);
  await node.run();
  const [mail] = await node.queue.mails();
  const app = createInvitedApp({ ...node.deps, vault: scene.vault, people: node.deps.people });
  return { node, app, invitation: (mail?.values.link ?? "").split("=")[1] ?? "" };
}

function codeOf(scene: EnrolmentScene, secret: string, steps = 0): string {
  const seed = decodeBase32(secret) ?? new Uint8Array();
  return totpAt(seed, Math.floor(scene.clock.nowMs() / STEP_MS) + steps, 6);
}

async function refusalOf(call: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => call, Refusal)).code;
}

/** The kinds of ada's factors. */
function factorsOf({ deps: { people } }: EnrolmentNode): string[] {
  return people.pairings.of("ada").map(({ kind }) => kind);
}

Deno.test("an invitation enrols an authenticator app once, with recovery codes on request", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada"] });
  const { node, app, invitation } = await open(scene);
  const { secret, uri, qr } = await app.begin(invitation, ORIGIN);
  assert(uri.startsWith("otpauth://totp/") && uri.includes("ada") && qr !== null);
  const wrong = codeOf(scene, secret, 50);
  assertEquals(
    await refusalOf(app.confirm(invitation, { ...ORIGIN, code: wrong, wantsCodes: true })),
    "wrong_totp",
  );
  assertEquals(factorsOf(node), []);
  const proof = { ...ORIGIN, code: codeOf(scene, secret), wantsCodes: true };
  const { userName, codes } = await app.confirm(invitation, proof);
  assertEquals([userName, codes?.length, factorsOf(node)], ["ada", 10, ["totp"]]);
  assertEquals(node.deps.people.recoveryCodes.status("ada").left, 10);
  assertEquals(await refusalOf(app.confirm(invitation, proof)), "already_used");
  assertEquals(await refusalOf(app.begin(invitation, ORIGIN)), "already_used");
  const asPhone = await node.embedded.phone.acceptInvitation(invitation, { token: null, ...ORIGIN });
  assertEquals(asPhone.ok ? "" : asPhone.reason, "already_used");
  const { id: recordId } = await node.deps.people.findUserRecord("ada");
  const notices = await readUserNotices(scene.store, { userName: "ada", recordId });
  assertEquals(notices.map(({ what, by }) => `${what} ${by}`).sort(), ["recovery_codes self", "totp self"]);
  const audits = (await scene.audits()).filter(({ actor }) => actor === "user:ada");
  assertEquals(audits.map(({ action, source }) => `${action} ${source}`), [
    "pairing.add 192.0.2.9",
    "recovery_codes.make 192.0.2.9",
  ]);
  assert(!JSON.stringify(audits).includes(secret), "the seed is in no record");
});

Deno.test("a second key of an invitation replaces the first, and without a key there is no app", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada"] });
  const { node, app, invitation } = await open(scene);
  const proof = { ...ORIGIN, wantsCodes: false };
  assertEquals(await refusalOf(app.confirm(invitation, { ...proof, code: "123456" })), "no_totp_begun");
  const first = await app.begin(invitation, ORIGIN);
  const second = await app.begin(invitation, ORIGIN);
  const refused = await refusalOf(app.confirm(invitation, { ...proof, code: codeOf(scene, first.secret) }));
  assertEquals([refused, factorsOf(node)], ["wrong_totp", []]);
  const { codes } = await app.confirm(invitation, { ...proof, code: codeOf(scene, second.secret) });
  assertEquals([codes, factorsOf(node)], [null, ["totp"]]);
});

Deno.test("an invitation enrols no app after its end, after its user left, or where apps are off", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada", "bob"] });
  const { node, app, invitation } = await open(scene);
  const { secret } = await app.begin(invitation, ORIGIN);
  assertEquals(await refusalOf(app.begin("x".repeat(22), ORIGIN)), "unknown_invitation");
  const enabled = node.deps.people.factors.enabled;
  const off = createInvitedApp({
    ...{ ...node.deps, vault: scene.vault },
    people: { ...node.deps.people, factors: { ...node.deps.people.factors, enabled: enabled.slice(0, 3) } },
  });
  assertEquals([off.isOffered(), await refusalOf(off.begin(invitation, ORIGIN))], [false, "no_invitations"]);
  await scene.target.remove("user", "ada", { actor: { name: "scim:hr", source: "" } });
  const code = codeOf(scene, secret);
  assertEquals(
    await refusalOf(app.confirm(invitation, { ...ORIGIN, code, wantsCodes: true })),
    "account_changed",
  );
  const { invitation: other } = await node.embedded.admin.invite("bob");
  scene.clock.advance(2 * DAY_MS);
  assertEquals(await refusalOf(app.begin(other, ORIGIN)), "expired");
  assertEquals(factorsOf(node), []);
});
