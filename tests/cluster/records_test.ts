// Records that another node writes: users that leave, limits, and what a late node reads.

import { assert, assertEquals } from "@std/assert";
import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import { attributesOf, faultsOf, listed } from "../fakes/cluster_checks.ts";
import {
  type ClusterWithServices,
  fromClient,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import type { ClusterNode } from "../support/cluster.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpCode } from "../support/totp.ts";
import type { Answer, Caller } from "../scim/rows/caller.ts";
import { eventually } from "../upstream/manual_clock.ts";

// Records of a later version beside two gateways: what cannot be read is logged, nothing else is affected, and both keep serving.

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
  [["journal", Date.now() * 1024, "later"], Uint8Array.of(0, 4, 9, 1, 2, 3)],
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

// A user who is deactivated or deleted at one gateway is refused by the other one on the very next packet.

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

// Limits, locks and codes that are valid once hold over all gateways, also when packets arrive at both of them at the same moment.

const NEEDS = { peers: [], denokv: true } as const;
const FAILURES = 10;
const PER_USER = 3;
const CLIENT_RETRIES = { timeoutMs: 10_000, tries: 1 } as const;
const RACERS = ["ada", "bea", "cleo", "dora", "emma", "fay", "gina", "hope"] as const;

const PAIRINGS: readonly (readonly [string, NewPairing])[] = [
  ["taking turns", { kind: "totp", seed: SEED }],
  ["at the same moment", { kind: "totp", seed: SEED }],
  ["pushed", { kind: "device", id: "phone-of-pushed", totpLength: 0 }],
  ["texted", { kind: "sms", number: "+15005551001" }],
  ["called", { kind: "voice", number: "+15005551002" }],
  ...RACERS.map((name) => [name, { kind: "totp", seed: SEED }] as const),
];

let world: ClusterWithServices | null = null;

/** All tests of this file share one cluster; each has its own users. */
async function theWorld(): Promise<ClusterWithServices> {
  world ??= await startClusterWithServices({
    pairings: PAIRINGS,
    recoveryCodesOf: RACERS,
    toml: `[factors.lockout]
failures = ${FAILURES}
[factors.pushes]
per_user = ${PER_USER}
[factors.sends]
per_user = ${PER_USER}`,
  });
  return world;
}

Deno.test.afterAll(async () => {
  await world?.dispose();
});

/** A login from a place of its own. `answer` may be sent to the other gateway. */
interface Login {
  readonly challenge: Reply;
  answer(node: number, typed: string): Promise<Reply>;
}

let places = 0;

function createLimitedLogins(clients: ReturnType<typeof openClients>, userName: string) {
  return async (node: number): Promise<Login> => {
    const attributes = { ...fromClient("vpn"), userName, callingStationId: `place ${++places}` };
    const challenge = await clients.at(node).ask({ ...attributes, password: "first" }, CLIENT_RETRIES);
    const state = challenge.state ?? new Uint8Array();
    return {
      challenge,
      answer: (at, password) => clients.at(at).ask({ ...attributes, password, state }, CLIENT_RETRIES),
    };
  };
}

const right = () => totpCode(SEED, Date.now());
const wrong = () => right().replace(/./g, (digit) => String((Number(digit) + 5) % 10));
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** The wrong codes that the gateways evaluated for a user. */
async function storedFailures({ cluster }: ClusterWithServices, user: string): Promise<unknown> {
  using kv = await cluster.store.open();
  const { value } = await kv.get<{ total: number; locks: number }>(["limit", "failures", user]);
  return value === null ? null : { total: value.total, locks: value.locks };
}

/** The replies to a new login at each gateway, and to the right code of logins that began before the lock. */
async function afterLock(
  before: readonly Login[],
  begin: (node: number) => Promise<Login>,
): Promise<number[]> {
  const replies = await Promise.all([
    ...before.map((login, node) => login.answer(node, right())),
    ...[0, 1].map(async (node) => (await begin(node)).challenge),
  ]);
  return replies.map(({ code }) => code);
}

const LOCKS: readonly { user: string; fail(logins: readonly Login[]): Promise<unknown> }[] = [
  {
    user: "taking turns",
    async fail(logins) {
      for (const [at, login] of logins.slice(0, FAILURES).entries()) await login.answer(at % 2, wrong());
    },
  },
  {
    user: "at the same moment",
    fail: (logins) => Promise.all(logins.map((login, at) => login.answer(at % 2, wrong()))),
  },
];

for (const { user, fail } of LOCKS) {
  testNeeding(NEEDS, `${FAILURES} wrong codes on both gateways, ${user}, lock the user on both`, async () => {
    const shared = await theWorld();
    using clients = openClients(shared);
    const begin = createLimitedLogins(clients, user);
    const before = [await begin(0), await begin(1)];
    // More than the limit. Each began on the gateway that does not receive its answer.
    const logins = await Promise.all(Array.from({ length: 3 * FAILURES }, (_, at) => begin(1 - at % 2)));
    assertEquals(new Set(logins.map(({ challenge }) => challenge.code)), new Set([CODES.accessChallenge]));
    await fail(logins);
    assertEquals(await storedFailures(shared, user), { total: FAILURES, locks: 1 });
    const { accessReject } = CODES;
    assertEquals(await afterLock(before, begin), [accessReject, accessReject, accessReject, accessReject]);
    assertEquals(await storedFailures(shared, user), { total: FAILURES, locks: 1 });
  });
}

/** What the services received for a user, after more logins than the limit allows. */
const SERVICE_LIMITS: readonly { user: string; count(world: ClusterWithServices): number }[] = [
  {
    user: "pushed",
    count: ({ secondFactor }) =>
      secondFactor.initiated().filter(({ pairingId }) => pairingId === "phone-of-pushed").length,
  },
  { user: "texted", count: (shared) => sentTo(shared, "+15005551001") },
  { user: "called", count: (shared) => sentTo(shared, "+15005551002") },
];

const sentTo = ({ telephony }: ClusterWithServices, number: string) =>
  telephony.taken().filter(({ form }) => form.get("To") === number).length;

for (const { user, count } of SERVICE_LIMITS) {
  testNeeding(
    NEEDS,
    `logins on both gateways at the same moment exceed no limit: the user who is ${user} ${PER_USER} times`,
    async () => {
      const shared = await theWorld();
      using clients = openClients(shared);
      const begin = createLimitedLogins(clients, user);
      await Promise.all(Array.from({ length: 4 * PER_USER }, (_, at) => begin(at % 2)));
      assertEquals(count(shared), PER_USER);
      await Promise.all([begin(0), begin(1)]);
      assertEquals(count(shared), PER_USER);
    },
  );
}

const ONE_TIME_CODES: readonly { title: string; of(shared: ClusterWithServices, user: string): string }[] = [
  { title: "passcode of an authenticator app", of: right },
  { title: "recovery code", of: ({ recoveryCodes }, user) => recoveryCodes.get(user)?.[0] ?? "none" },
];

for (const { title, of } of ONE_TIME_CODES) {
  testNeeding(
    NEEDS,
    `the same ${title} on both gateways at the same moment gets one Access-Accept`,
    async () => {
      const shared = await theWorld();
      using clients = openClients(shared);
      const accepts = await Promise.all(RACERS.map(async (user) => {
        const begin = createLimitedLogins(clients, user);
        const logins = await Promise.all([begin(0), begin(1)]);
        const code = of(shared, user);
        const replies = await Promise.all(logins.map((login, node) => login.answer(node, code)));
        return sum(replies.map((reply) => Number(reply.code === CODES.accessAccept)));
      }));
      assertEquals(accepts, RACERS.map(() => 1));
    },
  );
}
