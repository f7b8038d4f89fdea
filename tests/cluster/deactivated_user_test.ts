// A user who is deactivated or deleted at one gateway is refused by the other one on the very next packet.

import { assert, assertEquals } from "@std/assert";
import {
  type ClusterWithServices,
  fromClient,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import type { Answer, Caller } from "../scim/rows/caller.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const REMOVALS: readonly { title: string; remove(scim: Caller, user: string): Promise<Answer> }[] = [
  {
    title: "PUT active=false",
    remove: (scim, user) => scim.put(`/Users/${user}`, { userName: user, active: false }),
  },
  { title: "DELETE", remove: (scim, user) => scim.remove(`/Users/${user}`) },
];

interface Scene {
  readonly world: ClusterWithServices;
  readonly user: string;
  /** Sends one packet of the user to node 1. */
  ask(parts: { password: string; state?: Uint8Array | undefined }, client?: "vpn" | "held"): Promise<Reply>;
  /** Deactivates or deletes the user at node 0. */
  remove(): Promise<void>;
}

/** Each returns all replies of node 1. */
const SCENES: readonly { title: string; codes: readonly number[]; play(scene: Scene): Promise<Reply[]> }[] = [
  {
    title: "a user whom this node has never seen",
    codes: [CODES.accessReject],
    async play({ ask, remove }) {
      await remove();
      return [await ask({ password: "first" })];
    },
  },
  {
    title: "a user who has logged in here before",
    codes: [CODES.accessChallenge, CODES.accessAccept, CODES.accessReject],
    async play({ ask, remove, world, user }) {
      const challenge = await ask({ password: "first" });
      approve(world, user);
      const accept = await ask({ password: "", state: challenge.state ?? undefined });
      await remove();
      return [challenge, accept, await ask({ password: "first" })];
    },
  },
  {
    title: "the answer to the challenge of this node, although the phone approved",
    codes: [CODES.accessChallenge, CODES.accessReject],
    async play({ ask, remove, world, user }) {
      const challenge = await ask({ password: "first" });
      approve(world, user);
      await remove();
      return [challenge, await ask({ password: "", state: challenge.state ?? undefined })];
    },
  },
  {
    title: "a login that this node holds, although the phone approves afterwards",
    codes: [CODES.accessReject],
    async play({ ask, remove, world, user }) {
      const held = ask({ password: "first" }, "held");
      await eventually("a push", () => pushesOf(world, user).length > 0);
      await remove();
      approve(world, user);
      return [await held];
    },
  },
];

const pushesOf = ({ secondFactor }: ClusterWithServices, user: string) =>
  secondFactor.initiated().filter(({ pairingId }) => pairingId === `phone-of-${user}`);

function approve(world: ClusterWithServices, user: string): void {
  for (const { id } of pushesOf(world, user)) world.secondFactor.decide(id, { granted: true });
}

const CASES = REMOVALS.flatMap((removal) => SCENES.map((scene) => ({ removal, scene })))
  .map((row, at) => ({ ...row, user: `user${at}` }));

testNeeding(
  { peers: [], denokv: true },
  "a user who is deactivated or deleted at one gateway is refused by the other on the next packet",
  async () => {
    // After the removal, an unknown name must not be accepted as a new user with no factor.
    await using world = await startClusterWithServices({
      pairings: CASES.map(({ user }) =>
        [user, { kind: "device", id: `phone-of-${user}`, totpLength: 0 }] as const
      ),
      toml: '[factors]\nenrol_at_login = "never"',
    });
    const scim = world.scim(world.cluster.node(0));
    for (const { user } of CASES) {
      const created = await scim.post("/Users", { userName: user, active: true });
      assertEquals(created.status, 201, created.text);
    }
    const seen = await Promise.all(CASES.map(async ({ removal, scene, user }) => {
      using clients = openClients(world);
      const replies = await scene.play({
        world,
        user,
        ask: (parts, client = "vpn") =>
          clients.at(1).ask(
            { ...fromClient(client), userName: user, callingStationId: `station of ${user}`, ...parts },
            { timeoutMs: 10_000, tries: 1 },
          ),
        async remove() {
          const { status, text } = await removal.remove(scim, user);
          assert(status < 300, text);
        },
      });
      return replies.map(({ code }) => code);
    }));
    for (const [at, { removal, scene }] of CASES.entries()) {
      assertEquals(seen[at], [...scene.codes], `${removal.title}: ${scene.title}`);
    }
  },
);
