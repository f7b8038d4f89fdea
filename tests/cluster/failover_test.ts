// A client that fails over to the other gateway in the middle of a login: one push, one Access-Accept, whatever happened to the first gateway.

import { assertEquals } from "@std/assert";
import {
  type ClusterWithServices,
  fromClient,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import type { ClusterNode } from "../support/cluster.ts";
import { CODES } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";

/** What happens to the gateway that handles the login, before and after the other one has accepted it. The last one ends it. */
const FAULTS: readonly {
  title: string;
  before(node: ClusterNode): unknown;
  after(node: ClusterNode): unknown;
}[] = [
  { title: "works", before: () => undefined, after: () => undefined },
  { title: "is frozen for a while", before: (node) => node.freeze(), after: (node) => node.thaw() },
  { title: "was killed", before: (node) => node.kill9(), after: () => undefined },
];

/** What the client asks the other gateway. */
const REQUESTS = [
  { title: "a held login, asked again with a new Authenticator", client: "held", isSamePacket: false },
  { title: "a held login, sent again octet by octet", client: "held", isSamePacket: true },
  { title: "a lost challenge, sent again octet by octet", client: "vpn", isSamePacket: true },
] as const;

const CASES = FAULTS.flatMap((fault, part) =>
  REQUESTS.map((row, at) => ({ ...row, fault, user: `user${part * REQUESTS.length + at}` }))
);
/** A held login lasts until the approval. */
const CLIENT_RETRIES = { timeoutMs: 10_000, tries: 3 } as const;
/** Longer than the interval in which a gateway asks the service for the decision. */
const LATE_MS = 1500;

const pushesOf = ({ secondFactor }: ClusterWithServices, user: string) =>
  secondFactor.initiated().filter(({ pairingId }) => pairingId === `phone-of-${user}`);

/** The first packet of a login, sent to node 0 and never sent again. `heard` receives every answer of that node. */
async function begin(world: ClusterWithServices, { user, client }: typeof CASES[number]) {
  const clients = openClients(world);
  const attributes = {
    ...fromClient(client),
    userName: user,
    callingStationId: `station of ${user}`,
  };
  const login = { ...attributes, password: "first" };
  const packet = clients.at(0).build(login);
  const heard = clients.at(0).listen();
  await clients.at(0).sendRaw(packet.bytes);
  await eventually("a push", () => pushesOf(world, user).length > 0);
  if (client === "vpn") await eventually("a challenge", () => heard.datagrams.length > 0);
  return { clients, attributes, login, packet, heard };
}

/** Asks node 1, approves the push when the service has it, and returns the codes of all replies. */
async function failOver(
  world: ClusterWithServices,
  { user, client, isSamePacket }: typeof CASES[number],
  { clients, attributes, login, packet }: Awaited<ReturnType<typeof begin>>,
): Promise<{ codes: number[]; problems: readonly string[] }> {
  const approve = () => {
    for (const { id, pending } of pushesOf(world, user)) {
      if (pending) world.secondFactor.decide(id, { granted: true });
    }
  };
  const asked = clients.at(1).exchange(isSamePacket ? packet : clients.at(1).build(login), CLIENT_RETRIES);
  if (client === "held") {
    const begun = performance.now();
    await eventually("node 1 waits for the decision", () => performance.now() - begun > 300);
    approve();
    const { code, problems } = await asked;
    return { codes: [code], problems };
  }
  const challenge = await asked;
  approve();
  const last = await clients.at(1).ask({
    ...attributes,
    password: "",
    state: challenge.state ?? new Uint8Array(),
  }, CLIENT_RETRIES);
  return { codes: [challenge.code, last.code], problems: [...challenge.problems, ...last.problems] };
}

/** By how much the clock of each gateway is wrong. */
const CLOCKS = [
  { title: "", offsetsMs: [0, 0] },
  { title: ", although their clocks differ by 30 s", offsetsMs: [15_000, -15_000] },
] as const;

for (const clocks of CLOCKS) {
  testNeeding(
    { peers: [], denokv: true },
    `a client that fails over in the middle of a login gets one push and one Access-Accept${clocks.title}`,
    async (context) => {
      await using world = await startClusterWithServices({
        clockOffsetsMs: clocks.offsetsMs,
        pairings: CASES.map(({ user }) =>
          [user, { kind: "device", id: `phone-of-${user}`, totpLength: 0 }] as const
        ),
      });
      const [first] = world.cluster.nodes as [ClusterNode];
      for (const fault of FAULTS) {
        await context.step(`while the first gateway ${fault.title}`, async () => {
          const cases = CASES.filter((row) => row.fault === fault);
          const begun = await Promise.all(cases.map((row) => begin(world, row)));
          await fault.before(first);
          const results = await Promise.all(
            cases.map((row, at) => failOver(world, row, begun[at] as (typeof begun)[number])),
          );
          await fault.after(first);
          await new Promise((resolve) => setTimeout(resolve, LATE_MS));
          for (const [at, { title, user, client }] of cases.entries()) {
            const { clients, heard } = begun[at] as (typeof begun)[number];
            const seen = {
              ...results[at],
              accepts: heard.datagrams.filter(([code]) => code === CODES.accessAccept).length,
              pushes: pushesOf(world, user).length,
            };
            const codes = client === "held"
              ? [CODES.accessAccept]
              : [CODES.accessChallenge, CODES.accessAccept];
            assertEquals(seen, { codes, problems: [], accepts: 0, pushes: 1 }, title);
            heard[Symbol.dispose]();
            clients[Symbol.dispose]();
          }
        });
      }
    },
  );
}
