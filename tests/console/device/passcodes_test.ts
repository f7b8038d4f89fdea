// Passcodes that the phone computes itself: the vectors of RFC 6238, seeds that come once, and the clock.

import { assertEquals } from "@std/assert";
import { Passcodes } from "../../../console/device/passcodes.ts";
import type { PhonePairing } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { memoryPhoneStorage } from "../../fakes/phone_storage.ts";

/** RFC 6238, Appendix B: SHA-1, the last six of eight digits. */
const VECTORS = [
  [59, "287082"],
  [1111111109, "081804"],
  [1111111111, "050471"],
  [1234567890, "005924"],
  [2000000000, "279037"],
  [20000000000, "353130"],
] as const;
const SEED = new TextEncoder().encode("12345678901234567890").toBase64({
  alphabet: "base64url",
  omitPadding: true,
});

function pairing(id: string, values: Partial<PhonePairing> = {}): PhonePairing {
  const common = { userName: "ada", requesterName: "Example VPN", status: "enabled", createdMs: 0 } as const;
  return { pairingId: id, ...common, ...values };
}

async function setUp({ isBroken = false, isSecure = true } = {}) {
  const storage = memoryPhoneStorage({ isBroken });
  await storage.set("language", "en");
  const calls: string[] = [];
  let nowMs = 59_000;
  let isOnline = true;
  const passcodes = new Passcodes({
    storage,
    fetch: (input) => {
      calls.push(String(input));
      if (!isOnline) return Promise.reject(new TypeError("no network"));
      return Promise.resolve(Response.json({ seed: SEED, digits: 6, stepMs: 30_000, seedMs: calls.length }));
    },
    subtle: isSecure ? crypto.subtle : undefined,
    localNowMs: () => nowMs,
    exclusive: (task) => task(),
  });
  return {
    passcodes,
    storage,
    calls,
    at: (next: number) => void (nowMs = next),
    connect: (next: boolean) => void (isOnline = next),
    codeOf: async (id: string) => (await passcodes.current(id))?.code ?? null,
  };
}

Deno.test("Passcodes computes the codes of RFC 6238 Appendix B with a key that cannot be read", async () => {
  const { passcodes, at, codeOf, storage } = await setUp();
  await passcodes.follow([pairing("p1")]);
  for (const [seconds, code] of VECTORS) {
    at(seconds * 1000);
    assertEquals(await codeOf("p1"), code);
  }
  const [held] = await storage.passcodeKeys();
  assertEquals([held?.key.extractable, held?.key.usages], [false, ["sign"]]);
  at(59_000);
  assertEquals((await passcodes.current("p1"))?.validUntilMs, 60_000);
  assertEquals(await codeOf("unknown"), null);
});

Deno.test("Passcodes fetches the seed of a pairing once, when the pairing is enabled", async () => {
  const { passcodes, calls } = await setUp();
  await passcodes.follow([pairing("p1", { status: "asks_approval" })]);
  assertEquals(calls, []);
  await passcodes.follow([pairing("p1"), pairing("p/2")]);
  await passcodes.follow([pairing("p1"), pairing("p/2")]);
  assertEquals(calls, ["p1", "p%2F2"].map((id) => `/device/api/pairings/${id}/passcode-seed`));
  assertEquals(passcodes.keys.value.map(({ pairingId }) => pairingId), ["p1", "p/2"]);
});

Deno.test("Passcodes tries again at the next visit after a call that failed", async () => {
  const { passcodes, calls, connect, codeOf } = await setUp();
  connect(false);
  await passcodes.follow([pairing("p1")]);
  assertEquals(await codeOf("p1"), null);
  connect(true);
  await passcodes.follow([pairing("p1")]);
  assertEquals([calls.length, await codeOf("p1")], [2, "287082"]);
});

Deno.test("Passcodes deletes the key of a pairing that ended", async () => {
  const { passcodes, storage, codeOf } = await setUp();
  await passcodes.follow([pairing("p1"), pairing("p2")]);
  await passcodes.follow([pairing("p2")]);
  assertEquals((await storage.passcodeKeys()).map(({ pairingId }) => pairingId), ["p2"]);
  assertEquals([await codeOf("p1"), await codeOf("p2")], [null, "287082"]);
});

Deno.test("Passcodes asks for no seed that it cannot store or use", async () => {
  const broken = await setUp({ isBroken: true });
  await broken.passcodes.follow([pairing("p1")]);
  const insecure = await setUp({ isSecure: false });
  await insecure.passcodes.follow([pairing("p1")]);
  assertEquals([broken.calls, insecure.calls], [[], []]);
});

Deno.test("Passcodes corrects the clock of the phone, also after a start without the network", async () => {
  const { passcodes, storage, at, codeOf } = await setUp();
  await passcodes.follow([pairing("p1")]);
  at(59_000 + 600_000);
  await passcodes.adjustClock(59_000);
  assertEquals([passcodes.clockErrorMs(), await codeOf("p1")], [600_000, "287082"]);
  const next = new Passcodes({
    storage,
    fetch: () => Promise.reject(new TypeError("no network")),
    subtle: crypto.subtle,
    localNowMs: () => 59_000 + 600_000,
    exclusive: (task) => task(),
  });
  await next.load();
  assertEquals([(await next.current("p1"))?.code, next.clockErrorMs()], ["287082", 600_000]);
});

Deno.test("Passcodes reports no difference of the clocks that does not matter", async () => {
  const { passcodes } = await setUp();
  await passcodes.adjustClock(59_000 + 15_000);
  assertEquals(passcodes.clockErrorMs(), 0);
  await passcodes.adjustClock(59_000 + 25_000);
  assertEquals(passcodes.clockErrorMs(), -25_000);
});

Deno.test("Passcodes replaces a key that is out of date, once in a visit", async () => {
  const { passcodes, calls, storage, codeOf } = await setUp();
  await passcodes.follow([pairing("p1")]);
  await passcodes.follow([pairing("p1", { seedMs: 1 })]);
  assertEquals(calls.length, 1);
  await passcodes.follow([pairing("p1", { seedMs: 7 })]);
  assertEquals([calls.length, await storage.passcodeKeys(), await codeOf("p1")], [1, [], null]);
  const next = await setUp();
  await next.passcodes.follow([pairing("p1", { seedMs: 7 })]);
  const [held] = await next.storage.passcodeKeys();
  assertEquals([next.calls.length, held?.seedMs], [1, 1]);
});

Deno.test("Passcodes replaces a key that is newer than the server's, as after a restored backup", async () => {
  const before = await setUp();
  await before.passcodes.follow([pairing("p1")]);
  const [key] = await before.storage.passcodeKeys();
  const { passcodes, storage, calls } = await setUp();
  if (key !== undefined) await storage.putPasscodeKey({ ...key, seedMs: 9 });
  await passcodes.follow([pairing("p1", { seedMs: 5 })]);
  assertEquals([calls.length, (await storage.passcodeKeys()).map(({ seedMs }) => seedMs)], [1, [1]]);
});
