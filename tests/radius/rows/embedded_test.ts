// The flow rows with the embedded services: number matching, denial, the device's passcode, the outbox.

import { assertEquals, assertMatch } from "@std/assert";
import { startInProcess } from "./in_process.ts";
import { brief } from "./login.ts";
import { jump } from "./passing_time.ts";
import { give, otherThan } from "./people.ts";
import { pairPhone } from "./phone.ts";

const NUMBER = "+4915112345678";

function numberIn(message: string): string {
  return /number (\d\d)/.exec(message)?.[1] ?? "";
}

Deno.test("embedded: the prompt names the two digits that approve on the phone", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna", callingStationId: "192.0.2.77" });
  const { message } = await login.start();
  assertMatch(
    message,
    /^Authorize this login on your device with the number \d\d, then press continue or type ok\.\n/,
  );
  const [request] = await phone.requests();
  assertEquals([request?.terminalName, request?.place, request?.asksNumber], [
    "VPN Access",
    "192.0.2.77",
    true,
  ]);
  assertEquals(await phone.approve(numberIn(message)), "approved");
  assertEquals((await login.answer("")).kind, "accept");
});

Deno.test("embedded: while the login waits, the prompt continues to show the digits", async () => {
  await using world = await startInProcess({ embedded: true });
  await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  const number = numberIn((await login.start()).message);
  assertEquals(numberIn((await login.answer("")).message), number);
});

Deno.test("embedded: one wrong number denies", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  const number = numberIn((await login.start()).message);
  assertEquals(await phone.approve(otherThan(number)), "wrong_number");
  assertEquals(brief(await login.answer("")), ["reject", "Device approval was not given."]);
});

Deno.test("embedded: a denial on the phone is a Reject", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  await phone.deny();
  assertEquals(brief(await login.answer("")), ["reject", "Device approval was not given."]);
});

Deno.test("embedded: continue is answered at once when the user decides on the phone", async () => {
  await using world = await startInProcess({
    embedded: true,
    toml: "[factors.device]\nnumber_matching = false\ncontinue_wait_ms = 20000",
  });
  const phone = await pairPhone(world, "anna");
  const login = world.login({ user: "anna" });
  await login.start();
  world.clock.after(500, () => void phone.approve(null));
  const reply = await login.answer("");
  assertEquals([reply.kind, reply.tookMs < 2000], ["accept", true]);
});

Deno.test("embedded: the phone's passcode is an Accept, once", async () => {
  await using world = await startInProcess({ embedded: true });
  const phone = await pairPhone(world, "anna");
  const code = await phone.passcode();
  const login = world.login({ user: "anna" });
  await login.start("");
  assertEquals((await login.answer("D")).step, "GET_DEVICE_GENERATED_PASSCODE");
  assertEquals((await login.answer(code)).kind, "accept");
  const again = world.login({ user: "anna" });
  await again.start("");
  await again.answer("D");
  assertEquals((await again.answer(code)).kind, "reject");
});

Deno.test("embedded: texts and calls are stored in the outbox, and their passcodes are right", async () => {
  await using world = await startInProcess({ embedded: true });
  const outbox = world.services.outbox?.messages;
  for (const [user, kind] of [["anna", "sms"], ["bert", "voice"]] as const) {
    await give(world, user, { kind, number: NUMBER });
    const login = world.login({ user });
    await login.start();
    const [item] = outbox?.items() ?? [];
    const text = await outbox?.reveal(item?.id ?? "") ?? "";
    const passcode = kind === "sms" ? /\d{6}/.exec(text)?.[0] : text.replace(/\D/g, "").slice(-4);
    assertEquals((await login.answer(passcode ?? "")).kind, "accept", text);
  }
});

Deno.test("embedded: a request without a decision ends with the login", async () => {
  await using world = await startInProcess({ embedded: true, toml: "[radius]\nconversation_ttl_s = 60" });
  const phone = await pairPhone(world, "anna");
  await world.login({ user: "anna" }).start();
  await jump(world.clock, 61_000);
  await phone.untilRequests(0);
  assertEquals(world.radius.monitor.alive(), 0);
});
