// The enrolment over HTTP: preview, campaign, report with its filters and orders, export, deadlines; and an authenticator app by invitation.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type {
  CampaignPreview,
  CampaignResults,
  CampaignView,
} from "../../../console/api/enrolment/campaigns.ts";
import type { EnrolmentPage } from "../../../console/api/enrolment/enrolment_report.ts";
import { createInvitedApp } from "../../../console/api/enrolment/invited_app.ts";
import { Refusal } from "../../../console/api/errors.ts";
import { readUserNotices } from "../../../console/api/notices/notices.ts";
import { decodeBase32, totpAt } from "../../../radius/factors/totp.ts";
import { apiCaller } from "../../fakes/console_caller.ts";
import { type PeopleConsole, startPeopleConsole } from "../../fakes/console_people.ts";
import { eventually } from "../../upstream/manual_clock.ts";
import {
  addressOf,
  DAY_MS,
  type EnrolmentNode,
  type EnrolmentScene,
  openEnrolmentScene,
} from "./enrolment_scene.ts";

const API = "/console/api/enrolment";

/** Four users: ada has an app, bob only a number, cleo and dora nothing; dora has no address. */
async function open(): Promise<PeopleConsole & { ask: ReturnType<typeof apiCaller> }> {
  const site = await startPeopleConsole();
  for (const name of ["ada", "bob", "cleo"]) {
    await site.put(name, {
      ...{ displayName: `${name.toUpperCase()} of Test`, emails: addressOf(name) },
      ...(name === "bob" ? { phoneNumbers: [{ value: "+4915112345678" }] } : {}),
    });
  }
  await site.put("dora");
  await site.put("gone", { active: false, emails: addressOf("gone") });
  await site.putGroup("staff", ["ada", "cleo", "dora"]);
  const prepared = site.pairings.prepare({ canonical: "ada", shown: "ada" }, {
    ...{ kind: "totp", seed: new Uint8Array(20) },
  });
  await site.store.commit({ mutations: [prepared.mutation] });
  site.pairings.adopt(prepared.pairing);
  return Object.assign(site, { ask: apiCaller(site, await site.signIn("user_manager")) });
}

type Site = Awaited<ReturnType<typeof open>>;

/** A page of the report, which must be read. */
async function report({ ask }: Site, query = ""): Promise<Extract<EnrolmentPage, { progress: null }>> {
  const page = await ask<EnrolmentPage>(`${API}/report?${query}`);
  if (page.progress !== null) throw new Error("The users are still read");
  return page;
}

async function runCampaign(site: Site, json: Record<string, unknown>): Promise<CampaignView> {
  const path = `${API}/campaigns`;
  const { campaign: { id } } = await site.ask<{ campaign: CampaignView }>(path, { method: "POST", json });
  let view: CampaignView | null = null;
  await eventually("the campaign ends", async () => {
    view = (await site.ask<{ campaign: CampaignView }>(`${path}/${id}`)).campaign;
    return view.state === "done";
  });
  if (view === null) throw new Error("Cannot read the campaign");
  return view;
}

Deno.test("a preview says who would be invited and why others would not; it sends nothing", async () => {
  await using site = await open();
  const json = { choice: { filters: {} }, options: { includesNumbers: false } };
  const preview = await site.ask<CampaignPreview>(`${API}/campaigns/preview`, { method: "POST", json });
  const { total, invited, skipped, names, isMailConfigured, canInvite } = preview;
  assertEquals({ total, invited, isMailConfigured, canInvite }, {
    ...{ total: 5, invited: 1, isMailConfigured: true, canInvite: true },
  });
  assertEquals(skipped, { has_factor: 1, has_number: 1, no_address: 1, inactive: 1 });
  assertEquals([names.invited, names.no_address], [["cleo"], ["dora"]]);
  // The browser of the test is on the same host.
  assertEquals(preview.localUrl, site.origin);
  const all = { choice: { filters: {} } };
  const { minutes } = await site.ask<CampaignPreview>(`${API}/campaigns/preview`, {
    method: "POST",
    json: all,
  });
  assertEquals(minutes, 2, "two mails, at the pace of the mail queue");
  assertEquals(await site.mailQueue.mails(), []);
});

Deno.test("a campaign for a group mails its members, and reports the others with their reasons", async () => {
  await using site = await open();
  const view = await runCampaign(site, { name: "Staff", choice: { group: "STAFF" } });
  assertEquals([view.total, view.done, view.invited, view.by], [3, 3, 1, "user_manager"]);
  assertEquals(view.skipped, { has_factor: 1, no_address: 1 });
  assertEquals((await site.mailQueue.mails()).map(({ to }) => to), ["cleo@example.com"]);
  const results = await site.ask<CampaignResults>(`${API}/campaigns/${view.id}/results?did=skipped`);
  assertEquals(results.rows.map(({ name, reason }) => `${name} ${reason}`), [
    "ada has_factor",
    "dora no_address",
  ]);
  const cookie = await site.signIn("viewer");
  const file = await site.call(`${API}/campaigns/${view.id}/export?format=csv`, { cookie });
  const lines = (await file.text()).trim().split("\r\n").map((line) => line.split(",").slice(0, 3).join());
  assertEquals(lines, [
    "user,result,reason",
    "cleo,invited,",
    "ada,skipped,has_factor",
    "dora,skipped,no_address",
  ]);
  const started = (await site.audits()).find(({ action }) => action === "enrolment.start");
  assertEquals([started?.object, started?.count, started?.actor], ["campaign:Staff", 3, "user_manager"]);
  const made = (await site.audits()).find(({ action }) => action === "invitation.make");
  assertEquals([made?.object, made?.how, made?.campaign], ["user:cleo", "campaign", "Staff"]);
  assert(!JSON.stringify(await site.audits()).includes("invitation-of-"), "no record contains a link");
});

Deno.test("the report has each active user with factors, invitation and deadline; it sorts, filters and pages", async () => {
  await using site = await open();
  const { id } = await runCampaign(site, {
    ...{ name: "All", choice: { filters: {} }, options: { includesNumbers: false, deadlineDays: 7 } },
  });
  const names = async (query: string) => (await report(site, query)).rows.map(({ name }) => name);
  const all = await report(site);
  assertEquals(all.rows.map(({ name, status, factors }) => [name, status, factors.join()]), [
    ["ada", "enrolled", "totp"],
    ["bob", "number", ""],
    ["cleo", "invited", ""],
    ["dora", "not_invited", ""],
  ]);
  assertEquals(all.counts, { enrolled: 1, number: 1, invited: 1, overdue: 0, not_invited: 1 });
  const [, , cleo] = all.rows;
  assertEquals((cleo?.deadlineMs ?? 0) - (cleo?.invitedMs ?? 0), 7 * DAY_MS);
  assertEquals([all.rows[0]?.neverUsed, cleo?.neverUsed, cleo?.campaign], [true, false, id]);
  for (
    const [query, expected] of [
      ["sort=-name", ["dora", "cleo", "bob", "ada"]],
      ["sort=-status&size=2", ["ada", "bob"]],
      ["sort=-status&size=2&page=2", ["cleo", "dora"]],
      ["sort=invited", ["cleo", "ada", "bob", "dora"]],
      ["status=not_invited", ["dora"]],
      ["factor=none&sort=name", ["bob", "cleo", "dora"]],
      ["factor=totp", ["ada"]],
      ["factor=unused", ["ada"]],
      ["group=staff", ["ada", "cleo", "dora"]],
      [`campaign=${id}`, ["cleo"]],
      ["q=OF+TEST&sort=-displayName", ["cleo", "bob", "ada"]],
      ["q=nothing", []],
    ] as const
  ) assertEquals(await names(query), expected, query);
});

Deno.test("the report follows changes of the directory and of factors at once", async () => {
  await using site = await open();
  assertEquals((await report(site)).total, 4);
  await site.put("emma", { emails: addressOf("emma") });
  await site.target.remove("user", "dora", { actor: { name: "scim:hr", source: "" } });
  await site.pairings.addDevice({ id: "phone", userName: "emma", totpLength: 6 });
  const { rows } = await report(site);
  assertEquals(rows.map(({ name, status }) => `${name} ${status}`), [
    ...["ada enrolled", "bob number", "cleo not_invited", "emma enrolled"],
  ]);
});

Deno.test("the report is exported as CSV and as JSON, with its filters", async () => {
  await using site = await open();
  const cookie = await site.signIn("viewer");
  const read = async (query: string) =>
    await (await site.call(`${API}/report/export?${query}`, { cookie })).text();
  const lines = (await read("format=csv&factor=none")).trim().split("\r\n");
  assertEquals(
    lines[0],
    "user,display_name,status,factors,invited,reminders,last_reminder,deadline,last_used,never_used",
  );
  assertEquals(lines.slice(1).map((line) => line.split(",").slice(0, 3).join()), [
    ...["bob,BOB of Test,number", "cleo,CLEO of Test,not_invited", "dora,,not_invited"],
  ]);
  const json = JSON.parse(await read("format=json&status=enrolled")) as Record<string, unknown>[];
  assertEquals(json.map(({ user, factors, never_used }) => [user, factors, never_used]), [[
    "ada",
    "totp",
    true,
  ]]);
});

Deno.test("a deadline can be changed and removed, for users and for a campaign", async () => {
  await using site = await open();
  const { id } = await runCampaign(site, { name: "All", choice: { names: ["cleo", "bob"] } });
  const change = (choice: unknown, deadlineMs: number | null) =>
    site.ask<{ changed: number }>(`${API}/deadline`, { method: "POST", json: { choice, deadlineMs } });
  const deadlines = async () =>
    Object.fromEntries((await report(site)).rows.map(({ name, deadlineMs }) => [name, deadlineMs]));
  assertEquals(await change({ campaign: id }, 5000), { changed: 2 });
  assertEquals(await deadlines(), { ada: null, bob: 5000, cleo: 5000, dora: null });
  assertEquals((await report(site, "status=overdue")).rows.map(({ name }) => name), ["cleo"]);
  assertEquals(await change({ names: ["CLEO", "dora"] }, null), { changed: 1 });
  assertEquals(await deadlines(), { ada: null, bob: 5000, cleo: null, dora: null });
  const records = (await site.audits()).filter(({ action }) => action === "enrolment.change_deadline");
  assertEquals(records.length, 2);
});

Deno.test("a campaign needs a mail server, users and sound options", async () => {
  await using site = await open();
  const cookie = await site.signIn("user_manager");
  const refusalOf = async (json: unknown): Promise<string> => {
    const response = await site.call(`${API}/campaigns`, { method: "POST", cookie, json });
    return (await response.json()).error?.code ?? "none";
  };
  const choice = { names: ["cleo"] };
  for (
    const [json, code] of [
      [{ name: "", choice }, "malformed"],
      [{ name: "a", choice: { names: [] } }, "malformed"],
      [{ name: "a", choice, options: { perMinute: 0 } }, "malformed"],
      [{ name: "a", choice, options: { deadlineDays: 366 } }, "malformed"],
      [{ name: "a", choice: { group: "none" } }, "unknown_object"],
      [{ name: "a", choice: { filters: { q: "nothing" } } }, "bad_value"],
    ] as const
  ) assertEquals(await refusalOf(json), code);
  site.mailQueue.isConfigured = false;
  assertEquals(await refusalOf({ name: "a", choice }), "mail_off");
});

const ORIGIN = { source: "192.0.2.9", browser: "Firefox on Windows" };
const STEP_MS = 30_000;

async function openInvitation(scene: EnrolmentScene) {
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
  const { node, app, invitation } = await openInvitation(scene);
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
  assertEquals(notices.map(({ what, by }) => `${what} ${by}`).sort(), ["recovery_codes phone", "totp phone"]);
  const audits = (await scene.audits()).filter(({ actor }) => actor === "user:ada");
  assertEquals(audits.map(({ action, source, how }) => `${action} ${source} ${how}`), [
    "pairing.add 192.0.2.9 invitation",
    "recovery_codes.make 192.0.2.9 invitation",
  ]);
  assert(!JSON.stringify(audits).includes(secret), "the seed is in no record");
});

Deno.test("a second key of an invitation replaces the first, and without a key there is no app", async () => {
  await using scene = await openEnrolmentScene({ users: ["ada"] });
  const { node, app, invitation } = await openInvitation(scene);
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
  const { node, app, invitation } = await openInvitation(scene);
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
