// Phones and their pairings: invitations, tokens, names, and the end of a pairing.

import { assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { settle } from "../../manual_clock.ts";
import { right } from "../../start_services.ts";
import { pairPhone, startSecondFactor } from "./start_second_factor.ts";

const MINUTE_MS = 60_000;

Deno.test("A phone that never paired is deleted", async () => {
  await using setup = await startSecondFactor();
  const { token } = right(await setup.embedded.phone.startWithPhrase("a"));
  setup.clock.advance(30 * MINUTE_MS);
  assertEquals(await setup.embedded.phone.view(token), null);
  assertEquals((await setup.embedded.phone.newPhrase(token)).ok, false);
});

Deno.test("DeviceService.viewInvitation() shows the user of an invitation, and does not use it up", async () => {
  await using setup = await startSecondFactor();
  const { invitation, deadlineMs } = await setup.embedded.admin.invite("bob");
  assertMatch(invitation, /^[\w-]{22}$/);
  assertEquals(deadlineMs, setup.clock.nowMs() + 24 * 60 * MINUTE_MS);
  for (let look = 0; look < 10; look++) {
    assertEquals(await setup.embedded.phone.viewInvitation(invitation, "a"), {
      ok: true,
      userName: "bob",
      requesterName: "Countersign",
      deadlineMs,
    });
  }
});

Deno.test("DeviceService.acceptInvitation() pairs once, also for simultaneous calls", async () => {
  await using setup = await startSecondFactor();
  const { phone, admin } = setup.embedded;
  const { invitation } = await admin.invite("bob");
  const accepted = await Promise.all(
    Array.from({ length: 5 }, () => phone.acceptInvitation(invitation, { token: null, source: "a" })),
  );
  assertEquals(accepted.filter(({ ok }) => ok).length, 1);
  assertEquals(await phone.viewInvitation(invitation, "a"), { ok: false, reason: "already_used" });
});

Deno.test("DeviceService.acceptInvitation() refuses an expired invitation, and limits guesses", async () => {
  await using setup = await startSecondFactor();
  const { phone, admin } = setup.embedded;
  const { invitation } = await admin.invite("bob");
  for (let guess = 0; guess < 5; guess++) {
    assertEquals(await phone.viewInvitation(`guess ${guess}`, "b"), {
      ok: false,
      reason: "unknown_invitation",
    });
  }
  assertEquals(await phone.viewInvitation("guess 5", "b"), { ok: false, reason: "too_many_tries" });
  // A correct link works, whatever other users of the same address did.
  assertEquals((await phone.viewInvitation(invitation, "b")).ok, true);
  setup.clock.advance(24 * 60 * MINUTE_MS);
  assertEquals(await phone.acceptInvitation(invitation, { token: null, source: "c" }), {
    ok: false,
    reason: "expired",
  });
});

Deno.test("DeviceService.acceptInvitation() reuses a valid token, and replaces an invalid one", async () => {
  await using setup = await startSecondFactor();
  const { phone, admin } = setup.embedded;
  const accept = async (token: string) => {
    const { invitation } = await admin.invite("bob");
    return right(await phone.acceptInvitation(invitation, { token, source: "a" })).token;
  };
  assertEquals(await accept(setup.token), setup.token);
  assertEquals((await phone.view(setup.token))?.pairings.length, 2);
  const chosen = "A".repeat(43);
  assertNotEquals(await accept(chosen), chosen);
});

Deno.test("DeviceService.acceptInvitation() accepts at most 20 pairings for a phone", async () => {
  await using setup = await startSecondFactor();
  const { phone, admin } = setup.embedded;
  const results: boolean[] = [];
  for (let at = 0; at < 21; at++) {
    const { invitation } = await admin.invite(`user ${at}`);
    results.push((await phone.acceptInvitation(invitation, { token: setup.token, source: "a" })).ok);
  }
  assertEquals(results.filter(Boolean).length, 19);
});

Deno.test("SecondFactorAdmin.onPaired() is notified of a pairing by invitation before the phone is", async () => {
  await using setup = await startSecondFactor();
  const told: unknown[] = [];
  setup.embedded.admin.onPaired((pairing) => {
    told.push(pairing);
    return Promise.resolve(true);
  });
  const { pairingId } = await pairPhone(setup.embedded, "bob");
  const from = { recordId: "1.none", source: "bob", browser: "" };
  assertEquals(told, [{ pairingId, userName: "bob", totpLength: 6, ...from }]);
});

Deno.test("SecondFactorAdmin.onPaired() receives the phone's name", async () => {
  await using setup = await startSecondFactor();
  const names: unknown[] = [];
  setup.embedded.admin.onPaired(({ name }) => Promise.resolve(names.push(name) > 0));
  const { invitation } = await setup.embedded.admin.invite("bob");
  const name = "Pixel of Bob";
  right(await setup.embedded.phone.acceptInvitation(invitation, { token: null, source: "a", name }));
  assertEquals(names, [name]);
});

Deno.test("SecondFactorService.pairing() returns the phone's name, which a phrase alone does not set", async () => {
  await using setup = await startSecondFactor();
  const { phone } = setup.embedded;
  const { phrase } = right(await phone.newPhrase(setup.token));
  const asked = right(await setup.embedded.service.createPairing({ phrase, userName: "bob" }));
  assertEquals(asked.name, undefined);
  right(await phone.decidePairing(setup.token, asked.id, { approve: true, name: "Safari on iPhone" }));
  const { enabled, name } = right(await setup.embedded.service.pairing(asked.id));
  assertEquals([enabled, name], [true, "Safari on iPhone"]);
});

Deno.test("DeviceService.acceptInvitation() stores no pairing that cannot be reported", async () => {
  await using setup = await startSecondFactor();
  const { admin, phone } = setup.embedded;
  admin.onPaired(() => Promise.reject(new Error("the store is gone")));
  const { invitation } = await admin.invite("bob");
  await assertRejects(() => phone.acceptInvitation(invitation, { token: setup.token, source: "a" }));
  assertEquals((await phone.view(setup.token))?.pairings.map(({ userName }) => userName), ["ada"]);
});

Deno.test("DeviceService.acceptInvitation() pairs no phone when the user left, or the pairing is refused", async () => {
  await using setup = await startSecondFactor();
  const { admin, phone } = setup.embedded;
  const reasonOf = (result: { ok: boolean; reason?: unknown }) => result.ok ? "ok" : result.reason;
  const accept = (invitation: string) =>
    phone.acceptInvitation(invitation, { token: setup.token, source: "a" }).then(reasonOf);
  for (const record of [{ status: "inactive" }, { status: "deleted" }, { id: "2.none" }] as const) {
    const { invitation } = await admin.invite("bob");
    setup.ground.userRecords.set("bob", record);
    assertEquals(reasonOf(await phone.viewInvitation(invitation, "a")), "account_changed");
    assertEquals(await accept(invitation), "account_changed");
    setup.ground.userRecords.set("bob", { status: "active" });
  }
  const { invitation } = await admin.invite("bob");
  admin.onPaired(() => Promise.resolve(false));
  assertEquals(await accept(invitation), "account_changed");
  assertEquals((await phone.view(setup.token))?.pairings.map(({ userName }) => userName), ["ada"]);
});

Deno.test("DeviceService.decidePairing() approves no pairing whose user left after the phrase was typed", async () => {
  await using setup = await startSecondFactor();
  const { phone } = setup.embedded;
  const { phrase } = right(await phone.newPhrase(setup.token));
  const { id } = right(await setup.embedded.service.createPairing({ phrase, userName: "bob" }));
  setup.ground.userRecords.set("bob", { id: "1.left" });
  const approved = await phone.decidePairing(setup.token, id, { approve: true });
  assertEquals(approved, { ok: false, reason: "account_changed" });
  right(await phone.decidePairing(setup.token, id, { approve: false }));
});

Deno.test("DeviceService.unpair() ends pending requests, and the token with the last pairing", async () => {
  await using setup = await startSecondFactor();
  const { admin, phone } = setup.embedded;
  const unpaired: unknown[] = [];
  admin.onUnpaired((pairing) => {
    unpaired.push(pairing);
    return Promise.resolve();
  });
  const { id } = await setup.ask();
  const stranger = await pairPhone(setup.embedded, "bob");
  assertEquals((await phone.unpair(stranger.token, setup.pairingId)).ok, false);
  right(await phone.unpair(setup.token, setup.pairingId));
  assertEquals(unpaired, [{ pairingId: setup.pairingId, userName: "ada" }]);
  assertEquals(await phone.view(setup.token), null);
  const { pending, granted, cancelled } = right(await setup.embedded.service.status(id));
  assertEquals([pending, granted, cancelled], [false, false, true]);
  assertEquals((await phone.passcode(setup.token, setup.pairingId)).ok, false);
});

Deno.test("SecondFactorAdmin.revokePairing() ends a pairing once; a phone with another one keeps its token", async () => {
  await using setup = await startSecondFactor();
  const { admin, phone } = setup.embedded;
  const { invitation } = await admin.invite("bob");
  right(await phone.acceptInvitation(invitation, { token: setup.token, source: "a" }));
  assertEquals([await admin.revokePairing(setup.pairingId), await admin.revokePairing(setup.pairingId)], [
    true,
    false,
  ]);
  assertEquals(await admin.revokePairing("never heard of"), false);
  assertEquals((await phone.view(setup.token))?.pairings.map(({ userName }) => userName), ["bob"]);
});

Deno.test("DeviceService.watch() calls back when the view may have changed, and not after the stop", async () => {
  await using setup = await startSecondFactor();
  const { phone, admin } = setup.embedded;
  let changes = 0;
  const stop = phone.watch(setup.token, () => changes++);
  const { id } = await setup.ask();
  assertEquals(changes, 1);
  await admin.deny(id);
  assertEquals(changes, 2);
  stop();
  await setup.ask();
  assertEquals(changes, 2);
  assertEquals(typeof phone.watch("no-such-token", () => changes++), "function");
});

Deno.test("Phones, phrases and invitations survive a restart", async () => {
  await using setup = await startSecondFactor();
  const { token, phrase } = right(await setup.embedded.phone.startWithPhrase("a"));
  const { invitation } = await setup.embedded.admin.invite("bob");
  const { code } = right(await setup.embedded.phone.passcode(setup.token, setup.pairingId));
  const again = await setup.restart();
  assertEquals((await again.phone.view(token))?.phrase?.text, phrase);
  assertEquals((await again.phone.viewInvitation(invitation, "a")).ok, true);
  assertEquals(right(await again.phone.passcode(setup.token, setup.pairingId)).code, code);
});

Deno.test("The store holds no token, phrase, invitation, seed or passcode in clear", async () => {
  await using setup = await startSecondFactor();
  const { token, phrase } = right(await setup.embedded.phone.startWithPhrase("a"));
  const { invitation } = await setup.embedded.admin.invite("bob");
  const { code } = right(await setup.embedded.phone.passcode(setup.token, setup.pairingId));
  await settle();
  let kept = "";
  for await (const { key, value } of setup.ground.store.list(["embedded"])) {
    kept += Deno.inspect([key, value], { depth: 9, strAbbreviateSize: Infinity, iterableLimit: Infinity });
    for (const part of Object.values(value ?? {})) {
      if (part instanceof Uint8Array) kept += new TextDecoder().decode(part);
    }
  }
  assertEquals(kept.includes("ada"), true);
  const secrets = [token, setup.token, phrase, phrase.split(" ")[0] ?? "", invitation, code];
  for (const secret of secrets) assertEquals(kept.includes(secret), false);
});
