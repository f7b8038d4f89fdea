// The rules of connections, and what they protect.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { PATCH_SCHEMA, startV2World, USER_SCHEMA, type V2World } from "./v2_world.ts";

// The rules of a connection over HTTP: adoption, dry run, soft deletion, reactivation, limits, pause and the request log.

const user = (userName: string, more: object = {}) => ({ schemas: [USER_SCHEMA], userName, ...more });
const ADMIN = { name: "console:ada", source: "" };

/** A user that an administrator created. */
async function addLocal(world: V2World, name: string): Promise<string> {
  const target = world.gateway.identity.targets.get("default");
  const content = {
    kind: "user" as const,
    name,
    active: true,
    attributes: { name: { familyName: "", givenName: "" } },
  };
  const written = await target?.create(content, { actor: ADMIN });
  return written?.stored?.id ?? "";
}

const activeOf = async (world: V2World, id: string) => (await world.call("GET", `/Users/${id}`)).json.active;

Deno.test("a user of another origin is read, and changed only after an administrator confirmed the match", async () => {
  await using world = await startV2World();
  const id = await addLocal(world, "anna");
  const { administration } = world.gateway.identity.connections;
  const found = await world.call("GET", "/Users?filter=userName%20eq%20%22anna%22");
  assertEquals(found.json.totalResults, 1);
  const put = { body: user("anna", { externalId: "okta-1", title: "theirs" }) };
  for (const [method, call] of [["PUT", put], ["DELETE", {}]] as const) {
    const { status, json } = await world.call(method, `/Users/${id}`, call);
    assertEquals([status, json.scimType], [409, undefined]);
    assertMatch(String(json.detail), /console/);
  }
  assertEquals((await world.call("POST", "/Users", put)).json.scimType, "uniqueness");
  const waiting = await administration.proposals("provider", { state: "waiting", cursor: null, size: 10 });
  assertEquals(waiting.proposals.map(({ name, externalId }) => [name, externalId]), [["anna", "okta-1"]]);
  await administration.decide("provider", { ids: "all", state: "accepted" }, ADMIN);
  const adopted = await world.call("PUT", `/Users/${id}`, put);
  assertEquals([adopted.status, adopted.json.title, adopted.json.externalId], [200, "theirs", "okta-1"]);
  assertEquals((await world.call("DELETE", `/Users/${id}`)).status, 204);
});

Deno.test("a creation that meets a user of another origin is 409 uniqueness, and the administrator sees the match", async () => {
  await using world = await startV2World();
  await addLocal(world, "anna");
  const created = await world.call("POST", "/Users", { body: user("ANNA", { externalId: "okta-1" }) });
  assertEquals([created.status, created.json.scimType], [409, "uniqueness"]);
  const { administration } = world.gateway.identity.connections;
  const { proposals } = await administration.proposals("provider", {
    ...{ state: "waiting", cursor: null, size: 10 },
  });
  assertEquals(proposals.map(({ name, externalId }) => [name, externalId]), [["anna", "okta-1"]]);
});

Deno.test("with automatic adoption the first write adopts; the resources of another connection need it, too", async () => {
  await using world = await startV2World({ adoption: "automatic" });
  const id = await addLocal(world, "anna");
  assertEquals((await world.call("PUT", `/Users/${id}`, { body: user("anna", { title: "a" }) })).status, 200);
  const token = await world.connect("other");
  const patch = { schemas: [], Operations: [{ op: "replace", path: "title", value: "b" }] };
  const refused = await world.call("PATCH", `/Users/${id}`, {
    ...{ token, body: { ...patch, schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"] } },
  });
  assertEquals(refused.status, 409);
});

Deno.test("a dry run checks and answers each write, and stores nothing", async () => {
  await using world = await startV2World();
  const anna = await world.add("/Users", user("anna"));
  const team = await world.add("/Groups", { displayName: "team" });
  const before = await world.gateway.dump();
  await world.change({ dryRun: true });
  const afterChange = await world.gateway.dump();
  const results = [
    await world.call("POST", "/Users", { body: user("ben") }),
    await world.call("PUT", `/Users/${anna}`, { body: user("anna", { title: "x" }) }),
    await world.patch(`/Users/${anna}`, [{ op: "replace", path: "active", value: false }]),
    await world.patch(`/Groups/${team}`, [{ op: "add", path: "members", value: [{ value: anna }] }]),
    await world.call("DELETE", `/Users/${anna}`),
    await world.call("POST", "/Users", { body: user("anna") }),
  ];
  assertEquals(results.map(({ status }) => status), [201, 200, 200, 204, 204, 409]);
  assertEquals(
    (await world.gateway.dump()).replace(/\[ "scim_(request|secret)[^]*?\n\]/g, ""),
    afterChange.replace(/\[ "scim_(request|secret)[^]*?\n\]/g, ""),
  );
  assertEquals(before === afterChange, false);
});

Deno.test("soft deletion deactivates, and a POST of the same user activates again", async () => {
  await using world = await startV2World({ softDelete: true });
  const id = await world.add("/Users", user("anna", { externalId: "x" }));
  assertEquals((await world.call("DELETE", `/Users/${id}`)).status, 204);
  assertEquals(await activeOf(world, id), false);
  const again = await world.call("POST", "/Users", { body: user("anna", { externalId: "x", title: "new" }) });
  assertEquals([again.status, again.json.id, again.json.active, again.json.title], [200, id, true, "new"]);
  await world.call("DELETE", `/Users/${id}`);
  await world.change({ reactivate: false });
  const refused = await world.call("POST", "/Users", { body: user("anna", { externalId: "x" }) });
  assertEquals([refused.status, refused.json.scimType], [409, "uniqueness"]);
});

/** POSTs of an inactive user `anna` with the externalId `x`. */
const REVIVALS: readonly [what: string, body: object, status: number][] = [
  ["the same externalId and userName", user("anna", { externalId: "x" }), 200],
  ["the same userName only", user("anna"), 200],
  ["the same externalId, another userName", user("anne", { externalId: "x" }), 200],
  ["another externalId", user("anna", { externalId: "y" }), 409],
  ["the same e-mail address only", user("zoe", { emails: [{ value: "anna@example.com" }] }), 201],
];
for (const [what, body, status] of REVIVALS) {
  Deno.test(`POST of an inactive user with ${what} is ${status}`, async () => {
    await using world = await startV2World();
    const id = await world.add("/Users", {
      ...user("anna", { externalId: "x", emails: [{ value: "anna@example.com" }] }),
      active: false,
    });
    const { json, ...answer } = await world.call("POST", "/Users", { body });
    assertEquals(answer.status, status);
    if (status === 200) assertEquals([json.id, json.active], [id, true]);
  });
}

Deno.test("the deletion limit stops deletions and deactivations, not other writes", async () => {
  await using world = await startV2World({ deletionPercent: 1 });
  const ids: string[] = [];
  for (let n = 0; n < 12; n++) ids.push(await world.add("/Users", user(`u${n}`)));
  const outcomes: number[] = [];
  for (const [at, id] of ids.entries()) {
    const { status } = at % 2 === 0
      ? await world.call("DELETE", `/Users/${id}`)
      : await world.patch(`/Users/${id}`, [{ op: "replace", path: "active", value: "False" }]);
    outcomes.push(status);
  }
  assertEquals(outcomes.filter((status) => status < 300).length, 10);
  assertEquals(outcomes.slice(10), [409, 409]);
  assertEquals(await activeOf(world, ids[11] ?? ""), true);
  assertEquals(
    (await world.patch(`/Users/${ids[11]}`, [{ op: "add", path: "title", value: "x" }])).status,
    200,
  );
});

Deno.test("a paused connection gets 503, and one over its rate 429, both with Retry-After", async () => {
  await using world = await startV2World({ requestsPerMinute: 2 });
  await world.call("GET", "/Users");
  await world.call("GET", "/Users");
  const over = await world.call("GET", "/Users");
  assertEquals(over.status, 429);
  assertMatch(over.headers.get("retry-after") ?? "", /^\d+$/);
  await world.change({ paused: true });
  const paused = await world.call("GET", "/Users");
  assertEquals(paused.status, 503);
  assertMatch(paused.headers.get("retry-after") ?? "", /^\d+$/);
});

Deno.test("remove of members without a filter can be forbidden", async () => {
  await using world = await startV2World({ removeAllMembers: false });
  const anna = await world.add("/Users", user("anna"));
  const team = await world.add("/Groups", { displayName: "team", members: [{ value: anna }] });
  const refused = await world.patch(`/Groups/${team}`, [{ op: "remove", path: "members" }]);
  assertEquals([refused.status, refused.json.scimType], [400, "mutability"]);
  await world.change({ removeAllMembers: true });
  assertEquals((await world.patch(`/Groups/${team}`, [{ op: "remove", path: "members" }])).status, 204);
});

Deno.test("/Me is the user of the connection", async () => {
  await using world = await startV2World({ meUser: "anna" });
  assertEquals((await world.call("GET", "/Me")).status, 501);
  const id = await world.add("/Users", user("anna"));
  const { status, json } = await world.call("GET", "/Me");
  assertEquals([status, json.id], [200, id]);
});

Deno.test("the request log has the operation, the resource, names of attributes and the outcome, and no values", async () => {
  await using world = await startV2World();
  const id = await world.add("/Users", user("anna", { title: "secret title", password: "correct horse" }));
  await world.patch(`/Users/${id}`, [{
    op: "replace",
    path: 'emails[type eq "work"].value',
    value: "a@b.example",
  }]);
  await world.call("POST", "/Users", { body: user("anna") });
  await world.call("GET", "/Nope");
  const { administration } = world.gateway.identity.connections;
  const { requests } = await administration.requests("provider", {
    ...{ filter: {}, cursor: null, size: 10 },
  });
  assertEquals(
    requests.map(({ operation, status, resource, attributes, scimType }) => [
      ...[operation, status, resource?.name ?? null, attributes.join(" "), scimType],
    ]),
    [
      ["unknown", 404, null, "", null],
      ["users.create", 409, "anna", "userName", "uniqueness"],
      ["users.patch", 200, "anna", "emails", null],
      ["users.create", 201, "anna", "userName title password", null],
    ],
  );
  assertEquals(/secret title|correct horse|a@b/.test(JSON.stringify(requests)), false);
});

const GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group";
const BULK_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const REPLIES = '[radius.reply.group.admins]\n"Filter-Id" = "admins"\n';
const group = (displayName: string, ...ids: readonly string[]) => ({
  schemas: [GROUP_SCHEMA],
  displayName,
  members: ids.map((value) => ({ value })),
});

/** The connection has the user `own` and the group `Admins` with it; `foreign` is of an administrator. */
interface Members {
  readonly world: V2World;
  readonly admins: string;
  readonly own: string;
  readonly foreign: string;
}

/** Writes of members to the group `Admins`, which reply attributes name: `user` is the member that joins or leaves. */
const MEMBER_WRITES: Readonly<Record<string, (members: Members, user: string) => Promise<number>>> = {
  PUT: async ({ world, admins, own }, user) =>
    (await world.call("PUT", `/Groups/${admins}`, { body: group("Admins", own, user) })).status,
  "PATCH add": async ({ world, admins }, user) =>
    (await world.patch(`/Groups/${admins}`, [{ op: "add", path: "members", value: [{ value: user }] }]))
      .status,
  "PATCH replace": async ({ world, admins, own }, user) => {
    const value = [{ value: own }, { value: user }];
    return (await world.patch(`/Groups/${admins}`, [{ op: "replace", path: "members", value }])).status;
  },
  "bulk POST": async ({ world, admins }, user) => {
    await world.call("DELETE", `/Groups/${admins}`);
    const Operations = [{ method: "POST", path: "/Groups", bulkId: "a", data: group("ADMINS", user) }];
    const { json } = await world.call("POST", "/Bulk", { body: { schemas: [BULK_SCHEMA], Operations } });
    const [{ status = "" } = {}] = json.Operations as { status?: string }[];
    return Number(status);
  },
  POST: async ({ world, admins }, user) => {
    await world.call("DELETE", `/Groups/${admins}`);
    return (await world.call("POST", "/Groups", { body: group("admins", user) })).status;
  },
  "PATCH of a group in the group": async ({ world }, user) => {
    const target = world.gateway.identity.targets.get("default");
    const inner = await world.add("/Groups", group(`inner${crypto.randomUUID()}`));
    const stored = await target?.directory.readById("group", inner);
    const change = { add: [stored?.content.name ?? ""], remove: [] };
    await target?.changeMembers("admins", change, { actor: ADMIN });
    return (await world.patch(`/Groups/${inner}`, [{ op: "add", path: "members", value: [{ value: user }] }]))
      .status;
  },
  "a rename onto the name": async ({ world, admins }, user) => {
    await world.call("DELETE", `/Groups/${admins}`);
    const team = await world.add("/Groups", group("team", user));
    return (await world.patch(`/Groups/${team}`, [{ op: "replace", path: "displayName", value: "Admins" }]))
      .status;
  },
};

async function openMembers(): Promise<Members> {
  const world = await startV2World({}, REPLIES);
  const own = await world.add("/Users", user("own"));
  const foreign = await addLocal(world, "foreign");
  return { world, own, foreign, admins: await world.add("/Groups", group("Admins", own)) };
}

for (const [name, write] of Object.entries(MEMBER_WRITES)) {
  Deno.test(`${name}: a connection adds a user of another origin to a group that decides sign-ins only after a confirmation`, async () => {
    const members = await openMembers();
    await using world = members.world;
    assertEquals(await write(members, members.foreign), 409);
    const { administration } = world.gateway.identity.connections;
    const waiting = await administration.proposals("provider", { state: "waiting", cursor: null, size: 10 });
    assertEquals(waiting.proposals.map(({ kind, name }) => [kind, name]), [["user", "foreign"]]);
    await administration.decide("provider", { ids: "all", state: "accepted" }, ADMIN);
    const again = name.startsWith("a rename") ? MEMBER_WRITES.POST : write;
    assertEquals((await again?.(members, members.foreign) ?? 0) < 300, true);
  });
  Deno.test(`${name}: a connection adds its own users to a group that decides sign-ins`, async () => {
    const members = await openMembers();
    await using world = members.world;
    const other = await world.add("/Users", user("other"));
    assertEquals(await write(members, other) < 300, true);
  });
}

Deno.test("a connection removes a member of another origin from a group that decides sign-ins only after a confirmation", async () => {
  const { world, admins, own, foreign } = await openMembers();
  await using _world = world;
  await world.gateway.identity.targets.get("default")?.changeMembers("admins", {
    add: ["foreign"],
    remove: [],
  }, { actor: ADMIN });
  const path = `members[value eq "${foreign}"]`;
  const results = [
    await world.patch(`/Groups/${admins}`, [{ op: "remove", path }]),
    await world.call("PUT", `/Groups/${admins}`, { body: group("Admins", own) }),
    await world.patch(`/Groups/${admins}`, [{ op: "replace", path: "displayName", value: "team" }]),
    await world.call("DELETE", `/Groups/${admins}`),
    // The member stays, so this changes no membership of the user.
    await world.patch(`/Groups/${admins}`, [{ op: "add", path: "members", value: [{ value: foreign }] }]),
    await world.call("PUT", `/Groups/${admins}`, { body: group("ADMINS", own, foreign) }),
  ];
  assertEquals(results.map(({ status }) => status), [409, 409, 409, 409, 204, 200]);
});

Deno.test("a connection changes members of other groups, and with automatic adoption of all groups, without a confirmation", async () => {
  const { world, admins, foreign } = await openMembers();
  await using _world = world;
  const team = await world.add("/Groups", group("team", foreign));
  const add = [{ op: "add", path: "members", value: [{ value: foreign }] }];
  await world.change({ adoption: "automatic" });
  assertEquals((await world.patch(`/Groups/${admins}`, add)).status, 204);
  assertEquals((await world.call("DELETE", `/Groups/${team}`)).status, 204);
});

// What a connection must not get around: the deletion limit, a decision of an administrator, a pause, a revocation and the rate limit.

/** A bulk request that creates users. Returns the statuses of its operations. */
async function createMany(world: V2World, count: number): Promise<readonly string[]> {
  const Operations = Array.from({ length: count }, (_, at) => ({
    ...{ method: "POST", path: "/Users", bulkId: `b${at}` },
    data: user(`bulk${at}`),
  }));
  const { json } = await world.call("POST", "/Bulk", { body: { schemas: [BULK_SCHEMA], Operations } });
  return (json.Operations as readonly { status: string }[]).map(({ status }) => status);
}

/** Waits until a bulk request has created its first users. */
async function untilCreated(world: V2World, name: string): Promise<void> {
  const directory = world.gateway.identity.targets.get("default")?.directory;
  while (await directory?.read("user", name) === null) await new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("the deletion of an inactive user counts for the deletion limit", async () => {
  await using world = await startV2World({ deletionPercent: 1 });
  const paths: string[] = [];
  for (let at = 0; at < 12; at++) {
    paths.push(`/Users/${await world.add("/Users", user(`u${at}`, { active: false }))}`);
  }
  const statuses: number[] = [];
  for (const path of paths) statuses.push((await world.call("DELETE", path)).status);
  assertEquals(statuses, [...Array(10).fill(204), 409, 409]);
});

Deno.test("after an administrator refuses a match, the connection cannot write the resource that it adopted", async () => {
  await using world = await startV2World();
  const { administration } = world.gateway.identity.connections;
  const target = world.gateway.identity.targets.get("default");
  const content = { kind: "user" as const, name: "anna", active: true, attributes: {} };
  const id = (await target?.create(content, { actor: ADMIN }))?.stored?.id ?? "";
  const change = () =>
    world.patch(`/Users/${id}`, [{ op: "replace", path: "title", value: crypto.randomUUID() }]);
  assertEquals((await change()).status, 409);
  await administration.decide("provider", { ids: "all", state: "accepted" }, ADMIN);
  assertEquals((await change()).status, 200);
  await administration.decide("provider", { ids: [`user:${id}`], state: "refused" }, ADMIN);
  assertEquals((await change()).status, 409);
});

/** What an administrator does during a bulk request, and the status of the operations after it. */
const INTERRUPTIONS: Readonly<
  Record<string, readonly [act: (world: V2World) => Promise<unknown>, status: string]>
> = {
  "a pause": [(world) => world.change({ paused: true }), "503"],
  "read access": [(world) => world.change({ access: "read" }), "403"],
  "the revocation of the token": [async ({ gateway: { identity: { connections: { administration } } } }) => {
    const [secret] = administration.secretsOf("provider");
    await administration.revokeSecret("provider", secret?.id ?? "", ADMIN);
  }, "401"],
};
for (const [what, [act, status]] of Object.entries(INTERRUPTIONS)) {
  Deno.test(`${what} stops the rest of a bulk request`, async () => {
    await using world = await startV2World();
    const running = createMany(world, 500);
    await untilCreated(world, "bulk3");
    await act(world);
    const statuses = await running;
    const done = statuses.filter((one) => one === "201").length;
    assert(done < statuses.length, "the bulk request was not stopped");
    assertEquals([...new Set(statuses.slice(done))], [status]);
  });
}

Deno.test("each operation of a bulk request counts for the rate limit, and later requests wait for it", async () => {
  await using world = await startV2World({ requestsPerMinute: 20 });
  assertEquals([...new Set(await createMany(world, 50))], ["201"]);
  const { status, headers } = await world.call("GET", "/Users");
  assertEquals(status, 429);
  // 50 operations at 20 a minute: 30 of them are of later time.
  assert(Number(headers.get("retry-after")) > 60, String(headers.get("retry-after")));
});

Deno.test("the request log says what a dry run would do, with the name and no other value", async () => {
  await using world = await startV2World({ dryRun: true });
  await world.call("POST", "/Users", { body: user("anna", { title: "secret" }) });
  await world.call("PATCH", "/Users", { body: { schemas: [PATCH_SCHEMA], Operations: [] } });
  const { administration } = world.gateway.identity.connections;
  const { requests } = await administration.requests("provider", { filter: {}, cursor: null, size: 10 });
  assertEquals(requests.at(-1)?.detail, 'Would create the user "anna".');
  assertEquals(requests.at(-1)?.resource, { kind: "user", id: null, name: "anna" });
});

Deno.test("a client that ignores Retry-After does not fill the request log", async () => {
  await using world = await startV2World();
  await world.add("/Users", user("anna"));
  await world.change({ paused: true });
  for (let at = 0; at < 100; at++) await world.call("GET", "/Users");
  const { administration } = world.gateway.identity.connections;
  const { requests } = await administration.requests("provider", { filter: {}, cursor: null, size: 100 });
  assertEquals(requests.filter(({ status }) => status === 503).length, 60);
  assertEquals(requests.at(-1)?.operation, "users.create");
});
