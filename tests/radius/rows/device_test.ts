// The phone app in a login, and its codes.

import { assert, assertEquals } from "@std/assert";
import type { SecondFactorService } from "../../../radius/ports.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { appCode, decide, give, giveDevice, lastRequest, otherThan, SEED, startWith } from "./people.ts";
import { jump } from "./passing_time.ts";
import type { FakePairing } from "../../fakes/second_factor_records.ts";

// The flow rows of the approval on a device.

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const WAITING = "Still waiting for your device. Authorize there, then press continue or type ok.";
const NOT_GIVEN = ["reject", "Device approval was not given."];

/** A login that waits for the device. */
async function atDevice(world: InProcess): Promise<{ login: Login; pairing: FakePairing }> {
  const pairing = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  return { login, pairing };
}

Deno.test("device: any text except a passcode or cancel means continue", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await atDevice(world);
  decide(world, pairing, true);
  assertEquals((await login.answer("continue")).kind, "accept");
});

/** An empty answer as radcli (ocserv) and Authen::Radius write it: the attribute without octets. */
const WITHOUT_OCTETS = { password: undefined, more: [{ type: 2, value: new Uint8Array(0) }] };

Deno.test("device: a User-Password without octets is an empty answer, and continues", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await atDevice(world);
  assertEquals(brief(await login.answer("", WITHOUT_OCTETS)), [DEVICE, WAITING]);
  decide(world, pairing, true);
  assertEquals(brief(await login.answer("", WITHOUT_OCTETS)), ["accept", ""]);
});

Deno.test("start: a User-Password without octets is an empty password, and leads to the menu", async () => {
  await using world = await startWith("device");
  const reply = await world.login({ user: "anna" }).start("", WITHOUT_OCTETS);
  assertEquals(reply.step, "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("device: a passcode with a blank or a dash inside is accepted", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await atDevice(world);
  world.secondFactor.setOtp(pairing.id, "135790");
  assertEquals((await login.answer("135-790")).kind, "accept");
});

Deno.test("device: not granted and not pending is a Reject", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await atDevice(world);
  decide(world, pairing, false);
  assertEquals(brief(await login.answer("")), NOT_GIVEN);
});

/** A service whose every answer reports that the request was granted, plus the given fields. */
function saying(also: { pending: boolean; cancelled: boolean }) {
  return (service: SecondFactorService): SecondFactorService => ({
    ...service,
    async status(id) {
      const answer = await service.status(id);
      return answer.ok ? { ok: true, value: { ...answer.value, granted: true, ...also } } : answer;
    },
  });
}

Deno.test("device: granted while still pending is no approval", async () => {
  await using world = await startInProcess({
    between: { secondFactor: saying({ pending: true, cancelled: false }) },
  });
  const { login } = await atDevice(world);
  assertEquals(brief(await login.answer("")), [DEVICE, WAITING]);
});

Deno.test("device: granted but cancelled is no approval", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await atDevice(world);
  world.secondFactor.decide(lastRequest(world, pairing).id, { granted: true, cancelled: true });
  assertEquals(brief(await login.answer("")), NOT_GIVEN);
});

Deno.test("device: granted but cancelled is no approval, even if the client of the service lets it pass", async () => {
  await using world = await startInProcess({
    between: { secondFactor: saying({ pending: false, cancelled: true }) },
  });
  const { login } = await atDevice(world);
  assertEquals(brief(await login.answer("")), NOT_GIVEN);
});

Deno.test("device: continue waits for the decision for a while, then reports that it still waits", async () => {
  await using world = await startInProcess({ toml: "[factors.device]\ncontinue_wait_ms = 2000" });
  const { login } = await atDevice(world);
  const reply = await login.answer("");
  assertEquals(brief(reply), [DEVICE, WAITING]);
  assert(reply.tookMs >= 2000 && reply.tookMs < 3000, `${reply.tookMs} ms`);
});

Deno.test("device: an approval that arrives while continue waits is an Accept at once", async () => {
  await using world = await startInProcess({ toml: "[factors.device]\ncontinue_wait_ms = 20000" });
  const { login, pairing } = await atDevice(world);
  const reply = login.answer("");
  world.clock.after(1000, () => decide(world, pairing, true));
  const { kind, tookMs } = await reply;
  assertEquals(kind, "accept");
  assert(tookMs < 5000, `${tookMs} ms`);
});

Deno.test("device: an approval after several continues still counts", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await atDevice(world);
  for (let round = 0; round < 3; round++) assertEquals((await login.answer("")).step, DEVICE);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "accept");
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("device: typed digits are checked as a device passcode with the service", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await atDevice(world);
  world.secondFactor.setOtp(pairing.id, "246801");
  assertEquals((await login.answer("246801")).kind, "accept");
  await login.start();
  assertEquals(brief(await login.answer("246802")), ["reject", "The submitted passcode does not match."]);
});

Deno.test("device: typed digits may be the code of the user's own TOTP", async () => {
  await using world = await startWith("app");
  const { login } = await atDevice(world);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(world.secondFactor.requests.filter(({ target }) => target.endsWith("otp_auth")), []);
});

Deno.test("device: without a request the service is asked for the literal null, twice, and it is a Reject", async () => {
  await using world = await startWith("device");
  world.secondFactor.failNext({ kind: "status", status: 500 });
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, DEVICE);
  assertEquals(brief(await login.answer("")), NOT_GIVEN);
  assertEquals(world.secondFactor.requests.slice(1).map(({ method, target }) => `${method} ${target}`), [
    "GET /v1/authentication_requests/null",
    "GET /v1/authentication_requests/null",
  ]);
});

Deno.test("device: a client can make ten such pairs of checks a minute, over all its logins", async () => {
  await using world = await startInProcess();
  for (let count = 0; count < 12; count++) {
    await giveDevice(world, `anna${count}`);
    world.secondFactor.failNext({ kind: "status", status: 500 });
    const login = world.login({ user: `anna${count}`, nasPort: count });
    assert((await login.start()).step.startsWith(DEVICE));
    assertEquals(brief(await login.answer("")), NOT_GIVEN);
  }
  const checks = world.secondFactor.requests.filter(({ target }) => target.endsWith("/null"));
  assertEquals(checks.length, 20);
});

for (
  const [title, fault] of Object.entries(
    {
      "a 500": { kind: "status", status: 500 },
      "a 503": { kind: "status", status: 503 },
      "a 401": { kind: "status", status: 401 },
      "a closed connection": { kind: "close" },
      "a hang": { kind: "hang" },
      "bad JSON": { kind: "bad_json" },
      "another request's record": { kind: "wrong_id" },
      "a record of the wrong shape": { kind: "wrong_shape" },
    } as const,
  )
) {
  Deno.test(`device: ${title} instead of a decision keeps the step, and the approval counts after the service recovers`, async () => {
    await using world = await startInProcess();
    const { login, pairing } = await atDevice(world);
    decide(world, pairing, true);
    world.secondFactor.failAlways(fault);
    assertEquals(brief(await login.answer("")), [
      DEVICE,
      "The approval cannot be checked right now. Press continue or type ok to try again.",
    ]);
    world.secondFactor.failAlways(null);
    // A circuit breaker may still be open for a while.
    await jump(world.clock, 60_000);
    assertEquals((await login.answer("")).kind, "accept");
  });
}

Deno.test("device: a service that stays unavailable never accepts a login, and the login ends at its deadline", async () => {
  await using world = await startInProcess({ toml: "[radius]\nconversation_ttl_s = 60" });
  const { login, pairing } = await atDevice(world);
  decide(world, pairing, true);
  world.secondFactor.failAlways({ kind: "close" });
  for (let count = 0; count < 3; count++) assertEquals((await login.answer("")).step, DEVICE);
  world.secondFactor.failAlways(null);
  await jump(world.clock, 61_000);
  assertEquals(brief(await login.answer("")), NOT_GIVEN);
});

Deno.test("device: a request that the service no longer knows is a Reject", async () => {
  await using world = await startInProcess();
  const { login } = await atDevice(world);
  world.secondFactor.failAlways({ kind: "status", status: 404 });
  assertEquals(brief(await login.answer("")), NOT_GIVEN);
});

Deno.test("device: an approval is valid once", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await atDevice(world);
  decide(world, pairing, true);
  assertEquals((await login.answer("")).kind, "accept");
  assertEquals((await login.answer("")).kind, "reject");
  // The next login has its own request, which is not approved.
  await login.start();
  assertEquals((await login.answer("")).step, DEVICE);
});

// Flow rows of the device-generated passcode: the user's own TOTP (RFC 6238), and the code that the service checks.

const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const MISMATCH = ["reject", "The submitted passcode does not match."];
const STEP_MS = 30_000;

async function withTotp(world: InProcess): Promise<Login> {
  await give(world, "anna", { kind: "totp", seed: SEED });
  return await askedForCode(world);
}

async function askedForCode(world: InProcess): Promise<Login> {
  const login = world.login({ user: "anna" });
  assertEquals((await login.start()).step, CODE);
  return login;
}

/** A login at D of a user whose device generates passcodes. */
async function withDevice(world: InProcess): Promise<{ login: Login; pairing: FakePairing }> {
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" }, "");
  assertEquals((await login.answer("D")).step, CODE);
  return { login, pairing };
}

for (const [steps, right] of [[-2, false], [-1, true], [1, true], [2, false]] as const) {
  Deno.test(`totp: the code of ${steps} steps from now is ${right ? "right" : "wrong"}`, async () => {
    await using world = await startInProcess();
    const login = await withTotp(world);
    // Starts in the middle of a time step, so that the time of the login itself changes nothing.
    await jump(world.clock, STEP_MS * 1.5 - (world.clock.nowMs() % STEP_MS));
    const reply = await login.answer(appCode(world.clock.nowMs() + steps * STEP_MS));
    assertEquals(reply.kind, right ? "accept" : "reject");
  });
}

Deno.test("totp: a time step is accepted once, also for another login", async () => {
  await using world = await startInProcess();
  const first = await withTotp(world);
  const second = await askedForCode(world);
  const code = appCode(world.clock.nowMs());
  assertEquals((await first.answer(code)).kind, "accept");
  assertEquals(brief(await second.answer(code)), MISMATCH);
});

Deno.test("totp: after a code, a code of an earlier time step is refused", async () => {
  await using world = await startInProcess();
  const first = await withTotp(world);
  const second = await askedForCode(world);
  await jump(world.clock, STEP_MS * 1.5 - (world.clock.nowMs() % STEP_MS));
  assertEquals((await first.answer(appCode(world.clock.nowMs()))).kind, "accept");
  assertEquals(brief(await second.answer(appCode(world.clock.nowMs() - STEP_MS))), MISMATCH);
});

Deno.test("totp: of two simultaneous logins with the same code one is accepted", async () => {
  await using world = await startInProcess();
  const logins = [await withTotp(world), await askedForCode(world), await askedForCode(world)];
  const code = appCode(world.clock.nowMs());
  const replies = await Promise.all(logins.map((login) => login.answer(code)));
  assertEquals(replies.map(({ kind }) => kind).sort(), ["accept", "reject", "reject"]);
});

Deno.test("totp: a wrong code is a Reject", async () => {
  await using world = await startInProcess();
  const login = await withTotp(world);
  const around = [-1, 0, 1].map((step) => appCode(world.clock.nowMs() + step * STEP_MS));
  let wrong = otherThan(around[1] ?? "");
  while (around.includes(wrong)) wrong = otherThan(wrong);
  assertEquals(brief(await login.answer(wrong)), MISMATCH);
});

for (const typed of ["", "12345", "1234567", "abcdef", "１２３４５６"]) {
  Deno.test(`totp: "${typed}" is not a code and a Reject`, async () => {
    await using world = await startInProcess();
    const login = await withTotp(world);
    assertEquals(brief(await login.answer(typed)), MISMATCH);
  });
}

Deno.test("otp_auth: a code that the service accepts is an Accept, with the request that was opened for it", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await withDevice(world);
  world.secondFactor.setOtp(pairing.id, "135790");
  assertEquals((await login.answer("135790")).kind, "accept");
  const [request] = world.secondFactor.initiated();
  const last = world.secondFactor.requests.at(-1);
  assertEquals([last?.method, last?.target, last?.body], [
    "POST",
    `/v1/authentication_requests/${request?.id}/otp_auth`,
    "otp=135790",
  ]);
});

Deno.test("otp_auth: a wrong code is a Reject", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await withDevice(world);
  world.secondFactor.setOtp(pairing.id, "135790");
  assertEquals(brief(await login.answer("135791")), MISMATCH);
});

Deno.test("otp_auth: a text that is not a code is a Reject, without a call to the service", async () => {
  await using world = await startInProcess();
  const { login } = await withDevice(world);
  assertEquals(brief(await login.answer("letmein")), MISMATCH);
  assertEquals(world.secondFactor.requests.length, 1);
});

Deno.test("otp_auth: an approval of the request that was opened for the code accepts no login", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await withDevice(world);
  const [request] = world.secondFactor.initiated();
  world.secondFactor.decide(request?.id ?? "", { granted: true });
  world.secondFactor.setOtp(pairing.id, "135790");
  assertEquals(brief(await login.answer("letmein")), MISMATCH);
});

Deno.test("otp_auth: an unavailable service keeps the step and counts no failure", async () => {
  await using world = await startInProcess();
  const { login, pairing } = await withDevice(world);
  world.secondFactor.setOtp(pairing.id, "135790");
  world.secondFactor.failAlways({ kind: "status", status: 500 });
  assertEquals(brief(await login.answer("135790")), [
    CODE,
    "The passcode cannot be checked right now. Enter a new one in a moment.",
  ]);
  world.secondFactor.failAlways(null);
  await jump(world.clock, 60_000);
  assertEquals((await login.answer("135790")).kind, "accept");
});

Deno.test("otp_auth: if the service refuses the code, the code is wrong; if it refuses our keys, it is not", async () => {
  await using world = await startInProcess();
  const { login } = await withDevice(world);
  world.secondFactor.failNext({ kind: "status", status: 401 });
  assertEquals((await login.answer("135790")).step, CODE);
  world.secondFactor.failNext({ kind: "status", status: 400 });
  assertEquals(brief(await login.answer("135790")), MISMATCH);
});

Deno.test("otp_auth: a pairing whose passcodes have eight digits accepts eight", async () => {
  await using world = await startInProcess();
  const pairing = await giveDevice(world, "anna", { totpLength: 8 });
  world.secondFactor.setOtp(pairing.id, "13579024");
  const login = await world.begin({ user: "anna" }, "");
  await login.answer("D");
  assertEquals((await login.answer("13579024")).kind, "accept");
});
