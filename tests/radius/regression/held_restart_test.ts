// A held login when the server crashes: a client that cannot show a challenge is held again, with the same push.

import { assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import { brief, exchangeJudged, type Login } from "../rows/login.ts";
import { becomes, turn, whileTimePasses } from "../rows/passing_time.ts";
import { decide, giveDevice } from "../rows/people.ts";
import type { BuiltRequest } from "../../support/radius_packets.ts";
import type { FakePairing } from "../../fakes/second_factor_records.ts";

const HOLD = '[radius]\ndevice = "hold"\nhold_s = 20';
const HOLD_THEN = '[radius]\ndevice = "hold_then_challenge"\nhold_s = 20';
const APPEND = "[radius]\nappend_mode = true\nhold_s = 20";

interface CutOff extends AsyncDisposable {
  readonly next: InProcess;
  readonly login: Login;
  readonly packet: BuiltRequest;
  readonly device: FakePairing;
}

/** A server that crashed while it held a login, and the next one. */
async function cutOff(toml: string, password: string): Promise<CutOff> {
  const dir = await Deno.makeTempDir();
  const kvPath = `${dir}/store`;
  const world = await startInProcess({ toml, kvPath });
  const device = await giveDevice(world, "anna");
  const login = world.login({ user: "anna" });
  const packet = login.buildStart(password);
  await world.client.sendRaw(packet.bytes);
  await becomes("the decision is asked for", () => world.secondFactor.requests.length >= 2);
  for (let count = 0; count < 20; count++) await turn();
  await world.stop();
  const next = await startInProcess({ toml, kvPath, after: world });
  login.moveTo(next);
  return {
    next,
    login,
    packet,
    device,
    async [Symbol.asyncDispose]() {
      await next.stop();
      await world[Symbol.asyncDispose]();
      await Deno.remove(dir, { recursive: true });
    },
  };
}

for (const [name, toml, password] of [["hold", HOLD, "pw"], ["append mode", APPEND, "pw,push"]] as const) {
  Deno.test(`${name}: a login sent again after a restart is held with the same push until its Accept`, async () => {
    await using at = await cutOff(toml, password);
    const { next } = at;
    const before = next.secondFactor.requests.length;
    const pending = exchangeJudged(next, at.packet);
    await becomes("it is held again", () => next.secondFactor.requests.length > before);
    decide(next, at.device, true);
    assertEquals((await whileTimePasses(next.clock, pending)).kind, "accept");
    assertEquals(next.secondFactor.initiated().length, 1);
  });
}

Deno.test("hold: a login sent again after a restart is rejected at the end of the wait without a decision", async () => {
  await using at = await cutOff(HOLD, "pw");
  const answer = await at.login.exchange(at.packet);
  assertEquals(brief(answer), ["reject", "Device approval was not given."]);
  assertEquals(at.next.secondFactor.initiated().length, 1);
});

Deno.test("hold: a login re-issued after a restart is a new login with its own push", async () => {
  await using at = await cutOff(HOLD, "pw");
  const pending = exchangeJudged(at.next, at.login.buildStart("pw"));
  await becomes("the push is sent", () => at.next.secondFactor.initiated().length === 2);
  const [first, second] = at.next.secondFactor.initiated();
  at.next.secondFactor.decide(first?.id ?? "", { granted: true });
  for (let count = 0; count < 20; count++) await turn();
  at.next.secondFactor.decide(second?.id ?? "", { granted: false });
  assertEquals((await whileTimePasses(at.next.clock, pending)).kind, "reject");
});

Deno.test("hold_then_challenge: a login sent again after a restart gets its challenge", async () => {
  await using at = await cutOff(HOLD_THEN, "pw");
  assertEquals((await at.login.exchange(at.packet)).step, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
});
