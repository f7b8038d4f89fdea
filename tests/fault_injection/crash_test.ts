// The real program with `kill -9` during a login, at different moments: the next packet continues the login, and no
// push or text is sent twice.

import { assert, assertEquals } from "@std/assert";
import { type BuiltRequest, CODES, type Reply } from "../support/radius_packets.ts";
import type { RadiusClient } from "../support/radius_client.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { unhandledLines } from "./unhandled_lines.ts";
import { eventually } from "../upstream/manual_clock.ts";

let world: ProgramWithServices;
let nasPort = 0;

Deno.test.beforeAll(async () => {
  world = await startProgramWithServices({
    toml: "[factors.pushes]\nper_user = 1000\n[factors.sends]\nper_user = 1000\nper_number = 1000",
    pairings: [
      ["dora", { kind: "device", id: "phone-of-dora", totpLength: 6 }],
      ["sam", { kind: "sms", number: "+15005550010" }],
    ],
  });
});
Deno.test.afterAll(() => world.dispose());

/** One login, with the packet in progress. */
interface Scene {
  readonly client: RadiusClient;
  readonly login: BuiltRequest;
  /** The answer to the last challenge. */
  readonly next: (reply: Reply, typed?: string) => BuiltRequest;
  /** The id of the request that this login opened. */
  readonly requestId: () => string;
}

const patience = { timeoutMs: 4000, tries: 3 } as const;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function crash(): Promise<void> {
  await world.gateway.kill9();
  await world.gateway.restart();
}

/** Sends a packet and kills the program `afterMs` later. An answer may or may not arrive meanwhile. */
async function sendAndCrash(client: RadiusClient, request: BuiltRequest, afterMs: number): Promise<void> {
  await client.sendRaw(request.bytes);
  await pause(afterMs);
  await crash();
}

const approve = ({ requestId }: Scene) => world.secondFactor.decide(requestId(), { granted: true });

type Play = (scene: Scene) => Promise<Reply>;

/**
 * Each runs a login to its last reply, with one crash. `sure`: the state of the login was recorded before, so it must
 * end in an Accept.
 */
const MOMENTS: { title: string; sure: boolean; play: Play }[] = [];

function moment(title: string, sure: boolean, play: Play): void {
  MOMENTS.push({ title, sure, play });
}

/** From the challenge to the end, without another crash. */
async function finish(scene: Scene, challenge: Reply): Promise<Reply> {
  assertEquals([challenge.code, challenge.problems], [CODES.accessChallenge, []]);
  if (world.secondFactor.initiated().some(({ id }) => id === scene.requestId())) approve(scene);
  return await scene.client.exchange(scene.next(challenge), patience);
}

for (const afterMs of [0, 2, 5, 10]) {
  moment(`${afterMs} ms after the login was sent`, false, async (scene) => {
    await sendAndCrash(scene.client, scene.login, afterMs);
    return await finish(scene, await scene.client.exchange(scene.login, patience));
  });
}
moment("while the push is being sent", false, async (scene) => {
  const release = world.secondFactor.server.hold();
  await scene.client.sendRaw(scene.login.bytes);
  await eventually("a push under way", () => world.secondFactor.server.underWay() > 0);
  await world.gateway.kill9();
  release();
  await world.gateway.restart();
  return await finish(scene, await scene.client.exchange(scene.login, patience));
});
moment("when the service has just answered", false, async (scene) => {
  const before = world.secondFactor.initiated().length;
  await scene.client.sendRaw(scene.login.bytes);
  await eventually("a push", () => world.secondFactor.initiated().length > before);
  await crash();
  return await finish(scene, await scene.client.exchange(scene.login, patience));
});
moment("after the challenge", true, async (scene) => {
  const challenge = await scene.client.exchange(scene.login, patience);
  await crash();
  return await finish(scene, challenge);
});
moment("after the challenge, and the login is sent again", true, async (scene) => {
  const challenge = await scene.client.exchange(scene.login, patience);
  await crash();
  const again = await scene.client.exchange(scene.login, patience);
  assertEquals([again.code, again.state], [CODES.accessChallenge, challenge.state]);
  return await finish(scene, again);
});
moment("while it asks for the decision", true, async (scene) => {
  const challenge = await scene.client.exchange(scene.login, patience);
  const answer = scene.next(challenge);
  const release = world.secondFactor.server.hold();
  await scene.client.sendRaw(answer.bytes);
  await eventually("a question under way", () => world.secondFactor.server.underWay() > 0);
  await world.gateway.kill9();
  release();
  approve(scene);
  await world.gateway.restart();
  return await scene.client.exchange(answer, patience);
});
for (const afterMs of [1, 5]) {
  moment(`${afterMs} ms after the answer to an approval was sent`, true, async (scene) => {
    const challenge = await scene.client.exchange(scene.login, patience);
    approve(scene);
    const answer = scene.next(challenge);
    await sendAndCrash(scene.client, answer, afterMs);
    return await scene.client.exchange(answer, patience);
  });
}
moment("after the Accept, which is asked for again", true, async (scene) => {
  const accept = await finish(scene, await scene.client.exchange(scene.login, patience));
  assertEquals(accept.code, CODES.accessAccept);
  const challenge = { ...accept, state: new TextEncoder().encode("SECONDFACTOR_AWAIT_DEVICE_APPROVAL") };
  await crash();
  const other = await scene.client.exchange(scene.next(challenge, "another packet"), patience);
  assertEquals(other.code, CODES.accessReject, "one approval is one Accept");
  return accept;
});

for (const { title, sure, play } of MOMENTS) {
  Deno.test(`kill -9 ${title}: the login continues, and at most one push was sent`, async () => {
    const before = world.secondFactor.initiated().length;
    using client = world.gateway.client();
    const user = { userName: "dora", nasPort: ++nasPort };
    const last = await play({
      client,
      login: client.build({ ...user, password: "x" }),
      next: (reply, typed = "") =>
        client.build({ ...user, password: typed, state: reply.state ?? undefined }),
      requestId: () => world.secondFactor.initiated()[before]?.id ?? "none",
    });
    assertEquals(last.problems, []);
    const pushes = world.secondFactor.initiated().length - before;
    assert(pushes <= 1, `${pushes} pushes were sent`);
    // A push whose answer was lost in the crash makes the user start a new login, but is never sent twice.
    if (sure) assertEquals([last.code, pushes], [CODES.accessAccept, 1]);
    else assert(last.code === CODES.accessAccept || last.code === CODES.accessReject);
  });
}

Deno.test("kill -9 after a text: its passcode is still right, no second text was sent, and a wrong one is wrong", async () => {
  for (const typed of ["right", "wrong"]) {
    const before = world.telephony.taken().length;
    using client = world.gateway.client();
    const user = { userName: "sam", nasPort: ++nasPort };
    const login = client.build({ ...user, password: "x" });
    const challenge = await client.exchange(login, patience);
    await crash();
    assertEquals((await client.exchange(login, patience)).state, challenge.state);
    const passcode = world.telephony.lastPasscode("+15005550010") ?? "";
    const password = typed === "right"
      ? passcode
      : passcode.replace(/./g, (digit) => String(9 - Number(digit)));
    const reply = await client.ask({ ...user, password, state: challenge.state ?? undefined }, patience);
    assertEquals(reply.code, typed === "right" ? CODES.accessAccept : CODES.accessReject);
    assertEquals(world.telephony.taken().length - before, 1);
  }
});

Deno.test("after all crashes the log has no unhandled error", () => {
  const bad = unhandledLines(world.gateway.logLines(), ["could not be recorded", "could not be read"]);
  assertEquals(bad, []);
});
