// Records of a later version beside two gateways: what cannot be read is logged, nothing else is affected, and both keep serving.

import { assertEquals } from "@std/assert";
import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { attributesOf, faultsOf, listed } from "../fakes/cluster_checks.ts";
import {
  type ClusterWithServices,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import type { ClusterNode } from "../support/cluster.ts";
import { CODES } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpCode } from "../support/totp.ts";

const NODES = [0, 1] as const;
const { accessChallenge, accessAccept, accessReject } = CODES;
const SEED = new TextEncoder().encode("12345678901234567890");
const BUSY = ["busy0", "busy1"] as const;
const PEOPLE = ["ada", "bea", "cleo"] as const;
const TOML = `
[factors]
enrol_at_login = "always"
phone_numbers = "any"
[factors.pushes]
per_user = 1000000
`;
const code = () => totpCode(SEED, Date.now());

/** Writes as a node of a later version does: the gateways find the keys in its change log. */
async function openLaterNode(
  { cluster: { store: { url }, masterKeyHex } }: ClusterWithServices,
  tables: Iterable<string>,
) {
  const path = await Deno.makeTempDir({ prefix: "countersign-later-" });
  const node = await openDataDir(path, { random: createSystemRandom(), kvUrl: url, masterKeyHex });
  for (const table of tables) node.store.follow([table], () => undefined);
  return {
    ...node,
    async [Symbol.asyncDispose]() {
      await node.close();
      await Deno.remove(path, { recursive: true });
    },
  };
}

/** Values that this version cannot read. Each is logged under its table. */
const LATER_ROWS: readonly (readonly [key: Deno.KvKey, value: unknown])[] = [
  [["conversation", "zzzz"], Uint8Array.of(3, 1, 2, 3)],
  [["journal", Date.now() * 1024, "later"], Uint8Array.of(0, 4, 3, 1, 2, 3)],
  [["accounting", "zzzz"], Uint8Array.of(9, 1, 2, 3)],
  [["pairing", "default", "ada", "passkey", "p1"], { id: "p1", user: "ada", createdMs: 1, kind: "passkey" }],
  [["pairing", "default", "late", "passkey", "p2"], {
    id: "p2",
    user: "late",
    createdMs: 1,
    kind: "passkey",
  }],
  [["preference", "default", "ada"], "passkey"],
  [["limit", "failures", "barred"], { windows: [] }],
  [["limit", "push", "busy0"], { windows: [] }],
  [["limit", "sends"], { windows: [] }],
  [["limit", "later", "ada"], { windows: [] }],
  [["client", "later"], { name: "later", networks: ["192.0.2.0/24"], version: 1 }],
  [["reply_group", "staff"], { rules: [], version: 3 }],
];
/** Tables of this version with other values, and tables that it does not know. Nothing is lost, so nothing is logged. */
const LATER_EXTRAS: readonly (readonly [key: Deno.KvKey, value: unknown])[] = [
  [["node", "later"], { beat: 1, version: "0.9.0" }],
  [["lease", "later job"], { node: "later", token: 1, since: 2 }],
  [["learnt", "vpn", "192.0.2.9"], { sinceMs: 1 }],
  [["later_table", "x"], 1],
];
const EXTENDED_TABLES = ["user", "group", "pairing", "limit", "conversation", "preference"] as const;

/** The same value as a later version would write it, with more fields. */
function extended(value: unknown): unknown {
  if (value instanceof Uint8Array) return Uint8Array.of(...value, 0, 4, 1, 2, 3, 4);
  return value !== null && typeof value === "object" && !Array.isArray(value)
    ? { ...value, later: { form: 9, list: [1] } }
    : value;
}

type Clients = ReturnType<typeof openClients>;

/** Starts a login. Returns a function that answers its challenge. */
function createLogins(clients: Clients) {
  return async (user: string, node: number) => {
    const attributes = { ...attributesOf(user), callingStationId: `${user} at ${node}` };
    const challenge = await clients.at(node).ask({ ...attributes, password: "first" });
    assertEquals(challenge.code, accessChallenge, user);
    const state = challenge.state ?? new Uint8Array();
    return (at: number, password: string) => clients.at(at).ask({ ...attributes, password, state });
  };
}

/** A user with no factor can add a number, and a user whose only factor is unknown to this version cannot. */
async function checkEnrolment(world: ClusterWithServices, clients: Clients): Promise<void> {
  for (const [node, user] of ["late", "plain"].entries()) {
    const number = `+1500555300${node}`;
    const attributes = { ...attributesOf(user), callingStationId: `phone of ${user}` };
    let { state } = await clients.at(node).ask({ ...attributes, password: "first" });
    for (const password of ["T", number]) {
      ({ state } = await clients.at(node).ask({
        ...attributes,
        password,
        state: state ?? new Uint8Array(),
      }));
    }
    const sent = world.telephony.taken().filter(({ form }) => form.get("To") === number).length;
    assertEquals(sent > 0, user === "plain", user);
  }
}

/** The list and the logins of both gateways work. A user is refused whose count of failures cannot be read, because it may be a lock. */
async function checkService(world: ClusterWithServices, clients: Clients): Promise<void> {
  const begin = createLogins(clients);
  await Promise.all(NODES.map(async (node) => {
    assertEquals(await listed(world, node, "/Users?q=staff"), [...PEOPLE]);
    // Each reject takes a second.
    const refused = PEOPLE.map(async (user) => (await (await begin(user, node))(1 - node, "000000")).code);
    assertEquals(await Promise.all(refused), PEOPLE.map(() => accessReject));
    assertEquals((await (await begin(`busy${node}`, node))(1 - node, "")).code, accessChallenge);
    const barred = { ...attributesOf("barred"), callingStationId: `barred at ${node}` };
    assertEquals((await clients.at(node).ask({ ...barred, password: "first" })).code, accessReject);
  }));
}

/** The tables of the records that a gateway could not read, from a line of its log on. */
function unreadTables({ logLines }: ClusterNode, from: number): string[] {
  const lines = logLines().slice(from).filter((line) => line.includes("cannot be read and is skipped"));
  return [...new Set(lines.map((line) => / table=(\w+)/.exec(line)?.[1] ?? line))].sort();
}

testNeeding(
  { peers: [], denokv: true },
  "records of a later version: what cannot be read is logged, and both gateways keep serving, also after a restart",
  async () => {
    await using world = await startClusterWithServices({
      toml: TOML,
      pairings: [
        ...BUSY.map((user) => [user, { kind: "device", id: user, totpLength: 0 }] as const),
        ...[...PEOPLE, "barred"].map((user) => [user, { kind: "totp", seed: SEED }] as const),
      ],
    });
    using clients = openClients(world);
    const scim = world.scim(world.cluster.node(0));
    for (const userName of [...PEOPLE, "late", "plain", "barred", ...BUSY]) {
      assertEquals((await scim.post("/Users", { userName })).status, 201);
    }
    await scim.post("/Groups", { displayName: "staff", members: PEOPLE.map((display) => ({ display })) });
    const tables = [...LATER_ROWS, ...LATER_EXTRAS].map(([[table]]) => String(table));
    await using later = await openLaterNode(world, new Set([...EXTENDED_TABLES, ...tables]));
    const begin = createLogins(clients);
    const answers = await Promise.all(PEOPLE.map((user, at) => begin(user, at % 2)));
    for (const table of EXTENDED_TABLES) {
      for await (const { key, value } of later.store.list([table])) {
        await later.store.commit({ mutations: [{ type: "set", key, value: extended(value) }] });
      }
    }
    // Logins that are in progress continue.
    const last = await Promise.all(answers.map((answer, at) => answer(1 - at % 2, code())));
    assertEquals(last.map((reply) => reply.code), PEOPLE.map(() => accessAccept));
    assertEquals(world.cluster.nodes.flatMap(faultsOf), []);
    for (const [key, value] of [...LATER_ROWS, ...LATER_EXTRAS]) {
      await later.store.commit({ mutations: [{ type: "set", key, value }] });
    }
    await checkService(world, clients);
    await checkEnrolment(world, clients);
    const unread = [...new Set(LATER_ROWS.map(([[table]]) => String(table)))].sort();
    for (const node of world.cluster.nodes) {
      assertEquals(unreadTables(node, 0), unread);
      const from = node.logLines().length;
      await node.restart();
      // A load counts the records of these tables instead.
      const counted = ["accounting", "conversation", "journal"];
      assertEquals(unreadTables(node, from), unread.filter((table) => !counted.includes(table)));
      await node.logged("records of conversations could not be read and were skipped");
      await node.logged("accounting sessions could not be read and were skipped");
    }
    await checkService(world, clients);
  },
);
