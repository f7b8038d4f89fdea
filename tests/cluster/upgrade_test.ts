// A rolling upgrade: of two gateways on one store, one after the other is stopped and started again. Clients with two servers lose no login.

import { assertEquals } from "@std/assert";
import {
  type ClusterWithServices,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import { attributesOf, faultsOf, listed } from "../fakes/cluster_checks.ts";
import type { BuiltRequest } from "../support/radius_packets.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

const NEEDS = { peers: [], denokv: true } as const;
const NODES = [0, 1] as const;
const { accessChallenge, accessAccept } = CODES;
/** The users whose clients log in all the time. */
const BUSY = Array.from({ length: 8 }, (_, at) => `busy${at}`);

type Clients = ReturnType<typeof openClients>;

/** Longer than a packet waits on a busy machine. A copy that waits longer than its login takes would begin another login. */
const PATIENCE = { timeoutMs: 2500, tries: 1 } as const;

/** A client with two servers: it sends a packet to each, twice, the preferred one first. */
async function askBoth(
  clients: Clients,
  request: BuiltRequest,
  preferred: number,
): Promise<Reply> {
  for (const node of [preferred, 1 - preferred, preferred, 1 - preferred]) {
    try {
      return await clients.at(node).exchange(request, PATIENCE);
    } catch (fault) {
      if (!(fault instanceof Error) || !fault.message.startsWith("No reply")) throw fault;
    }
  }
  throw new Error("No server answers");
}

/** Logs in without a pause until it is ended. Each login has one push, which the user approves. */
function keepLoggingIn(world: ClusterWithServices, user: string, preferred: number) {
  const { secondFactor } = world;
  let isEnded = false;
  const outcomes: string[] = [];
  const logIn = async (clients: Clients): Promise<string> => {
    const attributes = attributesOf(user);
    const challenge = await askBoth(
      clients,
      clients.at(0).build({ ...attributes, password: "first" }),
      preferred,
    );
    if (challenge.code !== accessChallenge) return `code ${challenge.code} instead of a challenge`;
    for (const { id, pairingId, pending } of secondFactor.initiated()) {
      if (pairingId === user && pending) secondFactor.decide(id, { granted: true });
    }
    const answer = { ...attributes, password: "", state: challenge.state ?? new Uint8Array() };
    const last = await askBoth(clients, clients.at(0).build(answer), preferred);
    return last.code === accessAccept ? "accepted" : `code ${last.code} instead of an accept`;
  };
  const running = (async () => {
    using clients = openClients(world);
    while (!isEnded) outcomes.push(await logIn(clients).catch(String));
  })();
  return {
    outcomes,
    async end() {
      isEnded = true;
      await running;
    },
  };
}

/** Stops one gateway after the other, and starts it again, as an upgrade does. Returns the outcomes of all logins meanwhile. */
async function upgradeWhileBusy(world: ClusterWithServices): Promise<Map<string, number>> {
  const busy = BUSY.map((user, at) => keepLoggingIn(world, user, at % 2));
  const settled = async () => {
    const before = busy.map(({ outcomes }) => outcomes.length);
    await eventually(
      "each client logs in again",
      () => busy.every(({ outcomes }, at) => outcomes.length >= (before[at] as number) + 1),
    );
  };
  await settled();
  for (const node of world.cluster.nodes) {
    assertEquals((await node.stop()).code, 0);
    await settled();
    await node.restart();
    await settled();
  }
  await Promise.all(busy.map((one) => one.end()));
  const counts = new Map<string, number>();
  for (const outcome of busy.flatMap(({ outcomes }) => outcomes)) {
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return counts;
}

const TOML = `
[factors]
enrol_at_login = "never"
[factors.pushes]
per_user = 1000000
`;
const BUSY_PAIRINGS = BUSY.map((user) => [user, { kind: "device", id: user, totpLength: 0 }] as const);

testNeeding(
  NEEDS,
  "two gateways share a store, and an upgrade of one after the other loses no login",
  async () => {
    await using world = await startClusterWithServices({ toml: TOML, pairings: BUSY_PAIRINGS });
    const scim = world.scim(world.cluster.node(1));
    for (const user of BUSY) assertEquals((await scim.post("/Users", { userName: user })).status, 201);
    const check = async (node: number) =>
      assertEquals(await listed(world, node, "/Users?q=busy"), BUSY.toSorted());
    await Promise.all(NODES.map(check));
    assertEquals([...(await upgradeWhileBusy(world)).keys()], ["accepted"]);
    await Promise.all(NODES.map(check));
    assertEquals(world.cluster.nodes.flatMap(faultsOf), []);
  },
);
