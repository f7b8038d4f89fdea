// Flow rows of the device-generated passcode: the user's own TOTP (RFC 6238), and the code that the service checks.

import { assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { brief, type Login } from "./login.ts";
import { jump } from "./passing_time.ts";
import { appCode, give, giveDevice, otherThan, SEED } from "./people.ts";
import type { FakePairing } from "../../fakes/second_factor_records.ts";

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
  const login = world.login({ user: "anna" });
  await login.start("");
  assertEquals((await login.answer("D")).step, CODE);
  return { login, pairing };
}

Deno.test("totp: the current code is an Accept", async () => {
  await using world = await startInProcess();
  const login = await withTotp(world);
  assertEquals((await login.answer(appCode(world.clock.nowMs()))).kind, "accept");
});

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

Deno.test("totp: a code with the blank that phones show is right", async () => {
  await using world = await startInProcess();
  const login = await withTotp(world);
  const code = appCode(world.clock.nowMs());
  assertEquals((await login.answer(`${code.slice(0, 3)} ${code.slice(3)}`)).kind, "accept");
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
  const login = world.login({ user: "anna" });
  await login.start("");
  await login.answer("D");
  assertEquals((await login.answer("13579024")).kind, "accept");
});
