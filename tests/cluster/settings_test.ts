// SCIM, settings and log export with several nodes.

import { assert, assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { type Answer, type Call, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { type Cluster, type ClusterNode, startCluster } from "../support/cluster.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { DENOKV_TOKEN, DENOKV_TOKEN_VARIABLE } from "../support/denokv.ts";
import { runProgram } from "../support/child.ts";
import { PROGRAM_FLAGS } from "../support/program.ts";
import { eventually } from "../upstream/manual_clock.ts";

// SCIM on two gateways: a client that sends each request to the other gateway than the one before sees every write, versions and names are checked
// over both gateways.

const NEEDS = { peers: [], denokv: true } as const;
const ROUNDS = 6;
const CLIENTS = 4;

let cluster: Cluster | null = null;

/** All tests of this file share one cluster; each has its own names. */
async function callers(): Promise<readonly [Caller, Caller]> {
  cluster ??= await startCluster({
    // Locations are the same on both gateways.
    toml: `${credentialsToml(["default"])}
[http]
public_url = "http://127.0.0.1:8080"
[targets.default]
page_size = 1000`,
  });
  const at = (node: number) =>
    createCaller(cluster?.node(node) ?? { httpUrl: "" }, { account: WRITER, target: "default" });
  return [at(0), at(1)];
}

Deno.test.afterAll(() => cluster?.dispose());

/** Repeats a request while another node has the lease of the target. Nothing was changed then. */
async function patiently(send: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; tries < 50; tries++) {
    const answer = await send();
    if (answer.status !== 503) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("The target stays busy");
}

/** Sends each request to the other gateway than the one before. */
function alternating(nodes: readonly [Caller, Caller]) {
  let turn = 0;
  return async (status: number, method: string, path: string, more: Call = {}): Promise<Answer> => {
    const answer = await patiently(() => (nodes[turn++ % 2] as Caller).call(path, { method, ...more }));
    assertEquals(answer.status, status, `${method} ${path} at node ${(turn - 1) % 2}: ${answer.text}`);
    return answer;
  };
}

const tagOf = ({ headers }: Answer): string => headers.get("etag") ?? "none";
const idsOf = ({ json }: Answer): string[] => (json.Resources as { id: string }[]).map(({ id }) => id).sort();
const displays = (value: unknown): string[] =>
  ((value ?? []) as { display: string }[]).map(({ display }) => display).sort();
const body = (userName: string, title: string) => ({ userName, title, name: { familyName: title } });
const group = (displayName: string, ...members: readonly string[]) => ({
  displayName,
  members: members.map((display) => ({ display })),
});

/** The life of a user and of a group. Each read must see the write before it. */
async function live(send: ReturnType<typeof alternating>, id: string): Promise<void> {
  const [user, other, team] = [`${id}-user`, `${id}-other`, `${id}-team`];
  const [first, second] = [`first${id.replace("-", "x")}`, `second${id.replace("-", "x")}`];
  await send(404, "GET", `/Users/${user}`);
  const created = await send(201, "POST", "/Users", { body: body(user, first) });
  const read = await send(200, "GET", `/Users/${user}`);
  assertEquals([read.json, tagOf(read)], [created.json, tagOf(created)]);
  assertEquals(idsOf(await send(200, "GET", `/Users?q=${first}`)), [user]);
  await send(409, "POST", "/Users", { body: body(user.toUpperCase(), first) });

  const changed = await send(200, "PUT", `/Users/${user}`, {
    body: body(user, second),
    headers: { "if-match": tagOf(read) },
  });
  assertEquals((await send(200, "GET", `/Users/${user}`)).json, changed.json);
  await send(412, "PUT", `/Users/${user}`, { body: body(user, "x"), headers: { "if-match": tagOf(read) } });
  await send(412, "DELETE", `/Users/${user}`, { headers: { "if-match": tagOf(read) } });
  await send(200, "GET", `/Users/${user}`, { headers: { "if-none-match": tagOf(read) } });
  await send(304, "GET", `/Users/${user}`, { headers: { "if-none-match": tagOf(changed) } });
  assertEquals(idsOf(await send(200, "GET", `/Users?q=${first}`)), []);
  const filter = encodeURIComponent(`title eq "${second}"`);
  assertEquals(idsOf(await send(200, "GET", `/Users?q=${filter}`)), [user]);
  await send(501, "PATCH", `/Users/${user}`, { body: { Operations: [] } });

  await send(201, "POST", "/Users", { body: body(other, "other") });
  await send(201, "POST", "/Groups", { body: group(team, user) });
  assertEquals(displays((await send(200, "GET", `/Users/${user}`)).json.groups), [team]);
  await send(200, "PUT", `/Groups/${team}`, { body: group(team, other) });
  assertEquals(displays((await send(200, "GET", `/Users/${user}`)).json.groups), []);
  assertEquals(displays((await send(200, "GET", `/Groups/${team}`)).json.members), [other]);
  assertEquals(idsOf(await send(200, "GET", `/Users?q=${team}`)), [other]);

  await send(204, "DELETE", `/Users/${other}`);
  assertEquals(displays((await send(200, "GET", `/Groups/${team}`)).json.members), []);
  const last = tagOf(await send(200, "GET", `/Users/${user}`));
  await send(204, "DELETE", `/Users/${user}`, { headers: { "if-match": last } });
  await send(204, "DELETE", `/Groups/${team}`);
  await send(404, "GET", `/Users/${user}`);
  await send(404, "GET", `/Groups/${team}`);
  assertEquals(idsOf(await send(200, "GET", "/Users")).filter((one) => one.startsWith(id)), []);
  await send(404, "PUT", `/Users/${user}`, { body: body(user, "x") });
}

testNeeding(
  NEEDS,
  "a client that alternates between the gateways sees every write at its next request",
  async () => {
    const nodes = await callers();
    await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
      const send = alternating(nodes);
      for (let round = 0; round < ROUNDS; round++) await live(send, `c${client}-${round}`);
    }));
  },
);

/** Requests of both gateways at the same moment, of which one must win. */
const RACES: readonly {
  title: string;
  statuses: readonly number[];
  prepare(scim: Caller, name: string): Promise<string>;
  send(scim: Caller, options: { name: string; tag: string; node: number }): Promise<Answer>;
}[] = [
  {
    title: "creates of one userName",
    statuses: [201, 409],
    prepare: () => Promise.resolve(""),
    send: (scim, { name, node }) =>
      scim.post("/Users", body(node === 0 ? name : name.toUpperCase(), `of${node}`)),
  },
  {
    title: "changes of one version",
    statuses: [200, 412],
    prepare: async (scim, name) => tagOf(await patiently(() => scim.post("/Users", body(name, "before")))),
    send: (scim, { name, tag, node }) =>
      scim.call(`/Users/${name}`, {
        method: "PUT",
        body: body(name, `of${node}`),
        headers: { "if-match": tag },
      }),
  },
  {
    title: "deletes of one version",
    statuses: [204, 404],
    prepare: async (scim, name) => tagOf(await patiently(() => scim.post("/Users", body(name, "before")))),
    send: (scim, { name, tag }) =>
      scim.call(`/Users/${name}`, { method: "DELETE", headers: { "if-match": tag } }),
  },
];

for (const [at, { title, statuses, prepare, send }] of RACES.entries()) {
  testNeeding(NEEDS, `of two ${title} at both gateways at the same moment, one succeeds`, async () => {
    const nodes = await callers();
    const names = Array.from({ length: 12 }, (_, index) => `race${at}x${index}`);
    await Promise.all(names.map(async (name, index) => {
      const tag = await prepare(nodes[index % 2] as Caller, name);
      const answers = await Promise.all(
        nodes.map((scim, node) => patiently(() => send(scim, { name, tag, node }))),
      );
      assertEquals(answers.map(({ status }) => status).sort(), [...statuses], name);
      const winner = answers.findIndex(({ status }) => status === Math.min(...statuses));
      const [left, right] = await Promise.all(nodes.map((scim) => scim.get(`/Users/${name}`)));
      assertEquals([left?.status, left?.json], [right?.status, right?.json]);
      if (statuses[0] === 204) assertEquals(left?.status, 404);
      else assertEquals(left?.json.title, `of${winner}`);
    }));
    const counts = await Promise.all(nodes.map(async (scim) => {
      const { json } = await scim.get("/Users");
      assert(json.totalResults === (json.Resources as unknown[]).length);
      return json.totalResults;
    }));
    assertEquals(counts[0], counts[1]);
  });
}

// A setting that an administrator saves at one gateway is in effect for the next packet of both, and after a restart.

const ONCE = { timeoutMs: 10_000, tries: 1 } as const;

async function save(
  cluster: Cluster,
  node: number,
  changes: Readonly<Record<string, unknown>>,
): Promise<number> {
  const path = `${cluster.node(node).dataDir}/control.sock`;
  const client = Deno.createHttpClient({
    proxy: { transport: "unix", path } as const,
    poolMaxIdlePerHost: 0,
  });
  try {
    const url = "http://localhost/console/api/settings";
    const through: RequestInit & { client: Deno.HttpClient } = { client };
    const { version } = await (await fetch(url, through)).json();
    const answer = await fetch(url, {
      ...{ ...through, method: "PUT", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ version, changes }),
    });
    await answer.body?.cancel();
    return answer.status;
  } finally {
    client.close();
  }
}

let places = 0;

/** The lines of the menu that a gateway shows. */
async function menuOf(cluster: Cluster, node: number): Promise<number> {
  const client = cluster.node(node).client();
  try {
    const callingStationId = `place ${++places}`;
    const { message } = await client.ask({ userName: "ada", password: "", callingStationId }, ONCE);
    return message.split("\n").filter((line) => / - /.test(line)).length;
  } finally {
    client.close();
  }
}

testNeeding(
  { peers: [], denokv: true },
  "a saved setting is in effect on both gateways at once, and on a third that starts later",
  async () => {
    await using cluster = await startCluster({ nodes: 2 });
    const menus = () => Promise.all(cluster.nodes.map((_, node) => menuOf(cluster, node)));
    assertEquals(await menus(), [4, 4]);
    for (const [node, enabled, lines] of [[0, ["sms"], 1], [1, ["sms", "voice"], 2]] as const) {
      assertEquals(await save(cluster, node, { "factors.enabled": enabled }), 200);
      assertEquals(await menus(), [lines, lines]);
    }
    await cluster.join();
    assertEquals(await menus(), [2, 2, 2]);
  },
);

// The log export of two gateways on one store: every record of both arrives, also if the sending gateway is killed or stopped.

interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** The users of the received records of new users, with repetitions. */
  readonly users: string[];
  readonly ids: Set<string>;
  /** From now on, it answers 503. */
  isDown: boolean;
  /** The secret of the signatures; without one, they are not verified. */
  secret: string;
  unsigned: number;
}

/** A receiver of webhooks that verifies each signature. */
function startReceiver(): Receiver {
  const receiver = { users: [] as string[], ids: new Set<string>(), isDown: false, secret: "", unsigned: 0 };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
    async (request) => {
      const body = await request.text();
      if (receiver.isDown) return new Response(null, { status: 503 });
      const { headers } = request;
      const [id, timestamp] = [headers.get("webhook-id"), headers.get("webhook-timestamp")];
      const key = Uint8Array.fromBase64(receiver.secret.slice("whsec_".length));
      const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
      if (receiver.secret !== "" && headers.get("webhook-signature") !== `v1,${expected}`) {
        receiver
          .unsigned++;
      }
      for (const { event, user } of JSON.parse(body).records) {
        receiver.ids.add(event.id);
        if (event.action === "user.created") receiver.users.push(user.target.name);
      }
      return new Response();
    },
  );
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${server.addr.port}/in`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}

/** Creates users. A node that was stopped may have lost the target, or the answer of the store. Then the client tries once more. */
async function createUsers(
  node: ClusterNode,
  prefix: string,
  count: number,
  { wasStopped = () => false }: { wasStopped?: () => boolean } = {},
): Promise<void> {
  const scim = createCaller(node, { account: WRITER, target: "default" });
  for (let number = 0; number < count; number++) {
    const name = { givenName: "Test", familyName: `${prefix}${number}` };
    const create = () => scim.post("/Users", { userName: `${prefix}${number}`, name });
    const first = await create();
    if (first.status === 503 && wasStopped()) assert([201, 409].includes((await create()).status));
    else assertEquals(first.status, 201);
  }
}

async function add(cluster: Cluster, receiver: Receiver): Promise<void> {
  const { code, stdout, stderr } = await runProgram(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", ...PROGRAM_FLAGS, "cli/admin.ts", "log-export", "add", "siem"],
      ...["--kind", "webhook", "--url", receiver.url, "--allows-http"],
    ],
    env: {
      NO_COLOR: "1",
      COUNTERSIGN_CONFIG: cluster.node(0).configPath,
      COUNTERSIGN_MASTER_KEY: cluster.masterKeyHex,
      [DENOKV_TOKEN_VARIABLE]: DENOKV_TOKEN,
    },
  });
  assertEquals([code, stderr], [0, ""]);
  receiver.secret = /whsec_\S+/.exec(stdout)?.[0] ?? "";
}

testNeeding(
  { peers: [], denokv: true },
  "every record of two gateways arrives, with skewed clocks, a dead sender and a receiver that was down",
  async () => {
    await using receiver = startReceiver();
    await using cluster = await startCluster({
      toml: credentialsToml(["default"]),
      clockOffsetsMs: [0, -4000],
    });
    await add(cluster, receiver);
    const [a, b] = [cluster.node(0), cluster.node(1)];
    await Promise.all([createUsers(a, "a", 30), createUsers(b, "b", 30)]);
    const has = (count: number) => () => new Set(receiver.users).size >= count;
    await eventually("the users of both are there", has(60), { withinMs: 20_000 });
    // On a busy host, a node can miss its beats. Its records are then read again.
    const wasSilent = cluster.logLines().some((line) => line.includes("a node stopped answering"));
    if (!wasSilent) assertEquals(receiver.users.length, 60, "nothing is repeated");
    assertEquals(receiver.unsigned, 0);
    receiver.isDown = true;
    await Promise.all([createUsers(a, "c", 10), createUsers(b, "d", 10)]);
    await a.kill9();
    await createUsers(b, "e", 10);
    receiver.isDown = false;
    await eventually("the other gateway sends the rest", has(90), { withinMs: 60_000 });
    await a.restart();
    await createUsers(a, "f", 10);
    await eventually("the users of the restarted gateway are there", has(100), { withinMs: 60_000 });
    assertEquals(receiver.unsigned, 0);
  },
);

testNeeding(
  { peers: [], denokv: true },
  "a gateway that was stopped for a while sends no record too few",
  async () => {
    await using receiver = startReceiver();
    await using cluster = await startCluster({ toml: credentialsToml(["default"]) });
    await add(cluster, receiver);
    const [a, b] = [cluster.node(0), cluster.node(1)];
    await createUsers(a, "a", 5);
    const has = (count: number) => () => new Set(receiver.users).size >= count;
    await eventually("the first are there", has(5), { withinMs: 20_000 });
    // It is stopped in the middle of its writes.
    let wasStopped = false;
    const writing = createUsers(a, "b", 40, { wasStopped: () => wasStopped });
    await eventually("some are there", has(8), { withinMs: 20_000 });
    a.freeze();
    wasStopped = true;
    await createUsers(b, "c", 10);
    await b.logged("a node stopped answering");
    a.thaw();
    await writing;
    await eventually("all are there", has(55), { withinMs: 60_000 });
    assert(receiver.ids.size >= 55);
  },
);
