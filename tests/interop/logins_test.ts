// Real RADIUS clients with the real program: every client runs every scenario.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";
import type { Login, PeerSetUp } from "./peers/login.ts";
import { PEER_ROWS } from "./peers/rows.ts";
import { decideOnDevice, type Person, type ScenarioRow, SCENARIOS, sentPasscode } from "./scenarios.ts";
import { STATUS_SERVER_NEEDS, type StatusServerWatch, watchStatusServer } from "./status_server_watch.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";

let statusServer: StatusServerWatch | null = null;
Deno.test.beforeAll(async () => {
  statusServer = await watchStatusServer();
});
Deno.test.afterAll(async () => {
  await statusServer?.[Symbol.asyncDispose]();
});

let people = 0;

/** A new user without an earlier login, so that logins share no limit and no conversation. */
function newPerson(): Person {
  people++;
  return {
    name: `person${people}`,
    phone: `+1202${String(5_550_000 + people)}`,
    devicePairing: crypto.randomUUID(),
  };
}

async function playOne(
  row: ScenarioRow,
  { world, peer }: { world: ProgramWithServices; peer: PeerSetUp },
): Promise<void> {
  const person = newPerson();
  await world.pair(person.name, ...row.factor(person));
  const login = await peer.login({ name: person.name, password: "first" });
  await row.play(login, { world, person });
  const { verdict, message } = await login.end();
  assertEquals(verdict, row.verdict);
  if (row.message !== undefined && message !== null) assertStringIncludes(message, row.message);
}

for (const peer of PEER_ROWS) {
  testNeeding(peer.needs, peer.title, async (context) => {
    await using world = await startProgramWithServices();
    await using setUp = await peer.setUp({ port: world.gateway.radiusPort, secret: world.gateway.secret });
    for (const row of SCENARIOS) {
      await context.step(`${peer.title}: ${row.title}`, () => playOne(row, { world, peer: setUp }));
    }
  });
}

const HOLD = `
[radius]
device = "hold"`;

/** Waits until the approval is requested, then grants it while the login is held. */
async function grantWhenAsked(world: ProgramWithServices, person: Person): Promise<void> {
  await eventually(
    "the approval is asked for",
    () => world.secondFactor.initiated().some(({ pairingId }) => pairingId === person.devicePairing),
  );
  decideOnDevice(world, person, true);
}

testNeeding(
  { peers: PEER_ROWS.flatMap((row) => row.needs.peers), root: true },
  "a held login is accepted in one round trip when the device approves, for every peer",
  async (context) => {
    await using world = await startProgramWithServices({ toml: HOLD });
    for (const row of PEER_ROWS) {
      await context.step(`${row.title}: held`, async () => {
        await using setUp = await row.setUp({ port: world.gateway.radiusPort, secret: world.gateway.secret });
        const person = newPerson();
        await world.pair(person.name, "--device", person.devicePairing);
        const [login] = await Promise.all([
          setUp.login({ name: person.name, password: "first" }),
          grantWhenAsked(world, person),
        ]);
        assertEquals((await login.end()).verdict, "accept");
        const pushes = world.secondFactor.initiated().filter(({ pairingId }) =>
          pairingId === person.devicePairing
        );
        assertEquals(pushes.length, 1);
      });
    }
  },
);

const EXPIRY = `
[radius]
conversation_ttl_s = 30
[factors.passcode]
lifetime_s = 30`;

/** Begins a login by text message, and returns a function that answers it after the conversation has expired. */
async function beginLate(
  world: ProgramWithServices,
  peer: PeerSetUp,
): Promise<{ login: Login; passcode: string }> {
  const person = newPerson();
  await world.pair(person.name, "--sms", person.phone);
  const login = await peer.login({ name: person.name, password: "first" });
  await login.shows("passcode from the text message");
  return { login, passcode: sentPasscode(world, person) };
}

testNeeding(
  { peers: PEER_ROWS.flatMap((row) => row.needs.peers), root: true },
  "the right passcode after the end of the conversation is rejected, for every peer",
  async () => {
    await using world = await startProgramWithServices({ toml: EXPIRY });
    const door = { port: world.gateway.radiusPort, secret: world.gateway.secret };
    await using stack = new AsyncDisposableStack();
    const late: { title: string; login: Login; passcode: string }[] = [];
    for (const row of PEER_ROWS) {
      const setUp = stack.use(await row.setUp(door));
      late.push({ title: row.title, ...await beginLate(world, setUp) });
    }
    // 30 s is the shortest lifetime that the settings allow; all peers wait for it together.
    await new Promise((resolve) => setTimeout(resolve, 30_500));
    for (const { title, login, passcode } of late) {
      await login.answer(passcode);
      assertEquals((await login.end()).verdict, "reject", title);
    }
  },
);

// The last test of the file: the others run during the two minutes.
testNeeding(
  STATUS_SERVER_NEEDS,
  "radsecproxy with Status-Server for two minutes: unsigned logins are answered before, between and after its packets",
  async () => {
    await statusServer?.check();
  },
);
