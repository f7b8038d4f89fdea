// The seed that a phone receives, so that it computes its passcodes without the network.

import { assertEquals, assertNotEquals } from "@std/assert";
import { totpAt } from "../../../../radius/factors/totp.ts";
import { right } from "../../start_services.ts";
import { pairPhone, startSecondFactor } from "./start_second_factor.ts";

const HOUR_MS = 3600_000;
const STEP_MS = 30_000;

Deno.test("DeviceService.issuePasscodeSeed() returns a seed whose passcodes the service accepts, once each", async () => {
  await using setup = await startSecondFactor();
  const { phone, admin } = setup.embedded;
  const origin = { source: "192.0.2.7", browser: "Chrome on Android" };
  const { seed, digits, stepMs } = right(await phone.issuePasscodeSeed(setup.token, setup.pairingId, origin));
  assertEquals([seed.length, digits, stepMs], [20, 6, STEP_MS]);
  const [pairing] = (await phone.view(setup.token))?.pairings ?? [];
  assertEquals(pairing?.seedMs, setup.clock.nowMs());
  const code = totpAt(seed, Math.floor(setup.clock.nowMs() / STEP_MS), digits);
  assertEquals(right(await phone.passcode(setup.token, setup.pairingId)).code, code);
  assertEquals(await admin.usePasscode(setup.pairingId, code), true);
  assertEquals(await admin.usePasscode(setup.pairingId, code), false);
  const audits = await Array.fromAsync(setup.ground.store.list<Record<string, unknown>>(["audit"]));
  const [record] = audits.flatMap(({ value }) => value?.action === "pairing.passcode_seed" ? [value] : []);
  assertEquals([record?.actor, record?.object, record?.source, record?.browser], [
    "user:ada",
    "user:ada",
    "192.0.2.7",
    "Chrome on Android",
  ]);
  assertEquals(JSON.stringify(record).includes(seed.toBase64()), false);
});

Deno.test("DeviceService.issuePasscodeSeed() replaces the seed before, and keeps used steps used", async () => {
  await using setup = await startSecondFactor();
  const { phone, admin } = setup.embedded;
  const step = Math.floor(setup.clock.nowMs() / STEP_MS);
  const issue = async () => right(await phone.issuePasscodeSeed(setup.token, setup.pairingId)).seed;
  const first = await issue();
  assertEquals(await admin.usePasscode(setup.pairingId, totpAt(first, step, 6)), true);
  const second = await issue();
  assertNotEquals(first, second);
  assertEquals(await admin.usePasscode(setup.pairingId, totpAt(second, step, 6)), false, "the step is used");
  setup.clock.advance(STEP_MS);
  assertEquals(await admin.usePasscode(setup.pairingId, totpAt(first, step + 1, 6)), false);
  assertEquals(await admin.usePasscode(setup.pairingId, totpAt(second, step + 1, 6)), true);
});

Deno.test("DeviceService.issuePasscodeSeed() refuses another phone's pairing, an unknown token, and an ended pairing", async () => {
  await using setup = await startSecondFactor();
  const { phone } = setup.embedded;
  const other = await pairPhone(setup.embedded, "bob");
  const reason = async (token: string, pairingId: string) => {
    const issued = await phone.issuePasscodeSeed(token, pairingId);
    return issued.ok ? null : issued.reason;
  };
  assertEquals(await reason(setup.token, other.pairingId), "unknown_request");
  assertEquals(await reason(setup.token, "unknown"), "unknown_request");
  assertEquals(await reason("no token", setup.pairingId), "unknown_token");
  right(await phone.unpair(setup.token, setup.pairingId));
  assertEquals(await reason(setup.token, setup.pairingId), "unknown_token");
});

Deno.test("DeviceService.issuePasscodeSeed() issues five seeds an hour for a pairing", async () => {
  await using setup = await startSecondFactor();
  const { phone } = setup.embedded;
  const issue = async () => (await phone.issuePasscodeSeed(setup.token, setup.pairingId)).ok;
  for (let count = 0; count < 5; count++) assertEquals(await issue(), true);
  assertEquals(await phone.issuePasscodeSeed(setup.token, setup.pairingId), {
    ok: false,
    reason: "too_many_tries",
  });
  setup.clock.advance(HOUR_MS);
  assertEquals(await issue(), true);
});
