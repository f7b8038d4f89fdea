// SCIM on two gateways: a client that sends each request to the other gateway than the one before sees every write, versions and names are checked
// over both gateways.

import { assert, assertEquals } from "@std/assert";
import { type Answer, type Call, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";
import { type Cluster, startCluster } from "../support/cluster.ts";
import { testNeeding } from "../support/skip_unless.ts";

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
