// Two FreeRADIUS behind the gateway: the first one is dead at the start, dies between rounds, dies during the hold, and comes
// back. The logins are EAP-TTLS, which has many rounds.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { EAPOL_NEEDS, type EapRun, runEapolTest } from "../support/eapol_test.ts";
import { FIRST_PASSWORD, type FreeRadius, FREERADIUS_NEEDS, startFreeRadius } from "../support/freeradius.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { openWire, type Wire } from "../support/udp_wire.ts";
import { eventually } from "../upstream/manual_clock.ts";

const NEEDS = { peers: [...FREERADIUS_NEEDS.peers, ...EAPOL_NEEDS.peers] };
const SECRET = "shared-with-the-access-point";
const PEOPLE = ["ada", "bea", "cem", "dora", "emil", "fay", "gus", "hugo"] as const;
type Name = typeof PEOPLE[number];
const phoneOf = (name: string) => `phone-of-${name}`;

interface Scene extends AsyncDisposable {
  readonly one: FreeRadius;
  readonly two: FreeRadius;
  readonly world: ProgramWithServices;
  /** To the first server. */
  readonly wire: Wire;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const one = stack.use(await startFreeRadius({ isUp: false }));
  const two = stack.use(await startFreeRadius());
  const wire = stack.use(openWire(one.port));
  const world = stack.use(
    await startProgramWithServices({
      toml: `
[[radius.client]]
name = "wifi"
address = ["127.0.0.1"]
secret = "${SECRET}"
first_factor = "radius"
first_factor_server = { address = ["127.0.0.1:${wire.port}", "127.0.0.1:${two.port}"], secret = "${one.secret}", timeout_ms = 2000 }
unknown_users = "allow"
eap_outer_identity = "reply"
hold_s = 30
`,
      pairings: PEOPLE.map((name) => [name, { kind: "device", id: phoneOf(name), totpLength: 6 }]),
    }),
  );
  const own = stack.move();
  return { one, two, world, wire, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

const pushesOf = ({ world }: Scene, name: Name) =>
  world.secondFactor.initiated().filter(({ pairingId }) => pairingId === phoneOf(name));

async function approve(
  scene: Scene,
  name: Name,
  before: () => Promise<void> = async () => {},
): Promise<void> {
  await eventually("the approval is asked for", () => pushesOf(scene, name).length > 0);
  await before();
  const [push] = pushesOf(scene, name);
  if (push !== undefined) scene.world.secondFactor.decide(push.id, { granted: true });
}

/** A login whose Access-Accept the given server sends. */
const login = (
  { world, one, two }: Scene,
  { name, by, timeoutS = 40, password = FIRST_PASSWORD }: {
    name: Name;
    by: "one" | "two";
    timeoutS?: number;
    password?: string;
  },
): Promise<EapRun> =>
  runEapolTest({
    port: world.gateway.radiusPort,
    secret: SECRET,
    method: "TTLS/PAP",
    user: name,
    password,
    caFile: (by === "one" ? one : two).caFile,
    timeoutS,
  });

async function passes(
  scene: Scene,
  { name, by, before }: { name: Name; by: "one" | "two"; before?: () => Promise<void> },
): Promise<EapRun> {
  const [run] = await Promise.all([login(scene, { name, by }), approve(scene, name, before)]);
  assertEquals([run.outcome, run.keys], ["accept", "equal"], run.text.slice(-3000));
  assertEquals(pushesOf(scene, name).length, 1);
  return run;
}

const timesBack = ({ world }: Scene) =>
  world.gateway.logLines().filter((line) => line.includes("a first-factor server answers again")).length;

/** Waits until logins begin at the first server. The password is wrong, so none of them ends with a push. */
async function firstIsPreferred(scene: Scene): Promise<void> {
  await eventually("the first server is asked", async () => {
    await login(scene, { name: "gus", by: "one", timeoutS: 8, password: "wrong" });
    return await hasSeen(scene.one, "gus");
  });
}

/** Whether a server has seen a user. */
const hasSeen = async (server: FreeRadius, name: Name) =>
  (await server.log()).includes(`User-Name = "${name}"`);

testNeeding(
  NEEDS,
  "two first-factor servers: the first is dead at the start, dies twice, and comes back",
  async (test) => {
    await using scene = await openScene();
    const { one, two, wire } = scene;
    await test.step("dead at the start: the second server answers, and soon no login waits for the first", async () => {
      await Promise.all((["ada", "bea", "cem"] as const).map((name) => passes(scene, { name, by: "two" })));
      await scene.world.gateway.logged("a first-factor server does not answer");
    });
    await test.step("comes back: the first server is preferred again, without a login that tests it", async () => {
      await one.start();
      await eventually("the first server answers again", () => timesBack(scene) === 1);
      assertEquals(await hasSeen(one, "ada"), false);
      await passes(scene, { name: "dora", by: "one" });
      assertEquals(await hasSeen(two, "dora"), false);
    });
    await test.step("dies between rounds: no push, and the login does not continue at the other server", async () => {
      wire.cutAfter(3, () => one.kill());
      const run = await login(scene, { name: "emil", by: "one", timeoutS: 8 });
      assert(run.outcome === "silent" || run.outcome === "reject", run.outcome);
      assertEquals([pushesOf(scene, "emil").length, await hasSeen(two, "emil")], [0, false]);
      await passes(scene, { name: "fay", by: "two" });
    });
    await test.step("dies during the hold: the approval accepts, with the attributes of the dead server", async () => {
      await one.start();
      await firstIsPreferred(scene);
      const { text } = await passes(scene, { name: "hugo", by: "one", before: () => one.kill() });
      assertStringIncludes(text, new TextEncoder().encode("url-redirect-acl=portal").toHex());
    });
  },
);
