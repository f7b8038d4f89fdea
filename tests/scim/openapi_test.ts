// docs/openapi.json, which the server serves: it has each route of both SCIM interfaces with its statuses, and agrees with the code that reads requests.

import { assert, assertEquals } from "@std/assert";
import { ALWAYS_POSSIBLE, HANDLER_FACTS, V2_ALWAYS, V2_HANDLER_ROWS } from "../../docs/scim_operations.ts";
import { refusalRow, type ScimRefusalCode } from "../../scim/http/refusals.ts";
import { type RouteRow, SCIM_PREFIX, SCIM_ROUTES } from "../../scim/http/routes.ts";
import { parseName } from "../../scim/schema/resource_name.ts";
import { TOKEN_ERRORS } from "../../scim/v2/connections/access_token.ts";
import { V2_PREFIX, V2_ROUTES, type V2RouteRow } from "../../scim/v2/http/operation.ts";
import { USER_DEFINITION } from "../../scim/schema/attribute_table.ts";
import { startV2World } from "./v2/http/v2_world.ts";

interface Json {
  readonly [keyword: string]: unknown;
}

const document = JSON.parse(
  await Deno.readTextFile(new URL("../../docs/openapi.json", import.meta.url)),
) as { readonly paths: Readonly<Record<string, Json>>; readonly components: Readonly<Record<string, Json>> };

/** The object at a place, or at the place that it refers to. */
function at(reference: string): Json {
  const found = reference.split("/").slice(1)
    .map((part) => part.replaceAll("~1", "/"))
    .reduce<unknown>((value, part) => (value as Json | undefined)?.[part], document);
  assert(typeof found === "object" && found !== null, `${reference} is not described`);
  return resolved(found);
}

function resolved(value: unknown): Json {
  assert(typeof value === "object" && value !== null, "it is not described");
  const found = value as Json;
  return typeof found["$ref"] === "string" ? { ...at(found["$ref"]), ...found } : found;
}

const v2Path = ({ path }: Pick<V2RouteRow, "path">) =>
  `${V2_PREFIX}/{target_id}${path === "/" ? "" : path.replace(/<(\w+)>/, "{$1}")}`;

function pathsOf({ path }: RouteRow): string[] {
  const base = `${SCIM_PREFIX}/{target_id}`;
  if (!path.startsWith("[prefix]")) return [base + path.replace(/<(\w+)>/, "{$1}")];
  return ["", "/Users", "/Groups"].map((prefix) => base + prefix + path.slice("[prefix]".length));
}

const methodsOf = ({ method }: RouteRow) =>
  method === "any" ? ["GET", "POST", "PUT", "PATCH", "DELETE"] : [method];

function operationAt(path: string, method: string): { readonly responses: Readonly<Record<string, Json>> } {
  const operation = resolved(document.paths[path])[method.toLowerCase()];
  assert(operation !== undefined, `${method} ${path} is not described`);
  return operation as { responses: Record<string, Json> };
}

/** The statuses of each operation, as the tables of the interfaces have them. Two rows may share one, because the body tells them apart. */
const EXPECTED = new Map<string, Set<number>>();

function expect(key: string, codes: readonly ScimRefusalCode[], others: readonly number[]): void {
  const statuses = [...codes.map((code) => refusalRow(code).status), ...others];
  EXPECTED.set(key, new Set([...EXPECTED.get(key) ?? [], ...statuses]));
}

for (const row of SCIM_ROUTES as readonly RouteRow[]) {
  const { success, refusals } = HANDLER_FACTS[row.handler];
  const reads = row.handler === "list" || row.handler === "get" ? [304] : [];
  for (const key of pathsOf(row).flatMap((path) => methodsOf(row).map((method) => `${method} ${path}`))) {
    expect(key, [...ALWAYS_POSSIBLE, ...refusals], [...success === null ? [] : [success], ...reads]);
  }
}
for (const row of V2_ROUTES) {
  const { success, refusals } = V2_HANDLER_ROWS[row.handler];
  // 414 and 431 come from the HTTP server, before it reads the request.
  expect(`${row.method} ${v2Path(row)}`, [...V2_ALWAYS, ...refusals], [...success, 414, 431]);
}
const TOKEN = "POST /scim/oauth/token";

Deno.test("docs/openapi.json has each route of both interfaces with its statuses, and no other", () => {
  const described = Object.keys(document.paths).flatMap((path) =>
    Object.keys(resolved(document.paths[path])).filter((one) => /^(get|post|put|patch|delete)$/.test(one))
      .map((method) => `${method.toUpperCase()} ${path}`)
  );
  assertEquals(described.toSorted(), [...EXPECTED.keys(), TOKEN].toSorted());
  for (const [key, statuses] of EXPECTED) {
    const [method = "", path = ""] = key.split(" ");
    const { responses } = operationAt(path, method);
    assertEquals(Object.keys(responses).map(Number), [...statuses].toSorted((a, b) => a - b), key);
  }
});

/** Every value below, with its path. */
function* walk(value: unknown, place = "#"): Generator<readonly [place: string, value: unknown]> {
  yield [place, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* walk(inner, `${place}/${name}`);
}

Deno.test("docs/openapi.json has every component that it refers to, refers to each, and names each operation once", () => {
  const used = new Set<string>();
  const ids: unknown[] = [];
  for (const [place, value] of walk(document)) {
    if (place.endsWith("/operationId")) ids.push(value);
    if (!place.endsWith("/$ref") || typeof value !== "string") continue;
    at(value);
    used.add(value);
  }
  assertEquals(new Set(ids).size, ids.length);
  for (const part of ["schemas", "parameters", "headers", "pathItems"]) {
    for (const name of Object.keys(document.components[part] ?? {})) {
      assert(used.has(`#/components/${part}/${name}`), name);
    }
  }
  for (const [path, item] of Object.entries(document.paths)) {
    const { parameters = [] } = resolved(item) as { parameters?: readonly unknown[] };
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
    assertEquals(parameters.map((one) => resolved(one)["name"]), names, path);
  }
});

Deno.test("docs/openapi.json has the headers of each answer, and those of refusals", () => {
  const required: Readonly<Record<string, string>> = {
    401: "WWW-Authenticate",
    429: "Retry-After",
    503: "Retry-After",
  };
  for (const key of EXPECTED.keys()) {
    const [method = "", path = ""] = key.split(" ");
    for (const [status, response] of Object.entries(operationAt(path, method).responses)) {
      if (["414", "431"].includes(status)) continue;
      if (status === "304" && path.startsWith(SCIM_PREFIX)) continue;
      const { headers = {} } = resolved(response);
      const wanted = ["content-language", "vary", "x-frame-options", ...[required[status] ?? []].flat()];
      for (const name of wanted) assert(name in (headers as Json), `${key} ${status} ${name}`);
    }
  }
  for (const name of ["MethodNotAllowed", "V2MethodNotAllowed"]) {
    assert("Allow" in (at(`#/components/responses/${name}`)["headers"] as Json));
  }
  assertEquals(at("#/components/headers/LocationRequired")["required"], true);
});

const SCHEMAS = "#/components/schemas";
const property = (schema: string, name: string) => at(`${SCHEMAS}/${schema}/properties/${name}`);
const variantsOf = (schema: string, name: string) =>
  (property(schema, name)["anyOf"] as readonly unknown[]).map(resolved);

Deno.test("docs/openapi.json has the server's limits of names, passwords, lists, backends and pages", () => {
  const inPaths = ["UserName", "GroupName"].map((name) => at(`#/components/parameters/${name}/schema`));
  const named = [property("User", "userName"), property("Group", "displayName"), ...inPaths];
  for (const { minLength, maxLength, pattern } of named) {
    assertEquals([minLength, maxLength], [1, 256]);
    const isName = (text: string) => new RegExp(String(pattern), "u").test(text);
    for (const text of NAMES) assertEquals(isName(text), parseName(text).ok, JSON.stringify(text));
  }
  // Another attribute of the same name is not a name.
  assertEquals(property("User", "displayName")["maxLength"], undefined);
  const { minLength, maxLength } = property("User", "password");
  assertEquals([minLength, maxLength], [1, 1024]);
  for (const name of ["emails", "phoneNumbers", "addresses"]) {
    const [list, ...entry] = variantsOf("User", name);
    assertEquals([list?.["type"], list?.["maxItems"]], ["array", 10_000], name);
    // A request may have the only entry, or its text.
    assertEquals(entry.map(({ type }) => type), ["object", "string"], name);
  }
  const [members] = variantsOf("Group", "members");
  assertEquals([members?.["type"], members?.["maxItems"]], ["array", 50_000]);
  const backends = at("#/components/parameters/backends/schema");
  assertEquals([backends["minItems"], backends["items"]], [1, { type: "string", minLength: 1 }]);
  const page = at("#/components/parameters/page/schema");
  assertEquals([page["minimum"], page["maximum"]], [1, Number.MAX_SAFE_INTEGER]);
});

const NAMES = [
  ...[
    "ann",
    "Ann Lee",
    "日本語",
    "😀",
    ".searchable",
    "...",
    "a.search",
    "",
    "a/b",
    "/",
    "a/..",
    "../a",
    "a/./b",
    ".a/b.",
    ".",
    "..",
    ".search",
  ],
  ...[".SEARCH", "a\u0000", "\u001f", "a\u007f", "\u0085", "a\u2028", "\u2029a", "a\u202eb", "\u2066"],
];

Deno.test("the user of a request to /scim/v2 has each attribute that a client can write, and that of a response no password", () => {
  const names = Object.keys(at(`${SCHEMAS}/V2UserRequest/properties`));
  for (const { name, mutability } of USER_DEFINITION.attributes) {
    assertEquals(names.includes(name), mutability !== "readOnly", name);
  }
  assertEquals(at(`${SCHEMAS}/V2UserRequest`)["required"], ["userName"]);
  const [text, unassigned] = variantsOf("V2UserRequest", "password");
  assertEquals([text?.["maxLength"], unassigned?.["$ref"]], [1024, `${SCHEMAS}/V2Unassigned`]);
  assertEquals(property("V2UserRequest", "password")["writeOnly"], true);
  assertEquals(property("V2UserRequest", "userName")["maxLength"], 256);
  const [list] = variantsOf("V2UserRequest", "emails");
  assertEquals([list?.["maxItems"], list?.["maxContains"]], [10_000, 1]);
  assert(!("password" in at(`${SCHEMAS}/V2User/properties`)));
  for (const name of ["id", "meta", "groups"]) assertEquals(property("V2User", name)["readOnly"], true, name);
  assertEquals(property("V2User", "userName")["readOnly"], undefined);
});

Deno.test("docs/openapi.json has every scimType, and every error of the token endpoint with the headers of RFC 6749 §5", () => {
  const types = property("V2Error", "scimType")["enum"] as readonly string[];
  for (const type of ["uniqueness", "invalidPath", "noTarget", "expiredCursor", "mutability", "tooMany"]) {
    assert(types.includes(type), type);
  }
  const { responses } = operationAt("/scim/oauth/token", "POST");
  const errors = property("V2TokenError", "error")["enum"] as readonly string[];
  for (const { status, error } of Object.values(TOKEN_ERRORS)) {
    assert(String(status) in responses, String(status));
    assert(errors.includes(error), error);
  }
  assert("Cache-Control" in (responses["200"]?.["headers"] as Json));
  assert("WWW-Authenticate" in (responses["401"]?.["headers"] as Json));
});

/** Requests with answers of different statuses. `<ann>`, `<group>`: ids. */
const REQUESTS: readonly [method: string, row: string, path: string, body?: object, headers?: HeadersInit][] =
  [
    ["GET", "/Users", '/Users?filter=userName eq "ann"'],
    ["GET", "/Users", "/Users?filter=nothing eq 1"],
    ["GET", "/", "/"],
    ["POST", "/Users", "/Users", { schemas: [USER_DEFINITION.id], userName: "bob" }],
    ["POST", "/Users", "/Users", { schemas: [USER_DEFINITION.id], userName: "ann" }],
    ["GET", "/Users/<id>", "/Users/<ann>"],
    ["GET", "/Users/<id>", "/Users/<ann>", undefined, { "if-none-match": "*" }],
    ["GET", "/Users/<id>", "/Users/none"],
    ["PUT", "/Users/<id>", "/Users/<ann>", {
      schemas: [USER_DEFINITION.id],
      userName: "ann",
      title: "Guide",
    }],
    ["PUT", "/Users/<id>", "/Users/<ann>", { userName: "ann" }, { "if-match": 'W/"old"' }],
    [
      "PATCH",
      "/Groups/<id>",
      "/Groups/<group>",
      patchOf({ op: "add", path: "members", value: [{ value: "<ann>" }] }),
    ],
    ["PATCH", "/Users/<id>", "/Users/<ann>", patchOf({ op: "replace", path: "title", value: "Lead" })],
    ["PATCH", "/Users/<id>", "/Users/<ann>", patchOf({ op: "replace", path: "nothing", value: 1 })],
    ["GET", "/Me", "/Me"],
    ["POST", "/Bulk", "/Bulk", {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
      Operations: [],
    }],
    ["GET", "/Schemas", "/Schemas?filter=id pr"],
    ["GET", "/ResourceTypes/<id>", "/ResourceTypes/User"],
    ["DELETE", "/Groups/<id>", "/Groups/<group>"],
  ];

function patchOf(operation: object): object {
  return { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations: [operation] };
}

const DESCRIBED = ["etag", "location", "content-location", "www-authenticate", "allow", "retry-after"];

Deno.test("the status and the headers of each answer are described", async () => {
  await using world = await startV2World();
  const ids: Record<string, string> = {
    ann: await world.add("/Users", { userName: "ann" }),
    group: await world.add("/Groups", { displayName: "guides" }),
  };
  const fill = (text: string) => text.replace(/<(ann|group)>/g, (_, name: string) => ids[name] ?? "");
  const seen = new Set<number>();
  const check = async (token?: null) => {
    for (const [method, path, place, body, headers] of REQUESTS) {
      const { status, ...answer } = await world.call(method, fill(place).replaceAll(" ", "%20"), {
        ...(body === undefined ? {} : { body: JSON.parse(fill(JSON.stringify(body))) }),
        ...(headers === undefined ? {} : { headers: headers as Record<string, string> }),
        ...(token === undefined ? {} : { token }),
      });
      seen.add(status);
      const response = resolved(operationAt(v2Path({ path }), method).responses[status]);
      const known = Object.keys((response.headers ?? {}) as object).map((name) => name.toLowerCase());
      for (const name of DESCRIBED) {
        if (answer.headers.has(name)) assert(known.includes(name), `${method} ${place} ${status} ${name}`);
      }
    }
  };
  await check(null);
  await world.change({ paused: true });
  await check();
  await world.change({ paused: false });
  await check();
  const expected = [200, 201, 204, 304, 400, 401, 403, 404, 409, 412, 501, 503];
  assertEquals([...seen].sort(), expected);
});
