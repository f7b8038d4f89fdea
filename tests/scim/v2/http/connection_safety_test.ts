// What a connection must not get around: the deletion limit, a decision of an administrator, a pause, a revocation and the rate limit.

import { assert, assertEquals } from "@std/assert";
import { PATCH_SCHEMA, startV2World, USER_SCHEMA, type V2World } from "./v2_world.ts";

const BULK_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const ADMIN = { name: "console:ada", source: "" };
const user = (userName: string, more: object = {}) => ({ schemas: [USER_SCHEMA], userName, ...more });

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
