// Resources of SCIM 2.0, and writes that race.

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { PATCH_SCHEMA, startV2World, USER_SCHEMA, type V2World } from "./v2_world.ts";
import { ScimRefusal } from "../../../../scim/http/refusals.ts";

// Resources of /scim/v2 over HTTP: the answers of each operation, and preconditions.

const ANNA = {
  userName: "anna@example.com",
  externalId: "x-1",
  name: { givenName: "Anna", familyName: "Berg" },
  emails: [{ value: "anna@example.com", type: "work", primary: true }],
};

Deno.test("a PUT without active, members or password keeps them", async () => {
  await using world = await startV2World();
  const anna = await world.add("/Users", { ...ANNA, password: "correct horse" });
  const ben = await world.add("/Users", { userName: "ben", active: false });
  const team = await world.add("/Groups", { displayName: "team", members: [{ value: anna }] });
  await world.call("PUT", `/Users/${anna}`, { body: { schemas: [USER_SCHEMA], userName: ANNA.userName } });
  assert(await world.gateway.identity.hasPassword(ANNA.userName));
  const put = await world.call("PUT", `/Users/${ben}`, { body: { userName: "ben", schemas: [USER_SCHEMA] } });
  assertEquals([put.status, put.json.active], [200, false]);
  const same = await world.call("PUT", `/Groups/${team}`, { body: { schemas: [], displayName: "Team" } });
  assertEquals([same.json.displayName, membersOf(same.json)], ["Team", [anna]]);
  const empty = await world.call("PUT", `/Groups/${team}`, { body: { displayName: "team", members: [] } });
  assertEquals([empty.status, membersOf(empty.json)], [200, []]);
});

Deno.test("the body of a write of a group may have 16 MiB, and any other body 1 MiB", async () => {
  await using world = await startV2World();
  const anna = await world.add("/Users", { userName: "anna" });
  const team = await world.add("/Groups", { displayName: "team" });
  const put = async (path: string, resource: object, octets: number) => {
    const { status, json } = await world.call("PUT", path, { body: JSON.stringify(resource).padEnd(octets) });
    return [status, json.detail];
  };
  const putUser = (octets: number) => put(`/Users/${anna}`, { userName: "anna" }, octets);
  const putGroup = (octets: number) => put(`/Groups/${team}`, { displayName: "team" }, octets);
  const mib = 1024 * 1024;
  assertEquals([await putUser(mib), await putGroup(16 * mib)], [[200, undefined], [200, undefined]]);
  assertEquals((await putUser(mib + 1))[0], 413);
  assertEquals(await putGroup(16 * mib + 1), [413, "The body is over 16 MiB."]);
  const search = await world.call("POST", "/Groups/.search", { body: "{}".padEnd(mib + 1) });
  assertEquals(search.status, 413);
});

function membersOf({ members = [] }: { members?: unknown }): unknown[] {
  return (members as { value: string }[]).map(({ value }) => value);
}

/** Requests and their refusals. */
const REFUSED: readonly [
  method: string,
  path: string,
  body: unknown,
  status: number,
  scimType: string | undefined,
][] = [
  ["GET", "/Groups/<anna>", undefined, 404, undefined],
  ["GET", "/Groups/a/b", undefined, 404, undefined],
  ["POST", "/Users/<anna>", {}, 405, undefined],
  ["POST", "/Groups", { displayName: "g", members: [{ value: "nope" }] }, 400, "invalidValue"],
  ["PATCH", "/Users/<anna>", {}, 400, "invalidSyntax"],
  ["GET", "/Users?attributes=userName&excludedAttributes=name", undefined, 400, "invalidValue"],
  ["GET", "/Schemas?filter=id%20pr", undefined, 403, undefined],
  ["POST", "/Users/.search", { schemas: ["urn:x"], filter: "userName pr" }, 400, "invalidSyntax"],
  ["GET", "/Me", undefined, 501, undefined],
  ["GET", "!/scim/v2/nowhere/Users", undefined, 404, undefined],
  ["GET", "!/scim/v2", undefined, 404, undefined],
];
Deno.test("refused requests have the status, the scimType and a sentence of RFC 7644 §3.12", async (context) => {
  await using world = await startV2World();
  const anna = await world.add("/Users", ANNA);
  for (const [method, path, body, status, scimType] of REFUSED) {
    await context.step(`${method} ${path} ${JSON.stringify(body)?.slice(0, 60) ?? ""}`, async () => {
      const { json, ...answer } = await world.call(method, path.replace("<anna>", anna), { body });
      assertEquals([answer.status, json.scimType, json.status], [status, scimType, String(status)]);
      assertEquals(json.schemas, ["urn:ietf:params:scim:api:messages:2.0:Error"]);
      assertEquals(answer.headers.get("content-type"), "application/scim+json");
      assertMatch(String(json.detail), /^[A-Za-z"].*\.$/s);
      if (status === 405) assertMatch(answer.headers.get("allow") ?? "", /GET|POST/);
    });
  }
});

Deno.test("Allow has the methods of the path, also for a method that the server does not know", async () => {
  await using world = await startV2World();
  for (const method of ["OPTIONS", "DELETE"]) {
    const { status, headers, json } = await world.call(method, "/Groups");
    assertEquals([method, status, headers.get("allow")], [method, 405, "GET, HEAD, POST"]);
    assertEquals(json.schemas, ["urn:ietf:params:scim:api:messages:2.0:Error"]);
  }
  const { status, headers } = await world.call("OPTIONS", "/ServiceProviderConfig");
  assertEquals([status, headers.get("allow")], [405, "GET, HEAD"]);
});

Deno.test("a request without a valid token is 401 with a challenge; a token for another directory is 403", async () => {
  await using world = await startV2World({}, "[targets.other]\n");
  for (const token of [null, "wrong", "csn_aaaa", "a.b.c", "x".repeat(9000)]) {
    const { status, json, headers } = await world.call("GET", "/Users", { token });
    assertEquals([status, json.status], [401, "401"]);
    assertMatch(headers.get("www-authenticate") ?? "", /^Bearer realm="Countersign"/);
  }
  assertEquals((await world.call("GET", "!/scim/v2/other/Users")).status, 403);
  const reader = await world.connect("reader", { access: "read" });
  assertEquals((await world.call("GET", "/Users", { token: reader })).status, 200);
  assertEquals((await world.call("POST", "/Users", { token: reader, body: ANNA })).status, 403);
});

Deno.test("endpoint names in lower case and a slash at the end are accepted", async () => {
  await using world = await startV2World();
  const id = await world.add("/Users", ANNA);
  for (
    const path of ["/users", "/Users/", "/USERS/?filter=userName%20pr", `/users/${id}/`, "/schemas", "/"]
  ) {
    assertEquals((await world.call("GET", path)).status, 200, path);
  }
});

const TWO_DIRECTORIES = ["default", "other"].map((target) => `
[targets.${target}]
[[scim.credential]]
name = "${target}"
password = "the password of ${target}"
targets = ["${target}"]
access = "read"
`).join("");

Deno.test("answers with users in memory are those of the first request, for each interface, directory and credential", async () => {
  await using world = await startV2World({}, TWO_DIRECTORIES);
  const otherToken = await world.connect("second", { target: "other" });
  const id = await world.add("/Users", { ...ANNA, title: "Berlin" });
  await world.call("POST", "!/scim/v2/other/Users", {
    token: otherToken,
    body: { schemas: [USER_SCHEMA], ...ANNA, title: "Madrid" },
  });
  const team = await world.add("/Groups", { displayName: "team", members: [{ value: id }] });
  const read = async () => {
    const answers: Record<string, unknown> = {};
    for (const target of ["default", "other"]) {
      const token = target === "other" ? otherToken : undefined;
      for (
        const query of ["", "&attributes=title", "&excludedAttributes=groups,meta", "&sortOrder=descending"]
      ) {
        const path = `!/scim/v2/${target}/Users?count=5${query}`;
        answers[path] = (await world.call("GET", path, token === undefined ? {} : { token })).json;
      }
      for (const path of [`!/idm/scim/${target}/Users`, `!/idm/scim/${target}/Users/${ANNA.userName}`]) {
        for (const name of ["default", "other"]) {
          const headers = { authorization: `Basic ${btoa(`${name}:the password of ${name}`)}` };
          const { status, json } = await world.call("GET", path, { token: null, headers });
          answers[`${name} ${path}`] = [status, json];
        }
      }
    }
    return answers;
  };
  const first = await read();
  assertEquals(await read(), first);
  for (const [path, json] of Object.entries(first)) {
    const isOther = path.includes("/other");
    const text = JSON.stringify(json);
    const isForbidden = path.startsWith(isOther ? "default " : "other ");
    assertEquals(text.includes("Berlin"), !isOther && !isForbidden, path);
    assertEquals(text.includes("Madrid"), isOther && !isForbidden, path);
    assertEquals(text.includes("[403,"), isForbidden, path);
  }
  await world.call("DELETE", `/Groups/${team}`);
  const { json } = await world.call("GET", `/Users/${id}`);
  assertEquals([json.title, json.groups], ["Berlin", undefined]);
});

Deno.test("GET of a group without members does not read them, and has no version", async () => {
  await using world = await startV2World();
  const anna = await world.add("/Users", ANNA);
  const team = await world.add("/Groups", { displayName: "team", members: [{ value: anna }] });
  const { json, headers } = await world.call("GET", `/Groups/${team}?excludedAttributes=members`);
  assertEquals([json.displayName, json.members, headers.get("etag")], ["team", undefined, null]);
  assertEquals((json.meta as { version?: string }).version, undefined);
});

// Parallel writes of one resource: no acknowledged change is lost, and of two writes with the same version one wins.

const user = (userName: string, more: object = {}) => ({ schemas: [USER_SCHEMA], userName, ...more });
const ROUNDS = 10;

/** A PATCH of one attribute, only if the resource has the version. */
function patchIf(world: V2World, path: string, etag: string | null, operation: object) {
  return world.call("PATCH", path, {
    headers: { "if-match": etag ?? "" },
    body: { schemas: [PATCH_SCHEMA], Operations: [operation] },
  });
}

Deno.test("a soft deletion keeps what other requests change at the same time", async () => {
  await using world = await startV2World({ softDelete: true, deletionPercent: 100 });
  for (let round = 0; round < ROUNDS; round++) {
    const path = `/Users/${await world.add("/Users", user(`u${round}`))}`;
    await Promise.all([
      world.patch(path, [{ op: "replace", path: "title", value: "a" }]),
      world.call("DELETE", path),
      world.patch(path, [{ op: "replace", path: "nickName", value: "b" }]),
    ]);
    const { json } = await world.call("GET", path);
    assertEquals([json.title, json.active, json.nickName], ["a", false, "b"]);
  }
});

for (
  const [path, name, other] of [["/Users", "userName", "title"], [
    "/Groups",
    "displayName",
    "externalId",
  ]] as const
) {
  Deno.test(`changes of ${path} that arrive during a rename are applied to the renamed resource`, async () => {
    await using world = await startV2World();
    const place = `${path}/${await world.add(path, { [name]: "first" })}`;
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await Promise.all([
        world.patch(place, [{ op: "replace", path: other, value: `a${round}` }]),
        world.patch(place, [{ op: "replace", path: name, value: `name${round}` }]),
        world.patch(place, [{ op: "replace", path: other, value: `a${round}` }]),
      ]);
      assertEquals(answers.filter(({ status }) => status >= 300).map(({ json }) => json), []);
      const { json } = await world.call("GET", place);
      assertEquals([json[name], json[other]], [`name${round}`, `a${round}`]);
    }
  });
}

Deno.test("of a PATCH and a DELETE with the same If-Match, one wins", async () => {
  await using world = await startV2World({ deletionPercent: 100 });
  for (let round = 0; round < ROUNDS; round++) {
    const path = `/Users/${await world.add("/Users", user(`u${round}`))}`;
    const etag = (await world.call("GET", path)).headers.get("etag");
    const answers = await Promise.all([
      patchIf(world, path, etag, { op: "replace", path: "title", value: "a" }),
      world.call("DELETE", path, { headers: { "if-match": etag ?? "" } }),
    ]);
    const [won, ...lost] = answers.map(({ status }) => status).toSorted();
    assertEquals((won ?? 0) < 300 && lost.every((status) => status === 412 || status === 404), true);
  }
});

Deno.test("of two changes of members with the same If-Match, one wins", async () => {
  await using world = await startV2World();
  const users = [await world.add("/Users", user("a")), await world.add("/Users", user("b"))];
  for (let round = 0; round < ROUNDS; round++) {
    const path = `/Groups/${await world.add("/Groups", { displayName: `g${round}` })}`;
    const etag = (await world.call("GET", path)).headers.get("etag");
    const answers = await Promise.all(
      users.map((value) => patchIf(world, path, etag, { op: "add", path: "members", value: [{ value }] })),
    );
    assertEquals(answers.map(({ status }) => status).toSorted(), [204, 412]);
  }
});

/** PATCHes that leave `active` without a value. */
const WITHOUT_ACTIVE: readonly object[] = [
  { op: "remove", path: "active" },
  { op: "replace", path: "active", value: null },
  { op: "replace", value: { active: null } },
];
for (const operation of WITHOUT_ACTIVE) {
  Deno.test(`an inactive user stays inactive after ${JSON.stringify(operation)}`, async () => {
    await using world = await startV2World();
    const path = `/Users/${await world.add("/Users", user("anna", { active: false }))}`;
    const { status, json } = await world.patch(path, [operation]);
    assertEquals([status, json.active], [200, undefined]);
    const other = `/Users/${await world.add("/Users", user("ben"))}`;
    await world.patch(other, [operation]);
    const directory = world.gateway.identity.targets.get("default")?.directory;
    for (const [name, isActive] of [["anna", false], ["ben", true]] as const) {
      const stored = await directory?.read("user", name);
      assertEquals(stored?.content.kind === "user" && stored.content.active, isActive);
    }
    await world.patch(path, [{ op: "add", path: "title", value: "Dr" }]);
    const again = await directory?.read("user", "anna");
    assertEquals(again?.content.kind === "user" && again.content.active, false);
  });
}

Deno.test("an externalId over 1,024 characters is refused", async () => {
  await using world = await startV2World();
  for (const [length, status] of [[1024, 201], [1025, 400], [100_000, 400]] as const) {
    const body = user(`u${length}`, { externalId: "é".repeat(length) });
    assertEquals((await world.call("POST", "/Users", { body })).status, status);
  }
});

Deno.test("a change of members never reaches another group that has the name since", async () => {
  await using world = await startV2World();
  const former = await world.add("/Groups", { displayName: "team" });
  await world.patch(`/Groups/${former}`, [{ op: "replace", path: "displayName", value: "others" }]);
  const team = await world.add("/Groups", { displayName: "team" });
  await world.add("/Users", user("anna"));
  const target = world.gateway.identity.targets.get("default");
  const options = { actor: { name: "scim:provider", source: "" }, ifId: former };
  await assertRejects(
    async () => await target?.changeMembers("team", { add: ["anna"], remove: [] }, options),
    ScimRefusal,
    "at the same time",
  );
  assertEquals((await world.call("GET", `/Groups/${team}`)).json.members, undefined);
});

for (const isMember of [false, true]) {
  Deno.test(`a member that gets another name meanwhile is ${isMember ? "removed" : "added"} all the same`, async () => {
    await using world = await startV2World();
    const value = await world.add("/Users", user("anna"));
    const group = `/Groups/${await world.add("/Groups", {
      displayName: "team",
      members: isMember ? [{ value }] : [],
    })}`;
    const directory = world.gateway.identity.targets.get("default")?.directory;
    if (directory === undefined) throw new Error("no directory");
    // The rename is committed between the read of the name and the change of the members.
    const readHeadById = directory.readHeadById.bind(directory);
    let isFirst = true;
    Object.assign(directory, {
      async readHeadById(kind: "user" | "group", id: string) {
        const found = await readHeadById(kind, id);
        if (kind === "user" && isFirst) {
          isFirst = false;
          await world.patch(`/Users/${value}`, [{ op: "replace", path: "userName", value: "beth" }]);
        }
        return found;
      },
    });
    const operation = isMember
      ? { op: "remove", path: `members[value eq "${value}"]` }
      : { op: "add", path: "members", value: [{ value }] };
    assertEquals((await world.patch(group, [operation])).status, 204);
    const stored = await directory.read("group", "team");
    assertEquals(stored?.content.kind === "group" ? stored.content.members : null, isMember ? [] : ["beth"]);
  });
}

const members = (value: string) => ({ schemas: [], displayName: "team", members: [{ value }] });
/** Writes of a whole group that name a new member by its id. */
const WHOLE_WRITES: Readonly<
  Record<string, (world: V2World, group: string, value: string) => Promise<unknown>>
> = {
  PUT: (world, group, value) => world.call("PUT", group, { body: members(value) }),
  "a PUT with a rename": (world, group, value) =>
    world.call("PUT", group, { body: { ...members(value), displayName: "others" } }),
  "a PATCH that replaces the members": (world, group, value) =>
    world.patch(group, [{ op: "replace", path: "members", value: [{ value }] }]),
  POST: (world, _group, value) =>
    world.call("POST", "/Groups", { body: { ...members(value), displayName: "others" } }),
};
for (const [title, write] of Object.entries(WHOLE_WRITES)) {
  Deno.test(`a group keeps no name of a member that is deleted during ${title}`, async () => {
    await using world = await startV2World();
    const group = `/Groups/${await world.add("/Groups", { displayName: "team" })}`;
    const value = await world.add("/Users", user("anna"));
    const directory = world.gateway.identity.targets.get("default")?.directory;
    if (directory === undefined) throw new Error("no directory");
    const readHeadById = directory.readHeadById.bind(directory);
    Object.assign(directory, {
      async readHeadById(kind: "user" | "group", id: string) {
        const found = await readHeadById(kind, id);
        if (kind === "user" && found !== null) await world.call("DELETE", `/Users/${value}`);
        return found;
      },
    });
    await write(world, group, value);
    // A later user would become a member by the name.
    for await (const { content } of directory.all("group")) {
      assertEquals(content.kind === "group" ? content.members : null, []);
    }
  });
}

Deno.test("the version of a group differs when a name among its members becomes that of a user", async () => {
  await using world = await startV2World();
  const team = await world.add("/Groups", { displayName: "team" });
  const target = world.gateway.identity.targets.get("default");
  await target?.changeMembers("team", { add: ["anna"], remove: [] }, { actor: { name: "", source: "" } });
  const headers = { "if-none-match": (await world.call("GET", `/Groups/${team}`)).headers.get("etag") ?? "" };
  assertEquals((await world.call("GET", `/Groups/${team}`, { headers })).status, 304);
  const anna = await world.add("/Users", { userName: "anna" });
  assertEquals(membersOf((await world.call("GET", `/Groups/${team}`, { headers })).json), [anna]);
});

Deno.test("the version of a user differs when a group is deleted and created again", async () => {
  await using world = await startV2World();
  const anna = await world.add("/Users", { userName: "anna" });
  const staff = { displayName: "staff", members: [{ value: anna }] };
  const former = await world.add("/Groups", staff);
  const headers = { "if-none-match": (await world.call("GET", `/Users/${anna}`)).headers.get("etag") ?? "" };
  await world.call("DELETE", `/Groups/${former}`);
  const later = await world.add("/Groups", staff);
  const { groups } = (await world.call("GET", `/Users/${anna}`, { headers })).json;
  assertEquals(membersOf({ members: groups }), [later]);
});

Deno.test("the times of a resource do not go back with the clock", async () => {
  await using world = await startV2World();
  const anna = await world.add("/Users", { userName: "anna" });
  world.gateway.clock.advance(-3600_000);
  const { json } = await world.patch(`/Users/${anna}`, [{ op: "replace", path: "title", value: "Dr" }]);
  const { created, lastModified } = json.meta as Record<string, string>;
  assertEquals(lastModified, created);
});
