// The OpenAPI description matches the table of routes and is consistent.

import { assert, assertEquals } from "@std/assert";
import { QUERY_PARAMETERS, type RouteRow, SCIM_ROUTES } from "../../../scim/http/routes.ts";
import { parseName } from "../../../scim/schema/resource_name.ts";
import {
  HANDLER_FACTS,
  openApiDocument,
  openApiMethods,
  openApiPaths,
  openApiText,
} from "../../../scim/http/openapi.ts";

interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly parameters: readonly { readonly $ref: string }[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const document = openApiDocument("https://gate.example.org");
const { paths } = JSON.parse(openApiText("https://gate.example.org")) as Document;

for (const row of SCIM_ROUTES as readonly RouteRow[]) {
  Deno.test(`openApiDocument() has ${row.method} ${row.path} (${row.operation})`, () => {
    for (const path of openApiPaths(row)) {
      for (const method of openApiMethods(row)) {
        const operation = paths[path]?.[method];
        if (operation === undefined) throw new Error(`${method} ${path} is not described`);
        const listed = operation.parameters.map(({ $ref }) => $ref.split("/").at(-1));
        for (const name of row.query) assert(listed.includes(name));
        const ignored = Object.keys(QUERY_PARAMETERS).filter((name) => listed.includes(name));
        if (row.supported) assertEquals(ignored, [...row.query]);
        const { success, body } = HANDLER_FACTS[row.handler];
        if (row.supported) assert(String(success) in operation.responses && "401" in operation.responses);
        else assert("501" in operation.responses && operation.description.includes(`"${row.operation}"`));
        if (body) assert(operation.requestBody !== undefined);
      }
    }
  });
}

/** Every value below, with its path. */
function* walk(value: unknown, at = "#"): Generator<readonly [at: string, value: unknown]> {
  yield [at, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* walk(inner, `${at}/${name}`);
}

function resolve(reference: string): unknown {
  return reference.slice(2).split("/").reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null ? new Map(Object.entries(value)).get(part) : undefined,
    document,
  );
}

Deno.test("openApiDocument() has every referenced component, and references all of them", () => {
  const used = new Set<string>();
  for (const [at, value] of walk(document)) {
    if (!at.endsWith("/$ref") || typeof value !== "string") continue;
    assert(resolve(value) !== undefined, `${at}: ${value}`);
    used.add(value);
  }
  for (const part of ["schemas", "parameters"]) {
    const there = resolve(`#/components/${part}`);
    if (typeof there !== "object" || there === null) throw new Error(`${part} is not there`);
    for (const name of Object.keys(there)) assert(used.has(`#/components/${part}/${name}`), name);
  }
});

Deno.test("openApiDocument() names each operation once, and each parameter of a path", () => {
  const ids: string[] = [];
  for (const [path, item] of Object.entries(paths)) {
    const { parameters, ...operations } = item as unknown as Record<string, Operation> & {
      parameters: { name: string }[];
    };
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assertEquals(parameters.map(({ name }) => name), inPath as string[]);
    for (const { operationId } of Object.values(operations)) ids.push(operationId);
  }
  assertEquals(new Set(ids).size, ids.length);
  for (const id of ids) assert(/^[a-z][A-Za-z]+$/.test(id), id);
});

function variantsAt(reference: string): readonly Schema[] {
  return schemaAt(reference).anyOf as readonly Schema[];
}

/** A schema of the description, with its reference resolved. */
function schemaAt(reference: string): Schema {
  const found = resolve(reference);
  if (typeof found !== "object" || found === null) throw new Error(`${reference} is not described`);
  return "$ref" in found && typeof found.$ref === "string" ? schemaAt(found.$ref) : found as Schema;
}

interface Schema {
  readonly [keyword: string]: unknown;
}

const USER = "#/components/schemas/User/properties";
const GROUP = "#/components/schemas/Group/properties";
const QUERY = "#/components/parameters";

Deno.test("openApiDocument() has the server's limits of names, in bodies and paths", () => {
  const inPaths = Object.values(paths).flatMap(({ parameters }) =>
    (parameters as unknown as readonly { name: string; schema: Schema }[])
      .filter(({ name }) => name !== "target_id").map(({ schema }) => schema)
  );
  assert(inPaths.length >= 2);
  for (const schema of [schemaAt(`${USER}/userName`), schemaAt(`${GROUP}/displayName`), ...inPaths]) {
    const { minLength, maxLength, pattern } = schema;
    assertEquals([minLength, maxLength], [1, 256]);
    const isName = (text: string) => new RegExp(String(pattern), "u").test(text);
    for (const text of NAMES) assertEquals(isName(text), parseName(text).ok, JSON.stringify(text));
  }
  // Another attribute of the same name is not a name.
  assertEquals(schemaAt(`${USER}/displayName`).maxLength, undefined);
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

Deno.test("openApiDocument() has the server's limits of passwords, lists, backends and pages", () => {
  const { minLength, maxLength } = schemaAt(`${USER}/password`);
  assertEquals([minLength, maxLength], [1, 1024]);
  for (const name of ["emails", "phoneNumbers", "addresses"]) {
    const [list, ...entry] = variantsAt(`${USER}/${name}`);
    assertEquals([list?.["type"], list?.["maxItems"]], ["array", 10_000], name);
    // A request may have the only entry, or its text.
    assertEquals(entry.map(({ type }) => type), ["object", "string"], name);
  }
  const backends = schemaAt(`${QUERY}/backends/schema`);
  assertEquals([backends.minItems, backends.items], [1, { type: "string", minLength: 1 }]);
  const page = schemaAt(`${QUERY}/page/schema`);
  assertEquals([page.minimum, page.maximum], [1, Number.MAX_SAFE_INTEGER]);
});

Deno.test("openApiDocument() lists the required fields of a member", () => {
  const [list] = variantsAt(`${GROUP}/members`);
  const { type, maxItems, items } = list ?? {};
  assertEquals([type, maxItems], ["array", 50_000]);
  const { anyOf = [] } = items as { anyOf?: readonly Schema[] };
  const [text, object] = anyOf;
  assertEquals([anyOf.length, text?.["type"], text?.["minLength"], text?.["maxLength"]], [
    2,
    "string",
    1,
    256,
  ]);
  const ways = object?.["anyOf"] as readonly {
    required: readonly string[];
    properties: Record<string, Schema>;
  }[];
  assertEquals(ways.map(({ required }) => required), [["display"], ["value"]]);
  for (const { required: [name = ""], properties } of ways) assertEquals(properties[name]?.["minLength"], 1);
  assertEquals(ways[1]?.properties["display"], { maxLength: 0 });
});

Deno.test("openApiDocument() describes the headers of refusals, those of every answer, and 421", () => {
  const REFUSAL_HEADERS: Readonly<Record<string, string>> = {
    401: "WWW-Authenticate",
    405: "Allow",
    429: "Retry-After",
    503: "Retry-After",
  };
  const { headers } = schemaAt("#/components/responses/MethodNotAllowed");
  assert("Allow" in (headers as Schema));
  const seen = new Set(["405"]);
  for (const item of Object.values(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (method === "parameters") continue;
      assert("421" in operation.responses, operation.operationId);
      for (const [status, response] of Object.entries(operation.responses)) {
        const { headers = {} } = response as { headers?: Record<string, unknown> };
        const name = REFUSAL_HEADERS[status];
        if (name !== undefined) {
          assert(name in headers, `${operation.operationId} ${status} ${name}`);
          seen.add(status);
        }
        if (status === "304") continue;
        for (const always of ["content-language", "vary", "x-frame-options"]) {
          assert(always in headers, `${operation.operationId} ${status} ${always}`);
        }
      }
    }
  }
  assertEquals([...seen].sort(), Object.keys(REFUSAL_HEADERS));
});
