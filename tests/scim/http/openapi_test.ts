// The OpenAPI description says what the table of routes says, and holds together.

import { assert, assertEquals } from "@std/assert";
import { QUERY_PARAMETERS, type RouteRow, SCIM_ROUTES } from "../../../scim/facts/routes.ts";
import { DEED_FACTS, methodsOf, openApiDocument, openApiText, pathsOf } from "../../../scim/http/openapi.ts";

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
    for (const path of pathsOf(row)) {
      for (const method of methodsOf(row)) {
        const operation = paths[path]?.[method];
        if (operation === undefined) throw new Error(`${method} ${path} is not described`);
        const listed = operation.parameters.map(({ $ref }) => $ref.split("/").at(-1));
        for (const name of row.query) assert(listed.includes(name));
        const ignored = Object.keys(QUERY_PARAMETERS).filter((name) => listed.includes(name));
        if (row.supported) assertEquals(ignored, [...row.query]);
        const { success, body } = DEED_FACTS[row.does];
        if (row.supported) assert(String(success) in operation.responses && "401" in operation.responses);
        else assert("501" in operation.responses && operation.description.includes(`"${row.operation}"`));
        if (body) assert(operation.requestBody !== undefined);
      }
    }
  });
}

/** Every value below, with the path to it. */
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

Deno.test("openApiDocument() refers only to what it has, and uses all that it has", () => {
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
