// Phones and their pairings: phrases, invitations, tokens, ends.

import { assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { PHRASE_WORDS } from "../../../upstream/embedded/phrase_words.ts";
import { createPhrase, normalizePhrase } from "../../../upstream/embedded/phrases.ts";
import { createSystemRandom } from "../../../runtime.ts";
import { settle } from "../manual_clock.ts";
import { right } from "../worlds.ts";
import { openStage, pairPhone } from "./stage.ts";

const MINUTE_MS = 60_000;

Deno.test("PHRASE_WORDS are 256 different short words, so that a phrase has over 40 bits", () => {
  assertEquals([PHRASE_WORDS.length, new Set(PHRASE_WORDS).size], [256, 256]);
  for (const word of PHRASE_WORDS) assertMatch(word, /^[a-z]{3,9}$/);
  assertEquals(Math.log2(256 ** 3 * 10 ** 5) > 40, true);
  assertMatch(createPhrase(createSystemRandom()), /^[a-z]+ [a-z]+ [a-z]+ \d{5}$/);
});

Deno.test("normalizePhrase() forgives case and whatever stands between the words", () => {
  for (const typed of ["Maple  RIVER-stone/40718", " maple river stone40718 ", "maple.river,stone 40718\n"]) {
    assertEquals(normalizePhrase(typed), "maple river stone 40718");
  }
  assertNotEquals(normalizePhrase("mapleriver stone 40718"), "maple river stone 40718");
});

Deno.test("PhoneService.startWithPhrase() gives a token of 256 bits and a phrase for ten minutes", async () => {
  await using stage = await openStage();
  const started = right(await stage.embedded.phone.startWithPhrase("192.0.2.1"));
  assertMatch(started.token, /^[\w-]{43}$/);
  assertEquals(started.deadlineMs, stage.clock.nowMs() + 10 * MINUTE_MS);
  const view = await stage.embedded.phone.view(started.token);
  assertEquals(view, {
    nowMs: stage.clock.nowMs(),
    phrase: { text: started.phrase, deadlineMs: started.deadlineMs },
    pairings: [],
    requests: [],
  });
});

Deno.test("PhoneService.startWithPhrase() allows five a minute from one source", async () => {
  await using stage = await openStage();
  const { phone } = stage.embedded;
  for (let at = 0; at < 5; at++) right(await phone.startWithPhrase("192.0.2.1"));
  assertEquals(await phone.startWithPhrase("192.0.2.1"), { ok: false, reason: "too_many_tries" });
  right(await phone.startWithPhrase("192.0.2.2"));
  stage.clock.advance(MINUTE_MS);
  right(await phone.startWithPhrase("192.0.2.1"));
});

Deno.test("A phrase serves for ten minutes, and a newer one voids it", async () => {
  await using stage = await openStage();
  const { phone } = stage.embedded;
  const started = right(await phone.startWithPhrase("a"));
  const renewed = right(await phone.newPhrase(started.token));
  const typed = async (phrase: string) =>
    (await stage.embedded.service.createPairing({ phrase, userName: "ada" })).ok;
  assertEquals(await typed(started.phrase), false);
  stage.clock.advance(10 * MINUTE_MS);
  assertEquals(await typed(renewed.phrase), false);
  const latest = right(await phone.newPhrase(started.token));
  assertEquals(await typed(latest.phrase), true);
});

Deno.test("A pairing by phrase waits for the phone; denied, it is over", async () => {
  await using stage = await openStage();
  const { phone } = stage.embedded;
  const { token, phrase } = right(await phone.startWithPhrase("a"));
  const { id } = right(await stage.embedded.service.createPairing({ phrase, userName: "bob" }));
  const view = await phone.view(token);
  assertEquals([view?.phrase, view?.pairings[0]?.status, view?.pairings[0]?.userName], [
    null,
    "asks_approval",
    "bob",
  ]);
  assertEquals((await phone.passcode(token, id)).ok, false);
  assertEquals(await phone.decidePairing(stage.token, id, { approve: true }), {
    ok: false,
    reason: "unknown_request",
  });
  right(await phone.decidePairing(token, id, { approve: false }));
  assertEquals(await phone.decidePairing(token, id, { approve: true }), {
    ok: false,
    reason: "already_decided",
  });
  const { enabled, pending, deactivated } = right(await stage.embedded.service.pairing(id));
  assertEquals([enabled, pending, deactivated], [false, false, true]);
});

Deno.test("A pairing by phrase without a confirmation within ten minutes is denied", async () => {
  await using stage = await openStage();
  const { token, phrase } = right(await stage.embedded.phone.startWithPhrase("a"));
  const { id } = right(await stage.embedded.service.createPairing({ phrase, userName: "bob" }));
  stage.clock.advance(10 * MINUTE_MS);
  assertEquals((await stage.embedded.phone.decidePairing(token, id, { approve: true })).ok, false);
  const { enabled, pending } = right(await stage.embedded.service.pairing(id));
  assertEquals([enabled, pending], [false, false]);
});

Deno.test("SecondFactorService.createPairing() allows twenty wrong phrases a minute for one user name", async () => {
  await using stage = await openStage();
  const { phrase } = right(await stage.embedded.phone.startWithPhrase("a"));
  const type = async (typed: string, userName: string) => {
    const answer = await stage.embedded.service.createPairing({ phrase: typed, userName });
    return answer.ok ? "paired" : answer.fault.kind;
  };
  for (let at = 0; at < 20; at++) assertEquals(await type(`wrong ${at}`, "Ada"), "unknown");
  assertEquals(await type(phrase, "ada"), "busy");
  assertEquals(await type("wrong", "bob"), "unknown");
  stage.clock.advance(MINUTE_MS);
  assertEquals(await type(phrase, "ada"), "paired");
});

Deno.test("SecondFactorService.createPairing() allows 200 wrong phrases a minute over all user names", async () => {
  await using stage = await openStage();
  let unknown = 0;
  for (let at = 0; at < 220; at++) {
    const answer = await stage.embedded.service.createPairing({ phrase: "wrong", userName: `user ${at}` });
    if (!answer.ok && answer.fault.kind === "unknown") unknown++;
  }
  assertEquals(unknown, 200);
});

Deno.test("A phone that never paired is forgotten", async () => {
  await using stage = await openStage();
  const { token } = right(await stage.embedded.phone.startWithPhrase("a"));
  stage.clock.advance(30 * MINUTE_MS);
  assertEquals(await stage.embedded.phone.view(token), null);
  assertEquals((await stage.embedded.phone.newPhrase(token)).ok, false);
});

Deno.test("PhoneService.lookAtInvitation() shows whom it is for, and uses nothing up", async () => {
  await using stage = await openStage();
  const { invitation, deadlineMs } = await stage.embedded.desk.invite("bob");
  assertMatch(invitation, /^[\w-]{22}$/);
  assertEquals(deadlineMs, stage.clock.nowMs() + 24 * 60 * MINUTE_MS);
  for (let look = 0; look < 10; look++) {
    assertEquals(await stage.embedded.phone.lookAtInvitation(invitation, "a"), {
      ok: true,
      userName: "bob",
      requesterName: "Countersign",
      deadlineMs,
    });
  }
});

Deno.test("PhoneService.acceptInvitation() pairs once, however many come at the same time", async () => {
  await using stage = await openStage();
  const { phone, desk } = stage.embedded;
  const { invitation } = await desk.invite("bob");
  const accepted = await Promise.all(
    Array.from({ length: 5 }, () => phone.acceptInvitation(invitation, { token: null, source: "a" })),
  );
  assertEquals(accepted.filter(({ ok }) => ok).length, 1);
  assertEquals(await phone.lookAtInvitation(invitation, "a"), { ok: false, reason: "already_used" });
});

Deno.test("PhoneService.acceptInvitation() refuses what is over, and slows down who guesses", async () => {
  await using stage = await openStage();
  const { phone, desk } = stage.embedded;
  const { invitation } = await desk.invite("bob");
  for (let guess = 0; guess < 5; guess++) {
    assertEquals(await phone.lookAtInvitation(`guess ${guess}`, "b"), {
      ok: false,
      reason: "unknown_invitation",
    });
  }
  assertEquals(await phone.lookAtInvitation("guess 5", "b"), { ok: false, reason: "too_many_tries" });
  // A correct link passes whatever others behind the same address did.
  assertEquals((await phone.lookAtInvitation(invitation, "b")).ok, true);
  stage.clock.advance(24 * 60 * MINUTE_MS);
  assertEquals(await phone.acceptInvitation(invitation, { token: null, source: "c" }), {
    ok: false,
    reason: "expired",
  });
});

Deno.test("PhoneService.acceptInvitation() uses a good token again, and gives a new one for a bad one", async () => {
  await using stage = await openStage();
  const { phone, desk } = stage.embedded;
  const accept = async (token: string) => {
    const { invitation } = await desk.invite("bob");
    return right(await phone.acceptInvitation(invitation, { token, source: "a" })).token;
  };
  assertEquals(await accept(stage.token), stage.token);
  assertEquals((await phone.view(stage.token))?.pairings.length, 2);
  const chosen = "A".repeat(43);
  assertNotEquals(await accept(chosen), chosen);
});

Deno.test("PhoneService.acceptInvitation() takes at most 20 pairings for a phone", async () => {
  await using stage = await openStage();
  const { phone, desk } = stage.embedded;
  const results: boolean[] = [];
  for (let at = 0; at < 21; at++) {
    const { invitation } = await desk.invite(`user ${at}`);
    results.push((await phone.acceptInvitation(invitation, { token: stage.token, source: "a" })).ok);
  }
  assertEquals(results.filter(Boolean).length, 19);
});

Deno.test("SecondFactorDesk.onPaired() is told of a pairing by invitation before the phone is", async () => {
  await using stage = await openStage();
  const told: unknown[] = [];
  stage.embedded.desk.onPaired((pairing) => {
    told.push(pairing);
    return Promise.resolve(true);
  });
  const { pairingId } = await pairPhone(stage.embedded, "bob");
  const from = { recordId: "1.none", source: "bob", browser: "" };
  assertEquals(told, [{ pairingId, userName: "bob", totpLength: 6, ...from }]);
});

Deno.test("SecondFactorDesk.onPaired() is told what the person called the phone", async () => {
  await using stage = await openStage();
  const names: unknown[] = [];
  stage.embedded.desk.onPaired(({ name }) => Promise.resolve(names.push(name) > 0));
  const { invitation } = await stage.embedded.desk.invite("bob");
  const name = "Pixel of Bob";
  right(await stage.embedded.phone.acceptInvitation(invitation, { token: null, source: "a", name }));
  assertEquals(names, [name]);
});

Deno.test("SecondFactorService.pairing() tells the phone's name, which a phrase alone does not give", async () => {
  await using stage = await openStage();
  const { phone } = stage.embedded;
  const { phrase } = right(await phone.newPhrase(stage.token));
  const asked = right(await stage.embedded.service.createPairing({ phrase, userName: "bob" }));
  assertEquals(asked.name, undefined);
  right(await phone.decidePairing(stage.token, asked.id, { approve: true, name: "Safari on iPhone" }));
  const { enabled, name } = right(await stage.embedded.service.pairing(asked.id));
  assertEquals([enabled, name], [true, "Safari on iPhone"]);
});

Deno.test("PhoneService.acceptInvitation() leaves no pairing behind when it cannot be reported", async () => {
  await using stage = await openStage();
  const { desk, phone } = stage.embedded;
  desk.onPaired(() => Promise.reject(new Error("the store is gone")));
  const { invitation } = await desk.invite("bob");
  await assertRejects(() => phone.acceptInvitation(invitation, { token: stage.token, source: "a" }));
  assertEquals((await phone.view(stage.token))?.pairings.map(({ userName }) => userName), ["ada"]);
});

Deno.test("PhoneService.acceptInvitation() pairs no phone when the user left, or the pairing may not stay", async () => {
  await using stage = await openStage();
  const { desk, phone } = stage.embedded;
  const reasonOf = (result: { ok: boolean; reason?: unknown }) => result.ok ? "ok" : result.reason;
  const accept = (invitation: string) =>
    phone.acceptInvitation(invitation, { token: stage.token, source: "a" }).then(reasonOf);
  for (const record of [{ status: "inactive" }, { status: "deleted" }, { id: "2.none" }] as const) {
    const { invitation } = await desk.invite("bob");
    stage.ground.userRecords.set("bob", record);
    assertEquals(reasonOf(await phone.lookAtInvitation(invitation, "a")), "account_changed");
    assertEquals(await accept(invitation), "account_changed");
    stage.ground.userRecords.set("bob", { status: "active" });
  }
  const { invitation } = await desk.invite("bob");
  desk.onPaired(() => Promise.resolve(false));
  assertEquals(await accept(invitation), "account_changed");
  assertEquals((await phone.view(stage.token))?.pairings.map(({ userName }) => userName), ["ada"]);
});

Deno.test("PhoneService.decidePairing() approves no pairing whose user left since the phrase was typed", async () => {
  await using stage = await openStage();
  const { phone } = stage.embedded;
  const { phrase } = right(await phone.newPhrase(stage.token));
  const { id } = right(await stage.embedded.service.createPairing({ phrase, userName: "bob" }));
  stage.ground.userRecords.set("bob", { id: "1.left" });
  const approved = await phone.decidePairing(stage.token, id, { approve: true });
  assertEquals(approved, { ok: false, reason: "account_changed" });
  right(await phone.decidePairing(stage.token, id, { approve: false }));
});

Deno.test("PhoneService.unpair() ends what waits, and the token with the last pairing", async () => {
  await using stage = await openStage();
  const { desk, phone } = stage.embedded;
  const unpaired: unknown[] = [];
  desk.onUnpaired((pairing) => {
    unpaired.push(pairing);
    return Promise.resolve();
  });
  const { id } = await stage.ask();
  const stranger = await pairPhone(stage.embedded, "bob");
  assertEquals((await phone.unpair(stranger.token, stage.pairingId)).ok, false);
  right(await phone.unpair(stage.token, stage.pairingId));
  assertEquals(unpaired, [{ pairingId: stage.pairingId, userName: "ada" }]);
  assertEquals(await phone.view(stage.token), null);
  const { pending, granted, cancelled } = right(await stage.embedded.service.status(id));
  assertEquals([pending, granted, cancelled], [false, false, true]);
  assertEquals((await phone.passcode(stage.token, stage.pairingId)).ok, false);
});

Deno.test("SecondFactorDesk.revokePairing() ends a pairing once; a phone with another one keeps its token", async () => {
  await using stage = await openStage();
  const { desk, phone } = stage.embedded;
  const { invitation } = await desk.invite("bob");
  right(await phone.acceptInvitation(invitation, { token: stage.token, source: "a" }));
  assertEquals([await desk.revokePairing(stage.pairingId), await desk.revokePairing(stage.pairingId)], [
    true,
    false,
  ]);
  assertEquals(await desk.revokePairing("never heard of"), false);
  assertEquals((await phone.view(stage.token))?.pairings.map(({ userName }) => userName), ["bob"]);
});

Deno.test("PhoneService.watch() calls back when the view may have changed, and not after the stop", async () => {
  await using stage = await openStage();
  const { phone, desk } = stage.embedded;
  let changes = 0;
  const stop = phone.watch(stage.token, () => changes++);
  const { id } = await stage.ask();
  assertEquals(changes, 1);
  await desk.deny(id);
  assertEquals(changes, 2);
  stop();
  await stage.ask();
  assertEquals(changes, 2);
  assertEquals(typeof phone.watch("no-such-token", () => changes++), "function");
});

Deno.test("Phones, phrases and invitations survive a restart", async () => {
  await using stage = await openStage();
  const { token, phrase } = right(await stage.embedded.phone.startWithPhrase("a"));
  const { invitation } = await stage.embedded.desk.invite("bob");
  const { code } = right(await stage.embedded.phone.passcode(stage.token, stage.pairingId));
  const again = await stage.restart();
  assertEquals((await again.phone.view(token))?.phrase?.text, phrase);
  assertEquals((await again.phone.lookAtInvitation(invitation, "a")).ok, true);
  assertEquals(right(await again.phone.passcode(stage.token, stage.pairingId)).code, code);
});

Deno.test("The store holds no token, phrase, invitation, seed or passcode in clear", async () => {
  await using stage = await openStage();
  const { token, phrase } = right(await stage.embedded.phone.startWithPhrase("a"));
  const { invitation } = await stage.embedded.desk.invite("bob");
  const { code } = right(await stage.embedded.phone.passcode(stage.token, stage.pairingId));
  await settle();
  let kept = "";
  for await (const { key, value } of stage.ground.store.list(["embedded"])) {
    kept += Deno.inspect([key, value], { depth: 9, strAbbreviateSize: Infinity, iterableLimit: Infinity });
    for (const part of Object.values(value ?? {})) {
      if (part instanceof Uint8Array) kept += new TextDecoder().decode(part);
    }
  }
  assertEquals(kept.includes("ada"), true);
  const secrets = [token, stage.token, phrase, phrase.split(" ")[0] ?? "", invitation, code];
  for (const secret of secrets) assertEquals(kept.includes(secret), false);
});
