// Verification of a caller: a question on the phone with a number that the help desk reads out. It is no login.

import { assertEquals, assertMatch } from "@std/assert";
import type { StartedVerification, VerificationAnswer } from "../../console/api/help_desk/help_desk_types.ts";
import type { UserView } from "../../console/api/users/user_types.ts";
import type { NoticeList } from "../../console/api/notices/notices.ts";
import { type Ask, type HelpDeskSite, openHelpDesk, type Phone } from "./help_desk_site.ts";

interface Started {
  readonly site: HelpDeskSite;
  readonly phone: Phone;
  readonly hanna: Ask;
  readonly id: string;
  readonly number: string;
}

async function start(site: HelpDeskSite): Promise<Started> {
  const phone = await site.pair("ada");
  const hanna = await site.as("help_desk");
  const { status, code, body } = await begin(hanna, phone);
  assertEquals(status, 200, code);
  return { site, phone, hanna, id: body.verification.id, number: body.number };
}

const begin = (ask: Ask, { pairingId }: Phone) =>
  ask<StartedVerification>("POST", "/users/ada/verification", { phone: pairingId });
const stateOf = async (ask: Ask, id: string) =>
  (await ask<VerificationAnswer>("GET", `/users/ada/verification/${id}`)).body.verification.state;
const otherThan = (number: string) => number === "42" ? "43" : "42";

const ANSWERS: Readonly<
  Record<string, { json: (number: string) => unknown; code: string; actor: string; shows?: string }>
> = {
  verified: { json: (number) => ({ approve: true, number }), code: "", actor: "user:ada" },
  wrong_number: {
    json: (number) => ({ approve: true, number: otherThan(number) }),
    code: "wrong_number",
    actor: "user:ada",
  },
  denied: { json: () => ({ approve: false, number: null }), code: "", actor: "user:ada" },
  not_me: { json: () => ({ approve: false, number: null, notMe: true }), code: "", actor: "user:ada" },
};

for (const [state, { json, code, actor }] of Object.entries(ANSWERS)) {
  Deno.test(`verify caller: ${state}`, async () => {
    await using site = await openHelpDesk();
    const { phone, hanna, id, number } = await start(site);
    assertMatch(number, /^[1-9][0-9]$/);
    assertEquals(await stateOf(hanna, id), "waiting");
    const [request] = (await phone.view())?.requests ?? [];
    assertEquals([request?.kind, request?.askedBy, request?.asksNumber], ["verify", "hanna", true]);
    assertEquals(JSON.stringify(request).includes(`"${number}"`), false, "the phone does not get the number");
    const answered = await phone.ask("POST", `/requests/${id}`, json(number));
    assertEquals(answered.code, code);
    assertEquals([await stateOf(hanna, id), (await phone.view())?.requests.length], [state, 0]);
    const records = await site.audited("caller.verify", "caller.answered");
    assertEquals(
      records.map((
        { action, actor, object, after, operator, request },
      ) => [action, actor, object, after, operator, request]),
      [
        ["caller.verify", "hanna", "user:ada", undefined, undefined, undefined],
        ["caller.answered", actor, "user:ada", state, "hanna", id],
      ],
    );
    const late = await phone.ask("POST", `/requests/${id}`, { approve: true, number });
    assertEquals(late.code, "already_decided");
    const { body } = await (await site.as("viewer"))<NoticeList>("GET", "/notices");
    const expected = state === "not_me" ? [["not_caller", "ada", "hanna"]] : [];
    assertEquals(body.items.map(({ kind, user, operator }) => [kind, user, operator]), expected);
  });
}

Deno.test("verify caller: the user's page shows who verified the caller, on every node, while the result counts", async () => {
  await using site = await openHelpDesk();
  const { hanna, id, phone, number } = await start(site);
  const verified = async () =>
    (await (await site.as("viewer"))<UserView>("GET", "/users/ada")).body.login?.verified;
  assertEquals(await verified(), null);
  await phone.ask("POST", `/requests/${id}`, { approve: true, number });
  const atMs = site.clock.nowMs();
  const shown = await verified();
  assertEquals([shown?.by, shown?.atMs], ["hanna", atMs]);
  const { body } = await hanna<VerificationAnswer>("GET", `/users/ada/verification/${id}`);
  assertEquals(shown?.untilMs, body.verification.shownUntilMs);
  site.clock.advance((shown?.untilMs ?? 0) - atMs);
  assertEquals(await verified(), null);
});

Deno.test("verify caller: the user's page shows no verification by a phone that was revoked since", async () => {
  await using site = await openHelpDesk();
  const { id, phone, number } = await start(site);
  const verified = async () =>
    (await (await site.as("viewer"))<UserView>("GET", "/users/ada")).body.login?.verified;
  await phone.ask("POST", `/requests/${id}`, { approve: true, number });
  assertEquals((await verified())?.by, "hanna");
  const { pairingId = "" } = (await phone.view())?.pairings[0] ?? {};
  await phone.ask("DELETE", `/pairings/${pairingId}`);
  assertEquals(await verified(), null);
});

Deno.test("verify caller: a question without an answer expires, with a record", async () => {
  await using site = await openHelpDesk();
  const { hanna, id, phone, number } = await start(site);
  site.clock.advance(site.config.radius.conversationTtlMs);
  assertEquals(await stateOf(hanna, id), "expired");
  assertEquals((await phone.ask("POST", `/requests/${id}`, { approve: true, number })).code, "expired");
});

Deno.test("verify caller: the help desk cancels a question, and a second one waits for the end of the first", async () => {
  await using site = await openHelpDesk();
  const { hanna, id, phone } = await start(site);
  assertEquals((await begin(hanna, phone)).code, "verification_waiting");
  const { body } = await hanna<VerificationAnswer>("DELETE", `/users/ada/verification/${id}`, {});
  assertEquals(body.verification.state, "cancelled");
  assertEquals((await begin(hanna, phone)).code, "");
  const records = await site.audited("caller.answered");
  assertEquals(records.map(({ actor, after }) => [actor, after]), [["hanna", "cancelled"]]);
});

Deno.test("verify caller: a user is asked five times in an hour", async () => {
  await using site = await openHelpDesk();
  const { hanna, phone, id } = await start(site);
  const end = (one: string) => hanna("DELETE", `/users/ada/verification/${one}`, {});
  await end(id);
  for (let count = 1; count < 5; count++) {
    const { body } = await begin(hanna, phone);
    await end(body.verification.id);
  }
  assertEquals((await begin(hanna, phone)).code, "too_many_verifications");
  site.clock.advance(3600_000);
  assertEquals((await begin(await site.as("help_desk"), phone)).code, "");
});

Deno.test("verify caller: only a phone of this user is asked, and only its own page shows the result", async () => {
  await using site = await openHelpDesk();
  const { hanna, id } = await start(site);
  const other = await site.pair("bob");
  assertEquals((await begin(hanna, other)).code, "unknown_pairing");
  assertEquals((await begin(hanna, { ...other, pairingId: "x" })).code, "unknown_pairing");
  assertEquals((await hanna("GET", `/users/bob/verification/${id}`)).code, "not_found");
  assertEquals((await hanna("DELETE", `/users/bob/verification/${id}`, {})).code, "not_found");
  assertEquals(
    (await other.ask("POST", `/requests/${id}`, { approve: false, number: null })).code,
    "unknown_request",
  );
});

Deno.test("verify caller: the gateway and the console's approvals never see a question", async () => {
  await using site = await openHelpDesk();
  const { id, phone, number } = await start(site);
  const { secondFactor, embedded } = site.services;
  const status = async () => (await secondFactor.status(id)).ok;
  assertEquals(await status(), false);
  assertEquals((await secondFactor.otpAuth(id, "123456")).ok, false);
  await secondFactor.cancel(id);
  const admin = embedded?.admin;
  assertEquals([admin?.pendingCount(), admin?.pendingApprovals().length, admin?.request(id)], [0, 0, null]);
  assertEquals([await admin?.deny(id), await admin?.cancel(id)], [false, false]);
  assertEquals(await admin?.decide(id, { approve: true, number }), { ok: false, reason: "unknown_request" });
  const operator = await site.as("operator");
  assertEquals((await operator("POST", `/approvals/${id}/deny`, {})).code, "already_decided");
  assertEquals((await phone.ask("POST", `/requests/${id}`, { approve: true, number })).status, 200);
  assertEquals(await status(), false);
});

Deno.test("verify caller: a revoked phone ends the question, with a record", async () => {
  await using site = await openHelpDesk();
  const { hanna, id, phone } = await start(site);
  await hanna("POST", "/users/ada/lost-phone", { phones: [phone.pairingId], bypass: null });
  assertEquals(await stateOf(hanna, id), "cancelled");
  assertEquals((await site.audited("caller.answered")).map(({ after }) => after), ["cancelled"]);
});

Deno.test("verify caller: a question asked at one node is answered at another, once, and the limit holds for both", async () => {
  using kv = await Deno.openKv(":memory:");
  await using a = await openHelpDesk({ joins: { kv, node: "aaaaaaaa" } });
  await using b = await openHelpDesk({ joins: { kv, node: "bbbbbbbb" }, users: [] });
  const { hanna, id, phone, number } = await start(a);
  const there = b.phoneHere(phone);
  const both = await Promise.all([
    phone.ask("POST", `/requests/${id}`, { approve: true, number }),
    there.ask("POST", `/requests/${id}`, { approve: true, number }),
  ]);
  assertEquals(both.map(({ code }) => code).sort(), ["", "already_decided"]);
  assertEquals(await stateOf(hanna, id), "verified");
  const atB = await b.as("help_desk");
  assertEquals(await stateOf(atB, id), "verified");
  assertEquals((await a.audited("caller.answered")).length, 1);
  const codes: string[] = [];
  for (let count = 0; count < 5; count++) {
    const ask = count % 2 === 0 ? atB : hanna;
    const { code, body } = await begin(ask, phone);
    codes.push(code);
    if (code === "") await ask("DELETE", `/users/ada/verification/${body.verification.id}`, {});
  }
  assertEquals(codes, ["", "", "", "", "too_many_verifications"]);
});
