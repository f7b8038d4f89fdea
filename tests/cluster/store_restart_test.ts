// The store stops and starts again under two gateways: no packet is answered meanwhile, /readyz says why, nothing is accepted that is not
// recorded, and afterwards both gateways answer without a restart.

import { assertEquals } from "@std/assert";
import { fromClient, openClients, startClusterWithServices } from "../fakes/cluster_services.ts";
import type { ClusterNode } from "../support/cluster.ts";
import type { Denokv } from "../support/denokv.ts";
import { CODES, type RequestParts } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpCode } from "../support/totp.ts";
import { eventually } from "../upstream/manual_clock.ts";

const SEED = new TextEncoder().encode("12345678901234567890");
const CLIENT_RETRIES = { timeoutMs: 1000, tries: 30 } as const;

const OUTAGES: readonly { title: string; begin(store: Denokv): unknown; end(store: Denokv): unknown }[] = [
  { title: "stops", begin: (store) => store.stop(), end: (store) => store.start() },
  { title: "is frozen", begin: (store) => store.freeze(), end: (store) => store.thaw() },
];
const NODES = [0, 1] as const;
const CASES = OUTAGES.flatMap((outage) =>
  NODES.map((node) => ({ outage, node, user: `${outage.title} ${node}` }))
);

async function readiness({ httpUrl }: ClusterNode): Promise<{ status: number; store: string }> {
  const response = await fetch(`${httpUrl}/readyz`);
  const { parts } = await response.json();
  return { status: response.status, store: parts.store };
}

/** The answer to the challenge of one login. */
interface Answered {
  readonly parts: RequestParts;
  readonly node: number;
}

async function beginLogins(
  clients: ReturnType<typeof openClients>,
  users: readonly { user: string; node: number }[],
): Promise<Answered[]> {
  return await Promise.all(users.map(async ({ user, node }) => {
    const attributes = { ...fromClient("vpn"), userName: user, callingStationId: `station of ${user}` };
    const challenge = await clients.at(node).ask({ ...attributes, password: "first" }, CLIENT_RETRIES);
    assertEquals(challenge.code, CODES.accessChallenge);
    const password = totpCode(SEED, Date.now());
    return { node, parts: { ...attributes, password, state: challenge.state ?? new Uint8Array() } };
  }));
}

testNeeding(
  { peers: [], denokv: true },
  "while the store is away, both gateways are silent and not ready; afterwards they continue without a restart",
  async (context) => {
    await using world = await startClusterWithServices({
      pairings: CASES.map(({ user }) => [user, { kind: "totp", seed: SEED }] as const),
    });
    const { cluster } = world;
    const pids = cluster.nodes.map(({ pid }) => pid);
    for (const outage of OUTAGES) {
      await context.step(`the store ${outage.title}`, async () => {
        using clients = openClients(world);
        const cases = CASES.filter((row) => row.outage === outage);
        const logins = await beginLogins(clients, cases);
        await outage.begin(cluster.store);
        const heard = NODES.map((node) => clients.at(node).listen());
        const answers = logins.map(({ node, parts }) => ({ node, packet: clients.at(node).build(parts) }));
        for (const { node, packet } of answers) await clients.at(node).sendRaw(packet.bytes);
        for (const node of NODES) {
          const login = clients.at(node).build({ ...fromClient("vpn"), userName: "new", password: "first" });
          await clients.at(node).sendRaw(login.bytes);
          await eventually("not ready, with the reason", async () => {
            const { status, store } = await readiness(cluster.node(node));
            return status === 503 && /^does not answer for \d+ s$/.test(store);
          });
        }
        assertEquals(heard.map(({ datagrams }) => datagrams.length), [0, 0]);
        await outage.end(cluster.store);
        // The clients send the same packets again.
        const replies = await Promise.all(
          answers.map(({ node, packet }) => clients.at(node).exchange(packet, CLIENT_RETRIES)),
        );
        assertEquals(replies.map(({ code }) => code), [CODES.accessAccept, CODES.accessAccept]);
        // Each accept was recorded with its passcode, so the other gateway refuses that passcode.
        const again = await beginLogins(clients, cases.map(({ user, node }) => ({ user, node: 1 - node })));
        const refused = await Promise.all(
          again.map(({ node, parts }, at) =>
            clients.at(node).ask({ ...parts, password: logins[at]?.parts.password ?? "" }, CLIENT_RETRIES)
          ),
        );
        assertEquals(refused.map(({ code }) => code), [CODES.accessReject, CODES.accessReject]);
        for (const node of NODES) {
          await eventually("ready", async () => (await readiness(cluster.node(node))).status === 200);
        }
      });
    }
    assertEquals(cluster.nodes.map(({ pid }) => pid), pids);
  },
);
