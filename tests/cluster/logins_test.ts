// Logins of several nodes, also while the node of a login is killed.

import { assert, assertEquals } from "@std/assert";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import {
  type ClusterWithServices,
  fromClient,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import { type BuiltRequest, CODES, type Reply } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpCode } from "../support/totp.ts";
import { eventually } from "../upstream/manual_clock.ts";

// A login that starts on one gateway and is answered on the other: for every factor, in both directions, and with both forms of State.

const SEED = new TextEncoder().encode("12345678901234567890");
/** State without a token. */
const STEP_NAME = /^[A-Z_]+$/;
const CLIENT_RETRIES = { timeoutMs: 5000, tries: 2 } as const;

interface Person {
  readonly name: string;
  readonly number: string;
}

/** A factor: its pairing, what the user types after the challenge, and the calls that one login makes. */
interface FactorRow {
  readonly title: string;
  readonly kind: "device" | "sms" | "voice" | "totp" | "recovery";
  readonly type: (world: ClusterWithServices, person: Person) => string;
  readonly pushes: number;
  readonly messages: number;
}

const FACTOR_ROWS: readonly FactorRow[] = [
  { title: "an approval on the phone", kind: "device", type: approve, pushes: 1, messages: 0 },
  { title: "a text message", kind: "sms", type: sentPasscode, pushes: 0, messages: 1 },
  { title: "a phone call", kind: "voice", type: sentPasscode, pushes: 0, messages: 1 },
  {
    title: "an authenticator app",
    kind: "totp",
    type: () => totpCode(SEED, Date.now()),
    pushes: 0,
    messages: 0,
  },
  {
    title: "a recovery code",
    kind: "recovery",
    type: ({ recoveryCodes }, { name }) => recoveryCodes.get(name)?.[0] ?? "none",
    pushes: 0,
    messages: 0,
  },
];

const phoneOf = ({ name }: Person): string => `phone-of-${name}`;

function approve({ secondFactor }: ClusterWithServices, person: Person): string {
  const request = secondFactor.initiated().findLast(({ pairingId }) => pairingId === phoneOf(person));
  if (request === undefined) throw new Error(`No push was sent to ${person.name}`);
  secondFactor.decide(request.id, { granted: true });
  return "";
}

function sentPasscode({ telephony }: ClusterWithServices, { number }: Person): string {
  return telephony.lastPasscode(number) ?? "none";
}

/** Each case has its own user, so that no login affects another. */
const CASES = FACTOR_ROWS.flatMap((factor) =>
  [0, 1].flatMap((first) => [true, false].map((hasStation) => ({ factor, first, hasStation })))
).map((row, at) => ({ ...row, person: { name: `user${at}`, number: `+1500555${1000 + at}` } }));

function pairingOf({ factor: { kind }, person }: typeof CASES[number]): NewPairing {
  switch (kind) {
    case "device":
      return { kind, id: phoneOf(person), totpLength: 0 };
    case "sms":
    case "voice":
      return { kind, number: person.number };
    default:
      return { kind: "totp", seed: SEED };
  }
}

/** What a client and the services see of one login. */
async function play(
  world: ClusterWithServices,
  { factor, first, hasStation, person }: typeof CASES[number],
): Promise<Record<string, unknown>> {
  using clients = openClients(world);
  const attributes = {
    ...fromClient("vpn"),
    userName: person.name,
    ...(hasStation ? { callingStationId: `station of ${person.name}` } : {}),
  };
  const challenge = await clients.at(first).ask({ ...attributes, password: "first" }, CLIENT_RETRIES);
  const state = challenge.state ?? new Uint8Array();
  const answer = { ...attributes, password: factor.type(world, person), state };
  const accept = await clients.at(1 - first).ask(answer, CLIENT_RETRIES);
  // Another packet with the same State, at the node where the login began.
  const again = await clients.at(first).ask({ ...answer, password: "another" }, CLIENT_RETRIES);
  return {
    state: STEP_NAME.test(new TextDecoder().decode(state)) ? "name" : "token",
    replies: [challenge, accept, again].map(({ code }) => code),
    problems: [challenge, accept, again].flatMap(({ problems }) => problems),
    pushes: world.secondFactor.initiated().filter(({ pairingId }) => pairingId === phoneOf(person)).length,
    messages: world.telephony.taken().filter(({ form }) => form.get("To") === person.number).length,
  };
}

/** A passcode is valid in the time steps beside its own. A clock that is wrong by one step leaves no room for a change of step. */
async function awaitNewTimeStep(): Promise<void> {
  const leftMs = 30_000 - Date.now() % 30_000;
  if (leftMs < 5000) await new Promise((resolve) => setTimeout(resolve, leftMs));
}

/** With wrong clocks, everything lives as long as the clocks differ, so that a deadline of the other clock would have passed. */
const CLOCKS = [
  { title: "", offsetsMs: [0, 0], toml: "" },
  {
    title: ", although their clocks differ by 30 s",
    offsetsMs: [0, 30_000],
    toml: "[radius]\nconversation_ttl_s = 30\n[factors.passcode]\nlifetime_s = 30",
  },
] as const;

for (const clocks of CLOCKS) {
  testNeeding(
    { peers: [], denokv: true },
    `a login that starts on one gateway is accepted on the other, once, for every factor and form of State${clocks.title}`,
    async () => {
      await using world = await startClusterWithServices({
        clockOffsetsMs: clocks.offsetsMs,
        toml: clocks.toml,
        pairings: CASES.map((row) => [row.person.name, pairingOf(row)] as const),
        recoveryCodesOf: CASES.flatMap(({ factor, person }) =>
          factor.kind === "recovery" ? [person.name] : []
        ),
      });
      await awaitNewTimeStep();
      // Each reject takes a second, so all logins run at the same time.
      const seen = await Promise.all(CASES.map((row) => play(world, row)));
      for (const [at, { factor: { title, pushes, messages }, first, hasStation }] of CASES.entries()) {
        const expected = {
          state: hasStation ? "name" : "token",
          replies: [CODES.accessChallenge, CODES.accessAccept, CODES.accessReject],
          problems: [],
          pushes,
          messages,
        };
        assertEquals(seen[at], expected, `${title}, from node ${first}, by ${expected.state}`);
      }
    },
  );
}

// kill -9 of a gateway at twelve moments of a login: the other gateway continues, no second push or message is sent, and nothing recorded is lost.

const KILL_RETRIES = { timeoutMs: 4000, tries: 3 } as const;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** One login at the gateway `dying`, which the test kills; the client then asks `other`. */
interface Scene {
  readonly world: ClusterWithServices;
  readonly dying: number;
  readonly other: number;
  /** Sends a packet to the dying gateway, without a retransmission. */
  send(request: BuiltRequest): Promise<void>;
  /** Sends the packet to the dying gateway and waits for the answer. */
  ask(request: BuiltRequest): Promise<Reply>;
  /** The same at the other gateway. */
  askOther(request: BuiltRequest): Promise<Reply>;
  readonly login: BuiltRequest;
  /** The login with a new Identifier and Authenticator. */
  loginAgain(): BuiltRequest;
  answer(challenge: Reply, typed?: string): BuiltRequest;
  /** Approves the push of this login. Does nothing without one. */
  approve(): void;
  passcode(): string;
  kill(): Promise<void>;
  /** Holds the answers of the services until the function that it returns is called. */
  hold(): () => void;
  /** Waits until a call of this login has reached a service. */
  reached(): Promise<void>;
}

/** `isSure`: the login's state was recorded, so it must end in an Accept. */
interface Moment {
  readonly title: string;
  readonly factor: "device" | "sms";
  readonly isSure: boolean;
  play(scene: Scene): Promise<Reply>;
}

/** From the challenge of the other gateway to the end. */
async function finish(scene: Scene, challenge: Reply): Promise<Reply> {
  // A gateway that sees that a push was lost ends the login. The user begins again.
  if (challenge.code === CODES.accessReject) return challenge;
  assertEquals([challenge.code, challenge.problems], [CODES.accessChallenge, []]);
  scene.approve();
  return await scene.askOther(scene.answer(challenge, scene.passcode()));
}

/** Kills the gateway some milliseconds after the login was sent; the client then sends the packet to the other one. */
const afterLogin = (factor: Moment["factor"], afterMs: number): Moment => ({
  title: `${afterMs} ms after the login (${factor}) was sent`,
  factor,
  isSure: false,
  async play(scene) {
    await scene.send(scene.login);
    await pause(afterMs);
    await scene.kill();
    return await finish(scene, await scene.askOther(scene.login));
  },
});

/** Kills the gateway some milliseconds after the answer was sent; the client then sends the packet to the other one. */
const afterAnswer = (factor: Moment["factor"], afterMs: number): Moment => ({
  title: `${afterMs} ms after the answer (${factor}) was sent`,
  factor,
  isSure: true,
  async play(scene) {
    const challenge = await scene.ask(scene.login);
    scene.approve();
    const answer = scene.answer(challenge, scene.passcode());
    await scene.send(answer);
    await pause(afterMs);
    await scene.kill();
    return await scene.askOther(answer);
  },
});

/** Kills the gateway during the call of a service; the client then sends the packet `next` to the other one. */
const duringCall = (
  { next, ...moment }: Pick<Moment, "title" | "factor"> & { next: (scene: Scene) => BuiltRequest },
): Moment => ({
  ...moment,
  isSure: false,
  async play(scene) {
    const release = scene.hold();
    await scene.send(scene.login);
    await scene.reached();
    await scene.kill();
    release();
    return await finish(scene, await scene.askOther(next(scene)));
  },
});

const MOMENTS: readonly Moment[] = [
  afterLogin("device", 0),
  afterLogin("device", 3),
  afterLogin("device", 8),
  afterLogin("sms", 5),
  duringCall({
    title: "while the push is being sent, and the client begins a new login",
    factor: "device",
    next: (scene) => scene.loginAgain(),
  }),
  duringCall({
    title: "while the text message is being sent",
    factor: "sms",
    next: (scene) => scene.login,
  }),
  {
    title: "after the challenge of a push",
    factor: "device",
    isSure: true,
    async play(scene) {
      const challenge = await scene.ask(scene.login);
      await scene.kill();
      return await finish(scene, challenge);
    },
  },
  {
    title: "after the challenge of a text message, and the login is sent again",
    factor: "sms",
    isSure: true,
    async play(scene) {
      const challenge = await scene.ask(scene.login);
      await scene.kill();
      const again = await scene.askOther(scene.login);
      assertEquals([again.code, again.state], [CODES.accessChallenge, challenge.state]);
      return await finish(scene, again);
    },
  },
  {
    title: "while it asks for the decision",
    factor: "device",
    isSure: true,
    async play(scene) {
      const challenge = await scene.ask(scene.login);
      const answer = scene.answer(challenge);
      const release = scene.hold();
      await scene.send(answer);
      await scene.reached();
      await scene.kill();
      release();
      scene.approve();
      return await scene.askOther(answer);
    },
  },
  afterAnswer("device", 2),
  afterAnswer("sms", 2),
  {
    title: "after the Access-Accept",
    factor: "device",
    isSure: true,
    async play(scene) {
      const challenge = await scene.ask(scene.login);
      scene.approve();
      const answer = scene.answer(challenge);
      const accept = await scene.ask(answer);
      await scene.kill();
      const other = await scene.askOther(scene.answer(challenge, "another packet"));
      assertEquals(other.code, CODES.accessReject, "one approval is one Accept");
      return accept;
    },
  },
];

const userOf = (at: number) => `user${at}`;
const numberOf = (at: number) => `+1500555${2000 + at}`;

function createScene(world: ClusterWithServices, at: number, clients: ReturnType<typeof openClients>): Scene {
  const dying = at % 2;
  const other = 1 - dying;
  const { secondFactor, telephony, cluster } = world;
  const attributes = {
    ...fromClient("vpn"),
    userName: userOf(at),
    callingStationId: `station of ${userOf(at)}`,
  };
  const build = (parts: { password: string; state?: Uint8Array }) =>
    clients.at(dying).build({ ...attributes, ...parts });
  return {
    ...{ world, dying, other },
    send: ({ bytes }) => clients.at(dying).sendRaw(bytes),
    ask: (request) => clients.at(dying).exchange(request, KILL_RETRIES),
    askOther: (request) => clients.at(other).exchange(request, KILL_RETRIES),
    login: build({ password: "first" }),
    loginAgain: () => build({ password: "first" }),
    answer: ({ state }, typed = "") => build({ password: typed, ...(state === null ? {} : { state }) }),
    approve() {
      for (const { id, pairingId } of secondFactor.initiated()) {
        if (pairingId === userOf(at)) secondFactor.decide(id, { granted: true });
      }
    },
    // Without a message, the user types anything.
    passcode: () => MOMENTS[at]?.factor === "sms" ? telephony.lastPasscode(numberOf(at)) ?? "000000" : "",
    kill: () => cluster.node(dying).kill9(),
    hold() {
      const releases = [secondFactor.server.hold(), telephony.server.hold()];
      return () => releases.forEach((release) => release());
    },
    reached: () =>
      eventually("a call under way", () => secondFactor.server.underWay() + telephony.server.underWay() > 0),
  };
}

testNeeding(
  { peers: [], denokv: true },
  "kill -9 of a gateway during a login: the other one continues, and at most one push or message is sent",
  async (context) => {
    await using world = await startClusterWithServices({
      pairings: MOMENTS.map(({ factor }, at) =>
        [
          userOf(at),
          factor === "sms"
            ? { kind: factor, number: numberOf(at) }
            : { kind: factor, id: userOf(at), totpLength: 0 },
        ] as const
      ),
    });
    for (const [at, { title, isSure, play }] of MOMENTS.entries()) {
      await context.step(title, async () => {
        using clients = openClients(world);
        const scene = createScene(world, at, clients);
        const last = await play(scene).finally(() => world.cluster.node(scene.dying).restart());
        assertEquals(last.problems, []);
        const calls = world.secondFactor.initiated().filter(({ pairingId }) =>
          pairingId === userOf(at)
        ).length +
          world.telephony.taken().filter(({ form }) => form.get("To") === numberOf(at)).length;
        if (isSure) assertEquals([last.code, calls], [CODES.accessAccept, 1]);
        else {
          assert(last.code === CODES.accessAccept || last.code === CODES.accessReject, `code ${last.code}`);
          assert(calls <= 1, `${calls} pushes or messages`);
        }
      });
    }
  },
);
