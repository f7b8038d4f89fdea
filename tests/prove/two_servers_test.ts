// Two FreeRADIUS behind the gateway: the first one is dead at the start, dies between rounds, dies during the hold, and comes
// back. EAP-TTLS and PEAP have many rounds; MS-CHAPv2 and PAP have one.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { runProgram } from "../support/child.ts";
import { type EapMethodName, EAPOL_NEEDS, type EapRun, runEapolTest } from "../support/eapol_test.ts";
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
device = "hold"
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

/** How a login ended. */
interface Ended {
  readonly outcome: EapRun["outcome"];
  /** What the client printed. */
  readonly text: string;
}

interface Login {
  readonly name: Name;
  /** The server that sends the Access-Accept. */
  readonly by: "one" | "two";
  readonly timeoutS?: number;
  readonly password?: string;
}

/** A way to sign in. */
interface Way {
  login(scene: Scene, login: Login): Promise<Ended>;
  /** Whether the server asks, so that it can die between two rounds. */
  readonly hasRounds: boolean;
  /** An attribute of the server's Access-Accept, as the client prints it. */
  readonly attribute: string;
}

const eapWay = (method: EapMethodName): Way => ({
  async login(
    { world: { gateway }, one, two },
    { name, by, timeoutS = 40, password = FIRST_PASSWORD },
  ): Promise<Ended> {
    const { caFile } = by === "one" ? one : two;
    const run = await runEapolTest({
      ...{ port: gateway.radiusPort, secret: SECRET, method, user: name, password, caFile, timeoutS },
    });
    if (run.outcome === "accept") assertEquals(run.keys, "equal", run.text.slice(-3000));
    return run;
  },
  hasRounds: true,
  attribute: new TextEncoder().encode("url-redirect-acl=portal").toHex(),
});

const TRY_OUTCOMES = ["accept", "reject", "silent"] as const;

/** `deno task try`. With MS-CHAPv2 it ends with 2 if the proof of the server or the keys are wrong. */
const tryWay = (method: "pap" | "mschapv2"): Way => ({
  async login({ world: { gateway } }, { name, timeoutS = 40, password = FIRST_PASSWORD }): Promise<Ended> {
    const { code, stdout, stderr } = await runProgram(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "-A", new URL("../../cli/radtest.ts", import.meta.url).pathname],
        ...[`127.0.0.1:${gateway.radiusPort}`, "--user", name, "--method", method, "--secret", SECRET],
        ...["--password", password, "--timeout-ms", "5000", "--retries", String(timeoutS / 5 - 1)],
      ],
      timeoutMs: 120_000,
    });
    return { outcome: TRY_OUTCOMES[code] ?? "failed", text: stdout + stderr };
  },
  hasRounds: false,
  attribute: 'Filter-Id="staff"',
});

const WAYS: Readonly<Record<string, Way>> = {
  "EAP-TTLS": eapWay("TTLS/PAP"),
  PEAP: eapWay("PEAP/MSCHAPV2"),
  "MS-CHAPv2": tryWay("mschapv2"),
  PAP: tryWay("pap"),
};

async function passes(
  scene: Scene,
  way: Way,
  { before, ...login }: Login & { before?: () => Promise<void> },
): Promise<Ended> {
  const [run] = await Promise.all([way.login(scene, login), approve(scene, login.name, before)]);
  assertEquals(run.outcome, "accept", run.text.slice(-3000));
  assertEquals(pushesOf(scene, login.name).length, 1);
  return run;
}

const timesBack = ({ world }: Scene) =>
  world.gateway.logLines().filter((line) => line.includes("a first-factor server answers again")).length;

/** Waits until logins begin at the first server. The password is wrong, so none of them ends with a push. */
async function firstIsPreferred(scene: Scene, way: Way): Promise<void> {
  await eventually("the first server is asked", async () => {
    await way.login(scene, { name: "gus", by: "one", timeoutS: 10, password: "wrong" });
    return await hasSeen(scene.one, "gus");
  });
}

/** Whether a server has seen a user. */
const hasSeen = async (server: FreeRadius, name: Name) =>
  (await server.log()).includes(`User-Name = "${name}"`);

/** The first server dies while a login is on its way. */
async function diesOnTheWay(scene: Scene, way: Way): Promise<void> {
  const { one, two, wire } = scene;
  if (!way.hasRounds) {
    wire.cutAfter(0, () => one.kill());
    // Nothing was asked yet, so the other server answers.
    await passes(scene, way, { name: "emil", by: "two" });
    return;
  }
  wire.cutAfter(3, () => one.kill());
  const run = await way.login(scene, { name: "emil", by: "one", timeoutS: 8 });
  assert(run.outcome === "silent" || run.outcome === "reject", run.outcome);
  assertEquals([pushesOf(scene, "emil").length, await hasSeen(two, "emil")], [0, false]);
}

for (const [method, way] of Object.entries(WAYS)) {
  testNeeding(
    NEEDS,
    `${method}, two first-factor servers: the first is dead at the start, dies twice, and comes back`,
    async (test) => {
      await using scene = await openScene();
      const { one, two } = scene;
      await test.step("dead at the start: the second server answers, and soon no login waits for the first", async () => {
        await Promise.all(
          (["ada", "bea", "cem"] as const).map((name) => passes(scene, way, { name, by: "two" })),
        );
        await scene.world.gateway.logged("a first-factor server does not answer");
      });
      await test.step("comes back: the first server is preferred again, without a login that tests it", async () => {
        await one.start();
        await eventually("the first server answers again", () => timesBack(scene) === 1);
        assertEquals(await hasSeen(one, "ada"), false);
        await passes(scene, way, { name: "dora", by: "one" });
        assertEquals(await hasSeen(two, "dora"), false);
      });
      await test.step(
        way.hasRounds
          ? "dies between rounds: no push, and the login does not continue at the other server"
          : "dies with a request on its way: the other server answers, and one push is sent",
        async () => {
          await diesOnTheWay(scene, way);
          await passes(scene, way, { name: "fay", by: "two" });
        },
      );
      await test.step("dies during the hold: the approval accepts, with the attributes of the dead server", async () => {
        await one.start();
        await firstIsPreferred(scene, way);
        const { text } = await passes(scene, way, { name: "hugo", by: "one", before: () => one.kill() });
        assertStringIncludes(text, way.attribute);
      });
    },
  );
}
