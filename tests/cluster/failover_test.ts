// One node takes over from another: leases, fencing, deadlines, and the store that stays.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { type ClusterNode, startCluster } from "../support/cluster.ts";
import { testNeeding } from "../support/skip_unless.ts";
import {
  type ClusterWithServices,
  fromClient,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { BackendTraps, startScimWire } from "../fakes/backend_traps.ts";
import { type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { startScimmy } from "../support/scimmy_server.ts";
import { attributesOf } from "../fakes/cluster_checks.ts";
import { totpCode } from "../support/totp.ts";

// startCluster(): real gateways on one real store.

const NEEDS = { peers: [], denokv: true } as const;
const TOML = `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "secret-of-the-client"
`;
const LOGIN = { userName: "alice", password: "first", nasPort: 1, callingStationId: "198.51.100.1" };
const CHALLENGE = 11;

testNeeding(
  NEEDS,
  "startCluster() starts gateways with one store and with directories and ports of their own",
  async () => {
    await using cluster = await startCluster({ toml: TOML });
    const [a, b] = [cluster.node(0), cluster.node(1)];
    assert(a.radiusPort !== b.radiusPort && a.httpUrl !== b.httpUrl && a.dataDir !== b.dataDir);
    for (const node of cluster.nodes) {
      assertEquals((await fetch(`${node.httpUrl}/readyz`)).status, 200);
      using client = node.client();
      assertEquals((await client.ask(LOGIN)).code, CHALLENGE);
      const files = await Array.fromAsync(Deno.readDir(node.dataDir), ({ name }) => name);
      assertEquals(files.filter((name) => name.startsWith("countersign.kv")), []);
    }
  },
);

testNeeding(
  NEEDS,
  "a gateway of a cluster answers again after kill9() and restart(), and after freeze() and thaw()",
  async () => {
    await using cluster = await startCluster({ nodes: 1, toml: TOML });
    const node = cluster.node(0);
    using client = node.client();
    await node.kill9();
    await node.restart();
    assertEquals((await client.ask(LOGIN)).code, CHALLENGE);
    node.freeze();
    await assertRejects(() => client.ask({ ...LOGIN, nasPort: 2 }, { timeoutMs: 200, tries: 1 }));
    node.thaw();
    assertEquals((await client.ask({ ...LOGIN, nasPort: 3 })).code, CHALLENGE);
  },
);

testNeeding(NEEDS, "join() starts a gateway whose clock is wrong", async () => {
  await using cluster = await startCluster({ nodes: 1, toml: TOML });
  const late = await cluster.join({ clockOffsetMs: -30_000 });
  using client = late.client();
  assertEquals((await client.ask(LOGIN)).code, CHALLENGE);
  const line = await late.logged("Access-Request");
  const behindMs = Date.now() - Date.parse(line.split(" ")[0] ?? "");
  assert(behindMs >= 30_000, line);
});

// A client that fails over to the other gateway in the middle of a login: one push, one Access-Accept, whatever happened to the first gateway.

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

// A gateway that was stopped while it held the lease of a target, and continues when another one has written: it still believes that it is the
// writer, and none of its writes takes effect.

const body = (userName: string, title: string) => ({ userName, title });
const TARGETS = ["alone", "remote"] as const;

async function eventuallyWritten(scim: Caller, userName: string, title: string): Promise<void> {
  await eventually("the other gateway writes", async () => {
    const { status, text } = await scim.put(`/Users/${userName}`, body(userName, title));
    assert(status === 200 || status === 503, text);
    return status === 200;
  });
}

testNeeding(
  { peers: [], denokv: true },
  "of two gateways that both believe that they are the writer, the one that was stopped writes nothing",
  async () => {
    const scimmy = await startScimmy();
    await using _closed = { [Symbol.asyncDispose]: () => scimmy.close() };
    await using wire = startScimWire(scimmy);
    await using cluster = await startCluster({
      toml: `${credentialsToml(TARGETS)}
[http]
public_url = "http://127.0.0.1:8080"
[targets.alone]
[targets.remote.backends.local]
kind = "store"
[targets.remote.backends.saas]
kind = "scim"
url = "${wire.url}"
token = "${scimmy.token}"
timeout_ms = 30000
`,
    });
    const at = (node: number, target: typeof TARGETS[number]) =>
      createCaller(cluster.node(node), { account: WRITER, target });
    const tags: string[] = [];
    for (const target of TARGETS) {
      const { status, headers, text } = await at(0, target).post("/Users", body("ada", "old"));
      assertEquals(status, 201, text);
      tags.push(headers.get("etag") ?? "none");
    }

    // The backend has performed the write of the first gateway, and its answer waits.
    const traps = new BackendTraps("after", ["ada"]);
    wire.trap(traps);
    const called = at(0, "remote").put("/Users/ada", body("ada", "of a"));
    await eventually("the backend has the write", () => traps.held.size === 1);
    cluster.node(0).freeze();
    // It receives this when it continues.
    const based = at(0, "alone").call("/Users/ada", {
      method: "PUT",
      body: body("ada", "of a"),
      headers: { "if-match": tags[0] ?? "" },
    });
    await Promise.all(TARGETS.map((target) => eventuallyWritten(at(1, target), "ada", "of b")));
    traps.release();
    cluster.node(0).thaw();

    assertEquals((await called).status, 503);
    const { status } = await based;
    assert(status === 412 || status === 503, `status ${status}`);
    for (const target of TARGETS) {
      const [left, right] = await Promise.all([0, 1].map((node) => at(node, target).get("/Users/ada")));
      assertEquals([left?.json.title, right?.json.title], ["of b", "of b"], target);
    }
    assertEquals([...scimmy.users.values()].map(({ title }) => title), ["of b"]);

    // It is a writer like any other again.
    for (const target of TARGETS) {
      await eventuallyWritten(at(0, target), "ada", "again");
      assertEquals((await at(1, target).get("/Users/ada")).json.title, "again");
    }
    assertEquals([...scimmy.users.values()].map(({ title }) => title), ["again"]);
  },
);

// Deadlines over two gateways whose clocks differ by 30 s: a login and a passcode live as long as the settings say, on the other gateway, too, and a
// code of an authenticator app is accepted once.

const SEED = new TextEncoder().encode("12345678901234567890");
const AHEAD_MS = 30_000;
const { accessChallenge, accessAccept, accessReject } = CODES;
const LIFETIME_MS = 30_000;
const TTL_MS = 36_000;
const DEADLINE_TOML = `
[radius]
conversation_ttl_s = ${TTL_MS / 1000}
[factors.passcode]
lifetime_s = ${LIFETIME_MS / 1000}
`;

/** A code that both clocks accept, also if a time step ends meanwhile: that of the middle between them. */
const middleCode = () => totpCode(SEED, Date.now() + AHEAD_MS / 2);

interface Row {
  readonly title: string;
  readonly factor: "totp" | "sms";
  /** When the client answers, from the challenge on. */
  readonly afterMs: number;
  readonly isAccepted: boolean;
}

const ROWS: readonly Row[] = [
  { title: "a passcode within its lifetime", factor: "sms", afterMs: LIFETIME_MS - 8000, isAccepted: true },
  { title: "a passcode after its lifetime", factor: "sms", afterMs: LIFETIME_MS + 1500, isAccepted: false },
  { title: "an answer within the life of the login", factor: "totp", afterMs: LIFETIME_MS, isAccepted: true },
  {
    title: "an answer after the life of the login",
    factor: "totp",
    afterMs: TTL_MS + 1500,
    isAccepted: false,
  },
];
const DEADLINE_CASES = ROWS.flatMap((row) => [0, 1].map((first) => ({ ...row, first })))
  .map((row, at) => ({ ...row, user: `user${at}`, number: `+1500555${4000 + at}` }));

async function play(
  world: ClusterWithServices,
  { user, number, factor, first, afterMs }: typeof DEADLINE_CASES[number],
) {
  using clients = openClients(world);
  const challenge = await clients.at(first).ask({ ...attributesOf(user), password: "first" });
  assertEquals(challenge.code, accessChallenge);
  const typed = factor === "sms" ? world.telephony.lastPasscode(number) : null;
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  const password = typed ?? middleCode();
  return await clients.at(1 - first).ask({
    ...attributesOf(user),
    password,
    state: challenge.state ?? new Uint8Array(),
  });
}

/** Two logins of one user, begun before the first answer, with the same code at both gateways. */
async function useTwice(world: ClusterWithServices, user: string, first: number): Promise<number[]> {
  using clients = openClients(world);
  const begin = async (node: number) => {
    const attributes = { ...attributesOf(user), callingStationId: `station ${node} of ${user}` };
    const { state } = await clients.at(node).ask({ ...attributes, password: "first" });
    return (password: string) =>
      clients.at(node).ask({ ...attributes, password, state: state ?? new Uint8Array() });
  };
  const [one, other] = [await begin(first), await begin(1 - first)];
  const code = middleCode();
  const replies: Reply[] = [await one(code), await other(code)];
  return replies.map((reply) => reply.code);
}

testNeeding(
  { peers: [], denokv: true },
  "deadlines are those of the settings, and codes are accepted once, although the clocks differ by 30 s",
  async () => {
    await using world = await startClusterWithServices({
      clockOffsetsMs: [0, AHEAD_MS],
      toml: DEADLINE_TOML,
      pairings: [
        ...DEADLINE_CASES.map(({ user, factor, number }) =>
          [user, factor === "sms" ? { kind: factor, number } : { kind: factor, seed: SEED }] as const
        ),
        ...["twice0", "twice1"].map((user) => [user, { kind: "totp", seed: SEED }] as const),
      ],
    });
    const [replies, ...twice] = await Promise.all([
      Promise.all(DEADLINE_CASES.map((row) => play(world, row))),
      useTwice(world, "twice0", 0),
      useTwice(world, "twice1", 1),
    ]);
    assertEquals(twice, [[accessAccept, accessReject], [accessAccept, accessReject]]);
    for (const [at, { title, first, isAccepted }] of DEADLINE_CASES.entries()) {
      assertEquals(replies[at]?.code === accessAccept, isAccepted, `${title}, from node ${first}`);
    }
  },
);
