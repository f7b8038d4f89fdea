// A crash during an effect: the next run continues the login, and repeats no effect.

import { assertEquals } from "@std/assert";
import type { BuiltRequest } from "../../support/radius_packets.ts";
import { openDisk } from "./disk.ts";
import { afterSend, beforeInitiate, createGate, type Gate } from "./gates.ts";
import { type InProcess, type InProcessOptions, SECRET, startInProcess } from "./in_process.ts";
import type { Login } from "./login.ts";
import { give, giveDevice, passcodeSentTo } from "./people.ts";
import { openRecorder } from "./recorder.ts";

const NUMBER = "+4915112345678";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/**
 * Sends the first packet of a login to a gateway that never finishes an effect. Then starts another gateway on a copy
 * of its store.
 */
async function crashedInside(
  prepare: (world: InProcess) => Promise<unknown>,
  between: (gate: Gate) => InProcessOptions["between"],
): Promise<{ second: InProcess; login: Login; packet: BuiltRequest } & AsyncDisposable> {
  const disk = await openDisk();
  const gate = createGate();
  const first = await startInProcess({ kvPath: disk.path, between: between(gate) });
  await prepare(first);
  const login = first.login({ user: "anna" });
  const packet = login.buildStart("pw");
  using recorder = openRecorder(first, SECRET);
  await recorder.send(packet);
  await gate.reached();
  const second = await startInProcess({ kvPath: await disk.copy(), after: first });
  login.moveTo(second);
  return {
    second,
    login,
    packet,
    async [Symbol.asyncDispose]() {
      gate.open();
      await second[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
      await disk[Symbol.asyncDispose]();
    },
  };
}

for (
  const { kind, at } of [
    { kind: "sms", at: "AWAIT_SMS_DELIVERED_PASSCODE" },
    { kind: "voice", at: "AWAIT_VOICE_DELIVERED_PASSCODE" },
  ] as const
) {
  Deno.test(`crash: after a crash between sending a passcode (${kind}) and recording it, it is not sent again and is right`, async () => {
    await using crash = await crashedInside(
      (world) => give(world, "anna", { kind, number: NUMBER }),
      (gate) => ({ telephony: afterSend(gate) }),
    );
    const { second, login, packet } = crash;
    // The client sends its packet again, and then answers.
    assertEquals((await login.exchange(packet)).step, at);
    assertEquals((await login.answer(passcodeSentTo(second, NUMBER))).kind, "accept");
    assertEquals(second.telephony.requests.length, 1);
  });
}

Deno.test("crash: a push that was claimed and not sent is not sent later; Cancel works", async () => {
  await using crash = await crashedInside(
    (world) => giveDevice(world, "anna"),
    (gate) => ({ secondFactor: beforeInitiate(gate) }),
  );
  const { second, login, packet } = crash;
  assertEquals((await login.exchange(packet)).step, DEVICE);
  assertEquals(second.secondFactor.initiated().length, 0);
  assertEquals((await login.answer("cancel")).step, "CHOOSE_WHICH_MULTIFACTOR");
  assertEquals((await login.answer("S")).step, DEVICE);
  assertEquals(second.secondFactor.initiated().length, 1);
});

Deno.test("crash: a push that was claimed counts against the limit", async () => {
  await using crash = await crashedInside(
    (world) => giveDevice(world, "anna"),
    (gate) => ({ secondFactor: beforeInitiate(gate) }),
  );
  const { limits } = crash.second.radius;
  for (let count = 0; count < 4; count++) {
    assertEquals(limits.pushesLeft("anna"), true);
    await crash.second.login({ user: "anna" }).start();
  }
  assertEquals(limits.pushesLeft("anna"), false);
});
