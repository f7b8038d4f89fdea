// Pairing phrases: shown on a phone, typed at a login, limited, and confirmed on the phone.

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { createSystemRandom } from "../../../../platform/runtime.ts";
import {
  createPhrase,
  normalizePhrase,
  PHRASE_WORDS,
} from "../../../../upstream/embedded/second_factor/pairings.ts";
import { right } from "../../start_services.ts";
import { startSecondFactor } from "./start_second_factor.ts";

const MINUTE_MS = 60_000;

Deno.test("PHRASE_WORDS are 256 different short words, so that a phrase has over 40 bits", () => {
  assertEquals([PHRASE_WORDS.length, new Set(PHRASE_WORDS).size], [256, 256]);
  for (const word of PHRASE_WORDS) assertMatch(word, /^[a-z]{3,9}$/);
  assertEquals(Math.log2(256 ** 3 * 10 ** 5) > 40, true);
  assertMatch(createPhrase(createSystemRandom()), /^[a-z]+ [a-z]+ [a-z]+ \d{5}$/);
});

Deno.test("normalizePhrase() ignores case and any separators between the words", () => {
  for (const typed of ["Maple  RIVER-stone/40718", " maple river stone40718 ", "maple.river,stone 40718\n"]) {
    assertEquals(normalizePhrase(typed), "maple river stone 40718");
  }
  assertNotEquals(normalizePhrase("mapleriver stone 40718"), "maple river stone 40718");
});

Deno.test("DeviceService.startWithPhrase() returns a token of 256 bits and a phrase for ten minutes", async () => {
  await using setup = await startSecondFactor();
  const started = right(await setup.embedded.phone.startWithPhrase("192.0.2.1"));
  assertMatch(started.token, /^[\w-]{43}$/);
  assertEquals(started.deadlineMs, setup.clock.nowMs() + 10 * MINUTE_MS);
  const view = await setup.embedded.phone.view(started.token);
  assertEquals(view, {
    nowMs: setup.clock.nowMs(),
    phrase: { text: started.phrase, deadlineMs: started.deadlineMs },
    pairings: [],
    requests: [],
  });
});

Deno.test("DeviceService.startWithPhrase() allows five a minute from one source", async () => {
  await using setup = await startSecondFactor();
  const { phone } = setup.embedded;
  for (let at = 0; at < 5; at++) right(await phone.startWithPhrase("192.0.2.1"));
  assertEquals(await phone.startWithPhrase("192.0.2.1"), { ok: false, reason: "too_many_tries" });
  right(await phone.startWithPhrase("192.0.2.2"));
  setup.clock.advance(MINUTE_MS);
  right(await phone.startWithPhrase("192.0.2.1"));
});

Deno.test("A phrase is valid for ten minutes, and a newer one voids it", async () => {
  await using setup = await startSecondFactor();
  const { phone } = setup.embedded;
  const started = right(await phone.startWithPhrase("a"));
  const renewed = right(await phone.newPhrase(started.token));
  const typed = async (phrase: string) =>
    (await setup.embedded.service.createPairing({ phrase, userName: "ada" })).ok;
  assertEquals(await typed(started.phrase), false);
  setup.clock.advance(10 * MINUTE_MS);
  assertEquals(await typed(renewed.phrase), false);
  const latest = right(await phone.newPhrase(started.token));
  assertEquals(await typed(latest.phrase), true);
});

Deno.test("A pairing by phrase waits for the phone, and ends when it is denied", async () => {
  await using setup = await startSecondFactor();
  const { phone } = setup.embedded;
  const { token, phrase } = right(await phone.startWithPhrase("a"));
  const { id } = right(await setup.embedded.service.createPairing({ phrase, userName: "bob" }));
  const view = await phone.view(token);
  assertEquals([view?.phrase, view?.pairings[0]?.status, view?.pairings[0]?.userName], [
    null,
    "asks_approval",
    "bob",
  ]);
  assertEquals((await phone.passcode(token, id)).ok, false);
  assertEquals(await phone.decidePairing(setup.token, id, { approve: true }), {
    ok: false,
    reason: "unknown_request",
  });
  right(await phone.decidePairing(token, id, { approve: false }));
  assertEquals(await phone.decidePairing(token, id, { approve: true }), {
    ok: false,
    reason: "already_decided",
  });
  const { enabled, pending, deactivated } = right(await setup.embedded.service.pairing(id));
  assertEquals([enabled, pending, deactivated], [false, false, true]);
});

Deno.test("A pairing by phrase without a confirmation within ten minutes is denied", async () => {
  await using setup = await startSecondFactor();
  const { token, phrase } = right(await setup.embedded.phone.startWithPhrase("a"));
  const { id } = right(await setup.embedded.service.createPairing({ phrase, userName: "bob" }));
  setup.clock.advance(10 * MINUTE_MS);
  assertEquals((await setup.embedded.phone.decidePairing(token, id, { approve: true })).ok, false);
  const { enabled, pending } = right(await setup.embedded.service.pairing(id));
  assertEquals([enabled, pending], [false, false]);
});

Deno.test("SecondFactorService.createPairing() allows twenty wrong phrases a minute for one user name", async () => {
  await using setup = await startSecondFactor();
  const { phrase } = right(await setup.embedded.phone.startWithPhrase("a"));
  const type = async (typed: string, userName: string) => {
    const answer = await setup.embedded.service.createPairing({ phrase: typed, userName });
    return answer.ok ? "paired" : answer.fault.kind;
  };
  for (let at = 0; at < 20; at++) assertEquals(await type(`wrong ${at}`, "Ada"), "unknown");
  assertEquals(await type(phrase, "ada"), "busy");
  assertEquals(await type("wrong", "bob"), "unknown");
  setup.clock.advance(MINUTE_MS);
  assertEquals(await type(phrase, "ada"), "paired");
});

Deno.test("SecondFactorService.createPairing() allows 200 wrong phrases a minute over all user names", async () => {
  await using setup = await startSecondFactor();
  let unknown = 0;
  for (let at = 0; at < 220; at++) {
    const answer = await setup.embedded.service.createPairing({ phrase: "wrong", userName: `user ${at}` });
    if (!answer.ok && answer.fault.kind === "unknown") unknown++;
  }
  assertEquals(unknown, 200);
});
