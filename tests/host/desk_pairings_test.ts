// The desk gives users second factors, lists and revokes them, and records each deed in the commit of the deed.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { right } from "../upstream/worlds.ts";
import { done, EXTERNAL_SERVICE, openDeskStage, present, refusal, refused } from "./desk_stage.ts";

const SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
const HOUR_MS = 3600_000;

/** A row per way to add a pairing: the request, what is kept, and how a list shows it. */
const ADDED = [
  {
    request: { op: "pair.device", id: "dev-1" },
    kept: { kind: "device", id: "dev-1", totpLength: 6 },
    shown: { id: "dev-1", kind: "device", totpLength: 6 },
  },
  {
    request: { op: "pair.device", id: "dev-2", totpLength: 0 },
    kept: { kind: "device", id: "dev-2", totpLength: 0 },
    shown: { id: "dev-2", kind: "device", totpLength: 0 },
  },
  {
    request: { op: "pair.sms", number: "tel:+1 (415) 555-0123" },
    kept: { kind: "sms", number: "+14155550123" },
    shown: { kind: "sms", number: "+1*******123" },
  },
  {
    request: { op: "pair.voice", number: "+442071838750" },
    kept: { kind: "voice", number: "+442071838750" },
    shown: { kind: "voice", number: "+4********750" },
  },
  {
    request: { op: "pair.totp", seed: "jbsw y3dp ehpk 3pxp" },
    kept: { kind: "totp", lastStep: -1 },
    shown: { kind: "totp" },
  },
] as const;

for (const { request, kept, shown } of ADDED) {
  Deno.test(`desk ${JSON.stringify(request)} stores the pairing and its audit record in one commit`, async () => {
    await using stage = await openDeskStage();
    const answer = await done(stage, { user: "Ann Lee", ...request });
    const pairing = present(stage.pairings.of("ann lee")[0]);
    assertEquals({ ...pairing, ...kept }, pairing);
    assertEquals([pairing.user, pairing.shownUser], ["ann lee", "Ann Lee"]);
    const head = { id: pairing.id, user: "Ann Lee", createdMs: stage.clock.nowMs() };
    assertEquals(answer.pairings, [{ ...head, ...shown }]);

    assertEquals([...(await stage.reload()).of("ann lee")], [pairing]);
    const record = present((await stage.audits())[0]);
    assertEquals(
      [record.atMs, record.actor, record.action, record.object, record.pairing, record.factor],
      [stage.clock.nowMs(), "command", "pairing.add", "user:Ann Lee", pairing.id, kept.kind],
    );
    const stamps = new Set();
    for (const prefix of ["pairing", "audit"]) {
      for await (const { versionstamp } of stage.store.list([prefix])) stamps.add(versionstamp);
    }
    assertEquals(stamps.size, 1);
  });
}

/** Requests that are refused, and why. */
const REFUSED = [
  ["bad_input", { op: "pair.device", user: "ann", id: "" }],
  ["bad_input", { op: "pair.device", user: "ann", id: "a b" }],
  ["bad_input", { op: "pair.device", user: "ann", id: "x".repeat(129) }],
  ["bad_input", { op: "pair.device", user: "ann", id: "a\u202eb" }],
  ["bad_input", { op: "pair.device", user: "ann", id: 7 }],
  ["bad_input", { op: "pair.device", user: "ann", id: "d", totpLength: 3 }],
  ["bad_input", { op: "pair.device", user: "ann", id: "d", totpLength: "6" }],
  ["bad_input", { op: "pair.device", user: "", id: "d" }],
  ["bad_input", { op: "pair.device", user: "   ", id: "d" }],
  ["bad_input", { op: "pair.device", user: "a/b", id: "d" }],
  ["bad_input", { op: "pair.device", user: "a\nb", id: "d" }],
  ["bad_input", { op: "pair.device", user: "a\ud800b", id: "d" }],
  ["bad_input", { op: "pair.device", user: "x".repeat(257), id: "d" }],
  ["bad_input", { op: "pair.device", id: "d" }],
  ["bad_input", { op: "pair.sms", user: "ann", number: "0151 234567" }],
  ["bad_input", { op: "pair.sms", user: "ann", number: "+1234567" }],
  ["bad_input", { op: "pair.voice", user: "ann", number: "+1234567890123456" }],
  ["bad_input", { op: "pair.voice", user: "ann", number: "+1415555O123" }],
  ["bad_input", { op: "pair.totp", user: "ann", seed: "JBSWY3DP" }],
  ["bad_input", { op: "pair.totp", user: "ann", seed: "JBSWY3DPEHPK3PX1" }],
  ["bad_input", { op: "pair.prefer", user: "ann", factor: "fax" }],
  ["bad_input", { op: "pair.prefer", user: "ann", factor: "toString" }],
  ["unknown_pairing", { op: "pair.revoke", id: "nobody" }],
  ["not_a_request", { op: "pair.device", user: "ann", id: "d", admin: true }],
  ["not_a_request", { op: "constructor", user: "ann" }],
  ["not_a_request", { op: "pair.fax", user: "ann" }],
  ["not_a_request", { op: 1 }],
  ["not_a_request", {}],
  ["not_a_request", []],
  ["not_a_request", null],
  ["not_a_request", "pair.list"],
] as const;

for (const [reason, request] of REFUSED) {
  Deno.test(`desk refuses ${JSON.stringify(request).slice(0, 70)} as ${reason} and stores nothing`, async () => {
    await using stage = await openDeskStage();
    assertEquals(await refusal(stage, request), reason);
    assertEquals([stage.pairings.size, await stage.dump()], [0, ""]);
  });
}

Deno.test("desk takes a user name of 256 characters and none that is longer", async () => {
  await using stage = await openDeskStage();
  await done(stage, { op: "pair.device", user: "x".repeat(256), id: "d" });
  assertEquals(stage.pairings.of("x".repeat(256)).length, 1);
});

Deno.test("desk quotes a TOTP secret nowhere: no answer, no audit record, not in clear in the store", async () => {
  await using stage = await openDeskStage();
  const answers = [
    await stage.desk.handle({ op: "pair.totp", user: "ann", seed: SEED }),
    await stage.desk.handle({ op: "pair.totp", user: "ann", seed: SEED }),
    await stage.desk.handle({ op: "pair.totp", user: "ann", seed: `${SEED}1` }),
    await stage.desk.handle({ op: "pair.totp", user: "", seed: SEED }),
    await stage.desk.handle({ op: "pair.list", user: "ann" }),
  ];
  assertEquals(answers.map(({ ok }) => ok), [true, false, false, false, true]);
  const seen = JSON.stringify(answers) + await stage.dump();
  for (const form of [SEED, "JBSWY3DP", "Hello!", "48, 65, 6c", "72, 101, 108, 108, 111, 33"]) {
    assert(!seen.includes(form), `"${form}" is seen`);
  }
});

Deno.test("desk does not pair a TOTP secret again, because a used code would count twice", async () => {
  await using stage = await openDeskStage();
  await done(stage, { op: "pair.totp", user: "ann", seed: SEED });
  assertEquals(await refusal(stage, { op: "pair.totp", user: "ANN", seed: SEED.toLowerCase() }), "taken");
  assertEquals(await refusal(stage, { op: "pair.totp", user: "bob", seed: SEED }), null);
});

Deno.test("desk keeps a device of one user from another, and lets its own user pair it again", async () => {
  await using stage = await openDeskStage();
  await done(stage, { op: "pair.device", user: "ann", id: "d" });
  assertEquals(await refusal(stage, { op: "pair.device", user: "bob", id: "d" }), "taken");
  await done(stage, { op: "pair.device", user: "Ann", id: "d", totpLength: 8 });
  const reloaded = await stage.reload();
  assertEquals([...reloaded.all()].map(({ user, id }) => [user, id]), [["ann", "d"]]);
});

Deno.test("desk adds a number once, also when it is asked twice at the same time", async () => {
  await using stage = await openDeskStage();
  const request = { op: "pair.sms", user: "ann", number: "+14155550123" };
  await Promise.all([done(stage, request), done(stage, request), done(stage, request)]);
  assertEquals(stage.pairings.of("ann").length, 1);
});

Deno.test("desk refuses a 21st pairing of one user", async () => {
  await using stage = await openDeskStage();
  for (let at = 0; at < 20; at++) await done(stage, { op: "pair.device", user: "ann", id: `d${at}` });
  assertEquals(await refusal(stage, { op: "pair.device", user: "ann", id: "d20" }), "too_many");
});

Deno.test("desk tells memory nothing that the store did not take", async () => {
  await using stage = await openDeskStage();
  stage.breakStore();
  const answer = await refused(stage, { op: "pair.sms", user: "ann", number: "+14155550123" });
  assertEquals(answer.reason, "failed");
  assert(!answer.message.includes("disk is full"));
  assertEquals(stage.pairings.size, 0);
});

Deno.test("desk notes what will not work: a country that is not allowed, a factor that is not enabled", async () => {
  await using stage = await openDeskStage('[factors]\ncountry_codes = ["49"]\nenabled = ["sms"]\n');
  const texts = await done(stage, { op: "pair.sms", user: "ann", number: "+14155550123" });
  assertStringIncludes(texts.notes.join(), "factors.country_codes");
  const right = await done(stage, { op: "pair.sms", user: "ann", number: "+4915123456789" });
  assertEquals(right.notes, []);
  const calls = await done(stage, { op: "pair.voice", user: "ann", number: "+4915123456789" });
  assertStringIncludes(calls.notes.join(), "factors.enabled");
});

Deno.test("desk pair.list shows one user's pairings or everybody's, with the preferred factor", async () => {
  await using stage = await openDeskStage();
  assertEquals((await done(stage, { op: "pair.list" })).pairings, []);
  await done(stage, { op: "pair.device", user: "Ann", id: "d" });
  stage.clock.advance(1000);
  await done(stage, { op: "pair.sms", user: "ann", number: "+14155550123" });
  await done(stage, { op: "pair.totp", user: "bob", seed: SEED });
  await done(stage, { op: "pair.prefer", user: "ann", factor: "sms" });
  const ann = await done(stage, { op: "pair.list", user: "ANN" });
  assertEquals(ann.pairings?.map(({ user, kind }) => [user, kind]), [["Ann", "device"], ["ann", "sms"]]);
  assertEquals(ann.preferred, "sms");
  const all = await done(stage, { op: "pair.list", user: null });
  assertEquals(all.pairings?.map(({ kind }) => kind), ["device", "sms", "totp"]);
  assertEquals([all.preferred, all.more], [undefined, undefined]);
});

Deno.test("desk pair.list stays below 64 KiB and says how many it left out", async () => {
  await using stage = await openDeskStage();
  for (let at = 0; at < 200; at++) {
    const user = `${"ä".repeat(250)}${at}`;
    const { mutation, pairing } = stage.pairings.prepare({ canonical: user, shown: user }, {
      kind: "device",
      id: `d${at}`,
      totpLength: 6,
    });
    await stage.store.commit({ mutations: [mutation] });
    stage.pairings.adopt(pairing);
  }
  const list = await done(stage, { op: "pair.list" });
  assert(new TextEncoder().encode(JSON.stringify(list)).length < 64 * 1024);
  assertEquals((list.pairings?.length ?? 0) + (list.more ?? 0), 200);
  assert((list.more ?? 0) > 0);
});

Deno.test("desk pair.revoke takes a pairing out of store and memory, recorded in one commit", async () => {
  await using stage = await openDeskStage();
  const added = await done(stage, { op: "pair.sms", user: "ann", number: "+14155550123" });
  const id = added.pairings?.[0]?.id ?? "";
  assertEquals(await refusal(stage, { op: "pair.revoke", user: "bob", id }), "unknown_pairing");
  stage.clock.advance(1);
  await done(stage, { op: "pair.revoke", user: "Ann", id });
  assertEquals([stage.pairings.size, (await stage.reload()).size], [0, 0]);
  const [, record] = await stage.audits();
  assertEquals(record, {
    atMs: stage.clock.nowMs(),
    actor: "command",
    action: "pairing.revoke",
    object: "user:ann",
    pairing: id,
    factor: "sms",
    number: "+1*******123",
    how: "command",
  });
});

Deno.test("desk pair.revoke of an embedded device ends it at its service too", async () => {
  await using stage = await openDeskStage();
  const embedded = present(stage.embedded);
  const invited = await done(stage, { op: "pair.invite", user: "ann" });
  const invitation = invited.invitation?.link.split("#invite=")[1] ?? "";
  const accepted = await embedded.phone.acceptInvitation(invitation, { token: null, source: "test" });
  const { token, pairingId } = right(accepted);
  await done(stage, { op: "pair.device", user: "ann", id: pairingId });
  assertEquals((await embedded.phone.view(token))?.pairings.length, 1);
  await done(stage, { op: "pair.revoke", id: pairingId });
  assertEquals(await embedded.phone.view(token), null);
});

Deno.test("desk pair.invite gives a link for the phone page, its end, and records no part of the invitation", async () => {
  await using stage = await openDeskStage('[http]\npublic_url = "https://vpn.example.com"\n');
  const { invitation, notes } = await done(stage, { op: "pair.invite", user: "ann" });
  assertMatch(invitation?.link ?? "", /^https:\/\/vpn\.example\.com\/device#invite=[\w-]{22}$/);
  assertEquals(invitation?.deadlineMs, stage.clock.nowMs() + 24 * HOUR_MS);
  assertEquals(notes, []);
  const [record] = await stage.audits();
  assertEquals([record?.action, record?.object], ["invitation.make", "user:ann"]);
  assert(!(await stage.dump()).includes(invitation?.link.split("=")[1] ?? "missing"));
});

for (const url of ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"]) {
  Deno.test(`desk pair.invite says for ${url} which two settings to change`, async () => {
    await using stage = await openDeskStage(`[http]\npublic_url = "${url}"\n`);
    const { notes } = await done(stage, { op: "pair.invite", user: "ann" });
    assertStringIncludes(notes.join(), "http.listen");
    assertStringIncludes(notes.join(), "http.public_url");
  });
}

Deno.test("desk pair.invite is refused beside an external service, with the way to pair there", async () => {
  await using stage = await openDeskStage(EXTERNAL_SERVICE);
  const answer = await refused(stage, { op: "pair.invite", user: "ann" });
  assertEquals(answer.reason, "not_embedded");
  assertStringIncludes(answer.message, "--device <pairing_id>");
});

Deno.test("desk pair.prefer sets and clears what a login begins with, over a restart", async () => {
  await using stage = await openDeskStage();
  await done(stage, { op: "pair.prefer", user: "Ann", factor: "voice" });
  assertEquals([stage.pairings.preferred("ann"), (await stage.reload()).preferred("ann")], [
    "voice",
    "voice",
  ]);
  await done(stage, { op: "pair.prefer", user: "ann", factor: "none" });
  assertEquals([stage.pairings.preferred("ann"), (await stage.reload()).preferred("ann")], [null, null]);
  assertEquals((await stage.audits()).map(({ action, after }) => [action, after]), [
    ["preference.set", "voice"],
    ["preference.set", undefined],
  ]);
});
