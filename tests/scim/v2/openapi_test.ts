// The description of /scim/v2 in /openapi.json has each route, schema and refusal, and agrees with the code that reads requests.

import { assert, assertEquals } from "@std/assert";
import { openApiDocument } from "../../../scim/http/openapi.ts";
import { refusalRow } from "../../../scim/http/refusals.ts";
import { TOKEN_ERRORS } from "../../../scim/v2/connections/token_request.ts";
import { V2_ROUTES } from "../../../scim/v2/http/v2_routes.ts";
import { combinedOpenApiText } from "../../../scim/v2/openapi/openapi_document.ts";
import { V2_ALWAYS, V2_HANDLER_ROWS } from "../../../scim/v2/openapi/v2_handlers.ts";
import { V2_COMPONENT, v2OperationId, v2Path } from "../../../scim/v2/openapi/v2_openapi.ts";
import { startV2World } from "./http/v2_world.ts";
import { USER_DEFINITION } from "../../../scim/v2/schema/user_schema.ts";

const URL = "https://gate.example.org";
type Json = { readonly [name: string]: Json } & { readonly length?: number };
const document = JSON.parse(combinedOpenApiText(URL)) as {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: Record<string, Record<string, Json>>;
};

interface Operation {
  readonly operationId: string;
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, { readonly headers?: Record<string, Json> }>>;
}

for (const row of V2_ROUTES) {
  Deno.test(`combinedOpenApi() has ${row.method} ${row.path}, with its statuses and headers`, () => {
    const operation = document.paths[v2Path(row)]?.[row.method.toLowerCase()];
    if (operation === undefined) throw new Error("it is not described");
    assertEquals(operation.operationId, v2OperationId(row));
    const { success, refusals, body } = V2_HANDLER_ROWS[row.handler];
    const codes = [...V2_ALWAYS, ...refusals];
    // 414 and 431 come from the HTTP server, before it reads the request.
    const statuses = [...success, ...codes.map((code) => refusalRow(code).status), 414, 431];
    assertEquals(Object.keys(operation.responses).map(Number).sort(), [...new Set(statuses)].sort());
    assertEquals(operation.requestBody !== undefined, body !== null);
    const required = { 401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After" };
    for (const [status, name] of Object.entries(required)) {
      assert(name in (operation.responses[status]?.headers ?? {}), `${status} ${name}`);
    }
    for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
      if (["414", "431"].includes(status)) continue;
      for (const name of ["content-language", "vary", "x-frame-options"]) {
        assert(name in headers, `${status} ${name}`);
      }
    }
    if (row.handler === "create") {
      assertEquals(operation.responses["201"]?.headers?.["Location"]?.["required"], true as unknown as Json);
    }
  });
}

Deno.test("combinedOpenApi() names each operation once", () => {
  const ids = Object.values(document.paths).flatMap(({ parameters: _, ...operations }) =>
    Object.values(operations).map(({ operationId }) => operationId)
  );
  assertEquals(new Set(ids).size, ids.length);
});

/** Every value below, with its path. */
function* walk(value: unknown, at = "#"): Generator<readonly [at: string, value: unknown]> {
  yield [at, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* walk(inner, `${at}/${name}`);
}

Deno.test("combinedOpenApi() has every component that it refers to, and refers to each of its own", () => {
  const used = new Set<string>();
  for (const [at, value] of walk(document)) {
    if (at.endsWith("/$ref") && typeof value === "string") used.add(value);
  }
  for (const reference of used) {
    const [, , part = "", name = ""] = reference.split("/");
    assert(document.components[part]?.[name] !== undefined, reference);
  }
  for (const part of ["schemas", "parameters"]) {
    for (const name of Object.keys(document.components[part] ?? {})) {
      assert(used.has(`#/components/${part}/${name}`), name);
    }
  }
});

Deno.test("combinedOpenApi() keeps the specified interface as it is", () => {
  const specified = openApiDocument(URL) as unknown as typeof document;
  assertEquals(
    Object.keys(document.paths).slice(0, Object.keys(specified.paths).length),
    Object.keys(specified.paths),
  );
  for (const [path, item] of Object.entries(specified.paths)) assertEquals(document.paths[path], item);
  for (const [kind, part] of Object.entries(specified.components)) {
    for (const [name, value] of Object.entries(part)) {
      assert(!name.startsWith(V2_COMPONENT));
      assertEquals(document.components[kind]?.[name], value);
    }
  }
});

function schema(name: string): Json {
  const found = document.components["schemas"]?.[V2_COMPONENT + name];
  if (found === undefined) throw new Error(`${name} is not described`);
  return found;
}

Deno.test("the user of a request has each attribute that a client can write, and no other", () => {
  const names = Object.keys(schema("UserRequest")["properties"] ?? {});
  for (const { name, mutability } of USER_DEFINITION.attributes) {
    assertEquals(names.includes(name), mutability !== "readOnly", name);
  }
  assertEquals(schema("UserRequest")["required"], ["userName"] as unknown as Json);
  const { password, userName, emails } = schema("UserRequest")["properties"] as Json;
  const [text, unassigned] = password?.["anyOf"] as unknown as readonly Json[];
  assertEquals(
    [password?.["writeOnly"], text?.["maxLength"], userName?.["maxLength"]],
    [true, 1024, 256] as unknown as Json[],
  );
  assertEquals(unassigned, { $ref: "#/components/schemas/V2Unassigned" } as unknown as Json);
  const [list] = emails?.["anyOf"] as unknown as readonly Json[];
  assertEquals([list?.["maxItems"], list?.["maxContains"]], [10_000, 1] as unknown as Json[]);
});

Deno.test("the user of a response has no password, and marks what the server writes", () => {
  const properties = schema("User")["properties"] as Json;
  assertEquals("password" in properties, false);
  for (const name of ["id", "meta", "groups"]) {
    assertEquals(properties[name]?.["readOnly"], true as unknown as Json, name);
  }
  assertEquals(properties["userName"]?.["readOnly"], undefined);
});

Deno.test("the error has every scimType of the two interfaces", () => {
  const { scimType } = schema("Error")["properties"] as Json;
  const types = scimType?.["enum"] as unknown as readonly string[];
  for (const type of ["uniqueness", "invalidPath", "noTarget", "expiredCursor", "mutability", "tooMany"]) {
    assert(types.includes(type), type);
  }
});

Deno.test("the token endpoint has every error of the table, with the headers of RFC 6749 §5", () => {
  const post = document.paths["/scim/oauth/token"]?.["post"];
  if (post === undefined) throw new Error("it is not described");
  for (const { status, error } of Object.values(TOKEN_ERRORS)) {
    assert(String(status) in post.responses, String(status));
    const { error: known } = schema("TokenError")["properties"] as Json;
    assert((known?.["enum"] as unknown as readonly string[]).includes(error), error);
  }
  assert("Cache-Control" in (post.responses["200"]?.headers ?? {}));
  assert("WWW-Authenticate" in (post.responses["401"]?.headers ?? {}));
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
      const response = document.paths[v2Path({ path })]?.[method.toLowerCase()]?.responses[String(status)];
      if (response === undefined) throw new Error(`${method} ${place} is ${status}, which is not described`);
      const known = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
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
