// kill -9 of a gateway at twelve moments of a login: the other gateway continues, no second push or message is sent, and nothing recorded is lost.

import { assert, assertEquals } from "@std/assert";
import {
  type ClusterWithServices,
  fromClient,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import { type BuiltRequest, CODES, type Reply } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const CLIENT_RETRIES = { timeoutMs: 4000, tries: 3 } as const;
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
    ask: (request) => clients.at(dying).exchange(request, CLIENT_RETRIES),
    askOther: (request) => clients.at(other).exchange(request, CLIENT_RETRIES),
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
