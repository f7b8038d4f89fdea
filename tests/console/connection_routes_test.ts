// The API of connections: creation, changes, secrets, requests, matches, and the test of a connection.

import { assertEquals, assertMatch } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import type {
  ConnectionList,
  ConnectionMatchPage,
  ConnectionRequestPage,
  ConnectionTest,
  CreatedConnectionSecret,
} from "../../console/api/connections/connection_types.ts";
import { openComposition } from "../fakes/composition.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { userContent } from "../fakes/scim_target.ts";
import { codeOf } from "../fakes/console_caller.ts";
import { basicHeader, bearer, requestEntry } from "../scim/v2/connections/stage.ts";

const SOURCE = "192.0.2.1";
const OKTA = { name: "okta", kind: "okta", target: "default" } as const;
const param = { name: "okta" };

type Gateway = Awaited<ReturnType<typeof openComposition>>;

const create = ({ api }: Gateway, more: object = {}): Promise<CreatedConnectionSecret> =>
  apiValue(api.connections.$post({ json: { ...OKTA, ...more } }));

Deno.test("POST /connections returns the token once, with the addresses to enter at the provider", async () => {
  await using gateway = await openComposition();
  const { secret, item, tokenUrl } = await create(gateway);
  assertMatch(secret?.text ?? "", /^cst_[\w-]{43}$/);
  assertMatch(item.url, /^http:\/\/127\.0\.0\.1:\d+\/scim\/v2\/default$/);
  assertMatch(tokenUrl, /^http:\/\/127\.0\.0\.1:\d+\/scim\/oauth\/token$/);
  const { identity: { connections } } = gateway;
  const used = await connections.authenticate(bearer(secret?.text ?? ""), SOURCE);
  assertEquals(used?.settings, item.settings);
  const listed = await gateway.ask("GET", "/connections");
  assertEquals(listed.text.includes(secret?.text ?? "?"), false);
  const list: ConnectionList = JSON.parse(listed.text);
  assertEquals(list.items.map(({ settings: { name }, version, createdBy }) => [name, version, createdBy]), [
    ["okta", 1, "command"],
  ]);
  assertEquals([list.targets, list.reserved], [["default"], []]);
  assertEquals((await gateway.dump()).includes(secret?.text.slice(4) ?? "?"), false);
});

/** Bodies of POST /connections, and the first secret. */
const SECRETS: readonly (readonly [object, readonly [string, number | null] | null])[] = [
  [{}, ["token", null]],
  [{ secret: null }, null],
  [{ secret: { kind: "client_secret", days: 90 } }, ["client_secret", 90]],
  [{ secret: { days: null } }, ["token", null]],
];

for (const [body, expected] of SECRETS) {
  Deno.test(`POST /connections with ${JSON.stringify(body)} makes ${JSON.stringify(expected)}`, async () => {
    await using gateway = await openComposition();
    const { secret, item, nowMs } = await create(gateway, body);
    const [row] = item.secrets;
    const days = row?.expiresMs === null ? null : ((row?.expiresMs ?? 0) - nowMs) / 86_400_000;
    assertEquals(row === undefined ? null : [row.kind, days], expected);
    assertEquals(secret?.id, row?.id);
  });
}

const POST = ["POST", "/connections"] as const;
const PATCH = ["PATCH", "/connections/okta"] as const;
/** Requests that are refused, and the code of each refusal. */
const REFUSED: readonly (readonly [code: string, method: string, path: string, json?: unknown])[] = [
  ["bad_connection_name", ...POST, { ...OKTA, name: "Okta" }],
  ["bad_connection_name", ...POST, { ...OKTA, name: "__proto__" }],
  ["connection_taken", ...POST, OKTA],
  ["connection_taken", ...POST, { ...OKTA, name: "saas" }],
  ["unknown_target", ...POST, { ...OKTA, name: "other", target: "elsewhere" }],
  ["malformed", ...POST, { ...OKTA, kind: "google" }],
  ["malformed", ...POST, { ...OKTA, owner: "x" }],
  ["malformed", ...POST, { ...OKTA, requestsPerMinute: 0 }],
  ["malformed", ...POST, { ...OKTA, requestsPerMinute: 600_001 }],
  ["malformed", ...POST, { ...OKTA, deletionPercent: 101 }],
  ["malformed", ...POST, { ...OKTA, deletionPercent: 1.5 }],
  ["malformed", ...POST, { ...OKTA, secret: { days: 0 } }],
  ["malformed", ...POST, { ...OKTA, secret: { replaces: "x" } }],
  ["malformed", ...POST, { ...OKTA, meUser: "" }],
  ["changed_meanwhile", ...PATCH, { version: 0, change: { paused: true } }],
  ["malformed", ...PATCH, { version: 1, change: { name: "entra" } }],
  ["malformed", ...PATCH, { version: 1, change: { target: "corp" } }],
  ["malformed", ...PATCH, { change: { paused: true } }],
  ["unknown_connection", "PATCH", "/connections/entra", { version: 1, change: {} }],
  ["unknown_connection", "GET", "/connections/entra"],
  ["unknown_connection", "GET", "/connections/__proto__"],
  ["unknown_connection", "DELETE", "/connections/entra"],
  ["unknown_connection", "POST", "/connections/entra/secrets", {}],
  ["unknown_connection_secret", "POST", "/connections/okta/secrets", { replaces: "none" }],
  ["malformed", "POST", "/connections/okta/secrets", { overlapHours: 721 }],
  ["unknown_connection_secret", "DELETE", "/connections/okta/secrets/none"],
  ["unknown_connection", "DELETE", "/connections/entra/secrets/none"],
  ["unknown_connection", "GET", "/connections/entra/requests"],
  ["bad_query", "GET", "/connections/okta/requests?size=0"],
  ["bad_query", "GET", "/connections/okta/requests?outcome=other"],
  ["bad_query", "GET", "/connections/okta/requests?from=yesterday"],
  ["unknown_connection", "GET", "/connections/entra/matches"],
  ["bad_query", "GET", "/connections/okta/matches?state=other"],
  ["malformed", "POST", "/connections/okta/matches", { decision: "accept", ids: [] }],
  ["malformed", "POST", "/connections/okta/matches", { decision: "other", ids: "all" }],
  ["unknown_connection", "POST", "/connections/entra/matches", { decision: "accept", ids: "all" }],
  ["unknown_connection", "POST", "/connections/entra/test"],
  ["credential_taken", "POST", "/credentials", { name: "okta", targets: ["default"], access: "read" }],
];

for (const [code, method, path, json] of REFUSED) {
  const what = `${method} ${path} ${JSON.stringify(json) ?? ""}`.slice(0, 120);
  Deno.test(`${what} is refused as ${code} and changes nothing`, async () => {
    await using gateway = await openComposition();
    await create(gateway);
    await gateway.ask("POST", "/credentials", { name: "saas", targets: ["default"], access: "read" });
    const before = await gateway.dump();
    assertEquals((await gateway.ask(method, path, json)).code, code);
    assertEquals(await gateway.dump(), before);
  });
}

Deno.test("PATCH /connections/:name changes settings at once, and names the author of an earlier change", async () => {
  await using gateway = await openComposition();
  const { secret } = await create(gateway);
  const { api, identity: { connections } } = gateway;
  const change = { version: 1, change: { paused: true, requestsPerMinute: 5 } };
  const { item } = await apiValue(api.connections[":name"].$patch({ param, json: change }));
  assertEquals([item.version, item.settings.paused, item.changedBy], [2, true, "command"]);
  const used = await connections.authenticate(bearer(secret?.text ?? ""), SOURCE);
  assertEquals([used?.settings.paused, used?.settings.requestsPerMinute], [true, 5]);
  const late = await gateway.ask("PATCH", "/connections/okta", change);
  assertEquals(JSON.parse(late.text).error.lastChange, {
    ...{ actor: "command", atMs: gateway.clock.nowMs(), isOwn: true },
  });
});

Deno.test("DELETE /connections/:name ends its tokens and reserves its name", async () => {
  await using gateway = await openComposition();
  const { secret } = await create(gateway);
  const { api, identity: { connections } } = gateway;
  await apiValue(api.connections[":name"].$delete({ param }));
  assertEquals(await connections.authenticate(bearer(secret?.text ?? ""), SOURCE), null);
  assertEquals((await gateway.ask(...POST, OKTA)).code, "connection_name_reserved");
  const { items, reserved }: ConnectionList = await apiValue(api.connections.$get());
  assertEquals([items, reserved.map(({ name }) => name)], [[], ["okta"]]);
});

Deno.test("POST and DELETE …/secrets rotate and revoke: both secrets work during the overlap", async () => {
  await using gateway = await openComposition();
  const { api, clock, identity: { connections } } = gateway;
  const first = await create(gateway);
  const isValid = async ({ secret }: CreatedConnectionSecret) =>
    await connections.authenticate(bearer(secret?.text ?? ""), SOURCE) !== null;
  const secrets = api.connections[":name"].secrets;
  clock.advance(1);
  const json = { replaces: first.secret?.id ?? "", overlapHours: 2, days: 30 };
  const second: CreatedConnectionSecret = await apiValue(secrets.$post({ param, json }));
  assertEquals(second.item.secrets.map(({ expiresMs }) => ((expiresMs ?? 0) - clock.nowMs()) / 3_600_000), [
    720,
    2,
  ]);
  assertEquals([await isValid(first), await isValid(second)], [true, true]);
  clock.advance(2 * 3_600_000);
  assertEquals([await isValid(first), await isValid(second)], [false, true]);
  const id = second.secret?.id ?? "";
  const { item } = await apiValue(secrets[":id"].$delete({ param: { ...param, id } }));
  assertEquals([item.secrets.map((one) => one.id), await isValid(second)], [[first.secret?.id], false]);
});

Deno.test("GET …/requests lists requests by outcome, text and page; the list shows the newest one", async () => {
  await using gateway = await openComposition();
  await create(gateway);
  const { identity: { connections } } = gateway;
  for (const [at, status] of [201, 409, 503, 200].entries()) {
    connections.record(requestEntry({ status, resource: { kind: "user", id: "1", name: `user-${at}` } }));
  }
  const ask = async (query: string): Promise<ConnectionRequestPage> =>
    JSON.parse((await gateway.ask("GET", `/connections/okta/requests${query}`)).text);
  const names = ({ rows }: ConnectionRequestPage) => rows.map(({ resource }) => resource?.name);
  assertEquals(names(await ask("")), ["user-3", "user-2", "user-1", "user-0"]);
  assertEquals(names(await ask("?outcome=refused")), ["user-1"]);
  assertEquals(names(await ask("?text=USER-2&operation=users.create")), ["user-2"]);
  const first = await ask("?size=3");
  assertEquals([first.rows.length, first.days], [3, 30]);
  assertEquals(names(await ask(`?size=3&cursor=${first.cursor}`)), ["user-0"]);
  const { items }: ConnectionList = await apiValue(gateway.api.connections.$get());
  assertEquals(items[0]?.lastRequest?.resource?.name, "user-3");
});

Deno.test("GET …/requests lists the requests of a SCIM credential", async () => {
  await using gateway = await openComposition();
  const scope = { name: "hr", targets: ["default"], access: "write" };
  const { password } = JSON.parse((await gateway.ask("POST", "/credentials", scope)).text);
  const { connections } = gateway.identity;
  const hr = await connections.authenticate(basicHeader("hr", password), SOURCE);
  connections.record(requestEntry({ connection: hr?.settings.name ?? "" }));
  const { status, text } = await gateway.ask("GET", "/connections/basic:hr/requests");
  assertEquals([status, JSON.parse(text).rows.length], [200, 1]);
  assertEquals((await gateway.ask("GET", "/connections/basic:other/requests")).code, "unknown_connection");
  assertEquals((await gateway.ask("GET", "/connections/basic:hr")).code, "unknown_connection");
});

Deno.test("GET and POST …/matches list proposals, and a decision lets the connection write", async () => {
  await using gateway = await openComposition();
  const { secret } = await create(gateway);
  const { api, identity: { connections } } = gateway;
  const okta = await connections.authenticate(bearer(secret?.text ?? ""), SOURCE);
  if (okta === null) throw new Error("the token was refused");
  for (const id of ["a", "b", "c"]) {
    await connections.proposeAdoption(okta, { kind: "user", id, name: `user-${id}`, externalId: null });
  }
  const matches = api.connections[":name"].matches;
  const list = async (state: "" | "waiting" | "accepted" | "refused"): Promise<ConnectionMatchPage> =>
    await apiValue(matches.$get({ param, query: { state } }));
  assertEquals((await list("waiting")).rows.map(({ id, name }) => [id, name]), [
    ["user:a", "user-a"],
    ["user:b", "user-b"],
    ["user:c", "user-c"],
  ]);
  const { items: [item] }: ConnectionList = await apiValue(api.connections.$get());
  assertEquals(item?.waitingMatches, 3);
  const decide = async (decision: "accept" | "refuse", ids: string[] | "all") =>
    (await apiValue(matches.$post({ param, json: { decision, ids } }))).decided;
  assertEquals([await decide("refuse", ["user:b"]), await decide("accept", "all")], [1, 2]);
  const isAdopted = (id: string) => connections.isAdopted(okta, { kind: "user", id });
  assertEquals([await isAdopted("a"), await isAdopted("b")], [true, false]);
  assertEquals((await list("accepted")).rows.map(({ decidedBy }) => decidedBy), ["command", "command"]);
});

Deno.test("GET …/matches shows the current name of a resource, or that it is gone", async () => {
  await using gateway = await openComposition();
  const { secret } = await create(gateway);
  const { api, identity: { connections, targets } } = gateway;
  const okta = await connections.authenticate(bearer(secret?.text ?? ""), SOURCE);
  const target = targets.get("default");
  if (okta === null || target === null) throw new Error("the token was refused");
  const actor = { name: "command", source: "" };
  const { stored } = await target.create(userContent("ada"), { actor });
  for (const id of [stored?.id ?? "", "gone"]) {
    await connections.proposeAdoption(okta, { kind: "user", id, name: "earlier", externalId: null });
  }
  const { rows } = await apiValue(api.connections[":name"].matches.$get({ param, query: {} }));
  assertEquals(rows.map(({ name, isGone }) => [name, isGone]).toSorted(), [["ada", false], [
    "earlier",
    true,
  ]]);
});

Deno.test("POST …/test says whether the provider reached this server", async () => {
  await using gateway = await openComposition();
  await create(gateway, { secret: null });
  const { api, identity: { connections } } = gateway;
  const test = async (): Promise<ConnectionTest> =>
    await apiValue(api.connections[":name"].test.$post({ param }));
  assertEquals((await test()).state, "no_secret");
  await apiValue(api.connections[":name"].secrets.$post({ param, json: {} }));
  assertEquals((await test()).state, "unused");
  connections.record(requestEntry({ status: 200 }));
  assertEquals((await test()).state, "works");
  connections.record(requestEntry({ status: 401, atMs: 1_800_000_000_001 }));
  const { state, lastRequest, lastSuccessMs } = await test();
  assertEquals([state, lastRequest?.status, lastSuccessMs], ["refused", 401, 1_800_000_000_000]);
  const change = { version: 1, change: { paused: true } };
  await apiValue(api.connections[":name"].$patch({ param, json: change }));
  assertEquals((await test()).state, "paused");
});

/** Changes of a script with an API token: those that give the provider more rights need a person. */
const TOKEN_CHANGES: readonly (readonly [change: object, status: number, before?: object])[] = [
  [{ paused: true }, 200],
  [{ requestsPerMinute: 5, softDelete: true, dryRun: true, reactivate: false, removeAllMembers: false }, 200],
  [{ access: "write", adoption: "confirm", deletionPercent: 10, meUser: null, dryRun: false }, 200],
  [{ access: "read" }, 403],
  [{ adoption: "automatic" }, 403],
  [{ deletionPercent: 100 }, 403],
  [{ meUser: "ada" }, 403],
  [{ requestsPerMinute: 7000 }, 403],
  [{ paused: false }, 403, { paused: true }],
  [{ dryRun: false }, 403, { dryRun: true }],
  [{ softDelete: false }, 403, { softDelete: true }],
  [{ reactivate: true }, 403, { reactivate: false }],
  [{ removeAllMembers: true }, 403, { removeAllMembers: false }],
  [{ paused: true, reactivate: true }, 403, { reactivate: false }],
];

Deno.test("PATCH /connections/:name needs a recent factor only for more rights", async (t) => {
  await using site = await startConnectConsole();
  const cookie = await site.signIn("owner");
  const call = (path: string, method: string, json: unknown, headers: Record<string, string> = {}) =>
    site.call(`/console/api${path}`, { method, json, headers, ...headers.authorization ? {} : { cookie } });
  const made = await (await call("/tokens", "POST", { name: "ci", role: "owner", days: 1 })).json();
  const authorization = `Bearer ${made.token}`;
  for (const [change, status, before = {}] of TOKEN_CHANGES) {
    await t.step(`${JSON.stringify(change)}: ${status}`, async () => {
      const name = `c${crypto.randomUUID().slice(0, 8)}`;
      assertEquals((await call("/connections", "POST", { ...OKTA, name })).status, 200);
      const path = `/connections/${name}`;
      const { item } = await (await call(path, "PATCH", { version: 1, change: before })).json();
      const answer = await call(path, "PATCH", { version: item.version, change }, { authorization });
      assertEquals(answer.status, status);
      if (status === 403) assertEquals(await codeOf(answer), "not_for_tokens");
      else await answer.body?.cancel();
    });
  }
});
