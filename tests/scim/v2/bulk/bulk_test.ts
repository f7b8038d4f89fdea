// Bulk requests (RFC 7644 §3.7): order by bulkId, circles, failOnErrors and limits.

import { assert, assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import {
  BULK_LIMITS,
  type BulkOperationResult,
  type BulkPlan,
  type BulkRunDeps,
  planBulk,
  runBulk,
} from "../../../../scim/v2/bulk/bulk_plan.ts";
import {
  type BulkRequestOperation,
  referencesOf,
  replaceReferences,
} from "../../../../scim/v2/bulk/bulk_references.ts";
import { createTargetSchemas } from "../../../../scim/v2/schema/target_schemas.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";

const MESSAGE = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const SCHEMAS = createTargetSchemas();
/** A resource that can refer to others. The plan does not know which kinds of members exist. */
const user = (bulkId: string, data: JsonObject = {}): JsonObject => {
  return { method: "POST", path: "/Groups", bulkId, data };
};
const refersTo = (...ids: readonly string[]): JsonObject => {
  return { members: ids.map((id) => ({ value: `bulkId:${id}` })) };
};
const run = (plan: BulkPlan, execute: BulkRunDeps["execute"]) => runBulk(plan, { schemas: SCHEMAS, execute });

function planned(operations: readonly JsonValue[], more: JsonObject = {}): BulkPlan {
  const outcome = planBulk({ schemas: [MESSAGE], Operations: operations, ...more }, {
    octets: 100,
    schemas: SCHEMAS,
  });
  if (!outcome.ok) throw new Error(outcome.problem.detail);
  return outcome.plan;
}

const order = (plan: BulkPlan) => plan.operations.map(({ index }) => index);
const created = ({ index }: BulkRequestOperation): BulkOperationResult => {
  return { ok: true, status: 201, location: `/x/${index}`, id: `id${index}` };
};
const failed: BulkOperationResult = { ok: false, status: 409, response: {} };

Deno.test("planBulk() keeps the order of independent operations", () => {
  const plan = planned([user("a"), { method: "DELETE", path: "/Users/1" }, user("b"), {
    method: "patch",
    path: "/Users/1",
    data: {},
  }]);
  assertEquals(order(plan), [0, 1, 2, 3]);
  assertEquals(plan.operations[3]?.method, "PATCH");
  assertEquals([plan.refused, plan.failOnErrors], [[], Infinity]);
});

Deno.test("planBulk() runs an operation after those that it refers to", () => {
  const group = { method: "POST", path: "/Groups", bulkId: "g", data: refersTo("a", "b") };
  assertEquals(order(planned([group, user("a"), user("b")])), [1, 2, 0]);
  const path = { method: "PATCH", path: "/Groups/bulkId:g", data: {} };
  assertEquals(order(planned([path, group, user("a"), user("b")])), [2, 3, 1, 0]);
});

Deno.test("planBulk() keeps the order of operations on one path", () => {
  const change = { method: "PUT", path: "/Groups/1", data: refersTo("a") };
  assertEquals(order(planned([change, { method: "DELETE", path: "/Groups/1" }, user("a")])), [2, 0, 1]);
});

/** The bulkIds of references that are set later, by operation. */
const laterOf = (plan: BulkPlan) => plan.operations.map(({ bulkId, later = [] }) => [bulkId, ...later]);

Deno.test("planBulk() creates resources of a circle without one reference, also one that refers to itself", () => {
  const plan = planned([
    user("a", refersTo("b")),
    user("b", refersTo("a")),
    user("c", refersTo("c")),
    { method: "PUT", path: "/Groups/1", data: refersTo("a") },
    user("d"),
  ]);
  assertEquals(order(plan), [1, 0, 2, 3, 4]);
  assertEquals([laterOf(plan), plan.refused], [[["b", "a"], ["a"], ["c", "c"], [null], ["d"]], []]);
  const long = planned([
    user("a", refersTo("b", "c")),
    user("b", refersTo("c")),
    user("c", refersTo("a", "b")),
  ]);
  assertEquals(laterOf(long), [["c", "a", "b"], ["b"], ["a"]]);
});

Deno.test("planBulk() orders the largest request in a time that grows with its size alone", () => {
  const count = BULK_LIMITS.maxOperations;
  const all = Array.from({ length: count }, (_, at) => `${at}`);
  // Each operation waits for the next one, and for many others.
  const operations = all.map((id, at) => user(id, refersTo(...all.slice(at + 1, at + 30))));
  let visits = 0;
  const counted = operations.map((one) => ({
    ...one,
    get path() {
      visits++;
      return "/Groups";
    },
  }));
  const plan = planned(counted as JsonObject[]);
  assertEquals(order(plan), all.map(Number).reverse());
  assert(visits <= 2 * count, `${visits} reads of ${count} operations`);
});

const REFUSED: readonly JsonValue[] = [
  5,
  { method: "GET", path: "/Users" },
  { method: "POST", path: "/Users", data: {} },
  { method: "POST", path: "/Users", bulkId: "", data: {} },
  { method: "POST", path: "/Users", bulkId: "x".repeat(257), data: {} },
  { method: "POST", path: "Users", bulkId: "x", data: {} },
  { method: "PUT", path: "/Users/1" },
  { method: "PUT", path: "/Users/1", data: [] },
  { method: "PUT", path: "/Users/1", data: {}, version: 5 },
  { method: "PUT", path: "/Groups/1", data: refersTo("unknown") },
  { method: "PUT", path: "/Users/1", data: { [ENTERPRISE]: { manager: "bulkId:unknown" } } },
  { method: "DELETE", path: "/Users/bulkId:unknown" },
  user("first"),
];

for (const operation of REFUSED) {
  Deno.test(`planBulk() refuses only the operation ${JSON.stringify(operation).slice(0, 90)}`, () => {
    const plan = planned([user("first"), operation]);
    assertEquals(order(plan), [0]);
    assertEquals(plan.refused.map(({ index, problem }) => [index, problem.status]), [[1, 400]]);
  });
}

Deno.test("planBulk() limits the operations and the size", () => {
  const { maxOperations, maxPayloadSize } = BULK_LIMITS;
  const body = (count: number) => {
    return { schemas: [MESSAGE], Operations: Array.from({ length: count }, (_, at) => user(`${at}`)) };
  };
  const plan = (operations: number, octets: number) =>
    planBulk(body(operations), { octets, schemas: SCHEMAS });
  assert(plan(maxOperations, maxPayloadSize).ok);
  for (const outcome of [plan(maxOperations + 1, 1), plan(1, maxPayloadSize + 1)]) {
    assertEquals(outcome.ok ? 200 : outcome.problem.status, 413);
  }
});

Deno.test("planBulk() refuses bodies that are not a bulk message", () => {
  const bodies: readonly JsonValue[] = [null, [], {}, { schemas: ["urn:x"], Operations: [] }, {
    schemas: [MESSAGE],
  }, {
    schemas: [MESSAGE],
    Operations: [],
    failOnErrors: 0,
  }, { schemas: [MESSAGE], Operations: [], failOnErrors: "1" }];
  for (const body of bodies) {
    const outcome = planBulk(body, { octets: 1, schemas: SCHEMAS });
    assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "invalidSyntax", JSON.stringify(body));
  }
});

Deno.test("runBulk() replaces references by ids and answers in the order of the request", async () => {
  const data = { ...refersTo("a"), displayName: "bulkId:a", deep: { list: ["bulkId:a"] } };
  const ran: BulkRequestOperation[] = [];
  const entries = await run(
    planned([{ method: "PUT", path: "/Groups/bulkId:a", data }, user("a")]),
    (one) => {
      ran.push(one);
      return Promise.resolve(created(one));
    },
  );
  assertEquals(ran.map(({ path }) => path), ["/Groups", "/Groups/id1"]);
  assertEquals(ran[1]?.data, { ...data, members: [{ value: "id1" }] });
  assertEquals(entries.map(({ operation }) => operation.index), [0, 1]);
});

Deno.test("runBulk() does not run an operation that refers to one that failed", async () => {
  const ran: number[] = [];
  const entries = await run(planned([user("a"), user("b", refersTo("a")), user("c")]), (one) => {
    ran.push(one.index);
    return Promise.resolve(one.index === 0 ? failed : created(one));
  });
  assertEquals(ran, [0, 2]);
  assertEquals(entries.map(({ result }) => result.ok), [false, false, true]);
});

Deno.test("runBulk() ends after failOnErrors errors, and counts refused operations", async () => {
  const operations = [user("a"), user("b"), user("c"), user("d")];
  const indexes = async (list: readonly JsonValue[], failOnErrors: number) => {
    const entries = await run(
      planned(list, { failOnErrors }),
      ({ index }) => Promise.resolve(index < 2 ? failed : created({ index } as BulkRequestOperation)),
    );
    return entries.map(({ operation }) => operation.index);
  };
  assertEquals(await indexes(operations, 1), [0]);
  assertEquals(await indexes(operations, 2), [0, 1]);
  assertEquals(await indexes(operations, 3), [0, 1, 2, 3]);
  assertEquals(await indexes([user("a"), null, user("c")], 1), [1]);
});

const PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

Deno.test("runBulk() sets the references of a circle in a second pass, as soon as they exist", async () => {
  const ran: BulkRequestOperation[] = [];
  const operations = [
    { ...user("a", { ...refersTo("b"), displayName: "A" }) },
    { ...user("b", { ...refersTo("a", "c"), displayName: "B" }) },
    { method: "DELETE", path: "/Groups/bulkId:b" },
    user("c"),
  ];
  const entries = await run(planned(operations), (one) => {
    ran.push(one);
    return Promise.resolve(created(one));
  });
  assertEquals(ran.map(({ method, path }) => `${method} ${path}`), [
    ...["POST /Groups", "POST /Groups", "POST /Groups", "PATCH /Groups/id1", "DELETE /Groups/id1"],
  ]);
  assertEquals(ran.slice(1, 4).map(({ data }) => data), [
    { members: [{ value: "id3" }], displayName: "B" },
    { members: [{ value: "id1" }], displayName: "A" },
    {
      schemas: [PATCH_OP],
      Operations: [{ op: "add", value: { members: [{ value: "id0" }, { value: "id3" }] } }],
    },
  ]);
  assertEquals(entries.map(({ result }) => result.ok), [true, true, true, true]);
});

Deno.test("runBulk() answers 409 for a reference of a circle only after the attempt failed", async () => {
  const operations = [user("a", refersTo("b")), user("b", refersTo("a")), user("self", refersTo("self"))];
  const entriesOf = (isFailed: (one: BulkRequestOperation) => boolean) =>
    run(planned(operations), (one) => Promise.resolve(isFailed(one) ? failed : created(one)));
  const statuses = async (isFailed: (one: BulkRequestOperation) => boolean) => {
    const entries = await entriesOf(isFailed);
    return entries.map(({ result }) => "problem" in result ? result.problem.status : result.status);
  };
  assertEquals(await statuses(() => false), [201, 201, 201]);
  assertEquals(await statuses(({ method }) => method === "PATCH"), [201, 409, 409]);
  assertEquals(await statuses(({ index, method }) => method === "POST" && index === 0), [409, 409, 201]);
  assertEquals(await statuses(({ index, method }) => method === "POST" && index === 1), [409, 409, 201]);
  // What was created is named, so that the client does not create it again.
  const [, second] = await entriesOf(({ index, method }) => method === "POST" && index === 0);
  assert(JSON.stringify(second?.result).includes("The resource id1 was created"), JSON.stringify(second));
});

/** The data of an operation, and the references in it. */
const POSITIONS: readonly (readonly [path: string, data: JsonObject, references: readonly string[]])[] = [
  ["/Users", { userName: "bulkId:a", displayName: "bulkId:a", emails: [{ value: "bulkId:a" }] }, []],
  ["/Users", { [ENTERPRISE]: { manager: { value: "bulkId:a", displayName: "bulkId:b" } } }, ["a"]],
  ["/Users", { [ENTERPRISE]: { manager: "bulkId:a", department: "bulkId:b" } }, ["a"]],
  ["/Users", { [`${ENTERPRISE}:manager`]: { $ref: "bulkId:a" } }, ["a"]],
  ["/groups", { displayName: "bulkId:b", MEMBERS: [{ Value: "bulkId:a" }, "bulkId:c"] }, ["a", "c"]],
  ["/Roles", { members: [{ value: "bulkId:a" }] }, []],
];
const PATCHES: readonly (readonly [path: string, operation: JsonObject, references: readonly string[]])[] = [
  ["/Groups/1", { op: "remove", path: 'members[value eq "bulkId:a" and display eq "bulkId:b"]' }, ["a"]],
  ["/Groups/1", { op: "add", path: "members", value: [{ value: "bulkId:a" }] }, ["a"]],
  ["/Groups/1", { op: "Add", Path: "MEMBERS", Value: "bulkId:a" }, ["a"]],
  ["/Groups/1", { op: "replace", path: "displayName", value: "bulkId:a" }, []],
  ["/Groups/1", { op: "replace", value: { displayName: "bulkId:b", members: [{ value: "bulkId:a" }] } }, [
    "a",
  ]],
  ["/Users/1", { op: "replace", path: "manager", value: "bulkId:a" }, ["a"]],
  ["/Users/1", { op: "replace", path: `${ENTERPRISE}:manager.value`, value: "bulkId:a" }, ["a"]],
  ["/Users/1", { op: "replace", path: ENTERPRISE, value: { manager: { value: "bulkId:a" } } }, ["a"]],
  ["/Users/1", { op: "replace", value: { "manager.value": "bulkId:a" } }, ["a"]],
  ["/Users/1", { op: "add", path: 'emails[value eq "bulkId:a"].value', value: "bulkId:a" }, []],
];

for (
  const [path, data, references] of [
    ...POSITIONS,
    ...PATCHES.map(([path, one, ids]) => [path, { schemas: [PATCH_OP], Operations: [one] }, ids] as const),
  ]
) {
  Deno.test(`replaceReferences() finds [${references}] in ${path} ${JSON.stringify(data).slice(-110)}`, () => {
    const method = path.endsWith("/1") ? "PATCH" : "POST";
    const operation = { index: 0, method, path, bulkId: "x", version: null, data } as const;
    assertEquals([...referencesOf(operation, SCHEMAS)], [...references]);
    const done = replaceReferences(operation, SCHEMAS, (id) => `id-${id}`);
    const text = JSON.stringify(data);
    const wanted = references.reduce((one, id) =>
      one.replace(`"bulkId:${id}"`, `"id-${id}"`)
        .replace(`\\"bulkId:${id}\\"`, `\\"id-${id}\\"`), text);
    assertEquals(JSON.stringify(done.data), wanted);
  });
}

Deno.test("planBulk() never throws, and every operation is planned after its references or refused", () => {
  const id = fc.constantFrom("a", "b", "c", "d", "__proto__");
  const operation = fc.oneof(
    fc.record({ bulkId: id, refs: fc.array(id, { maxLength: 2 }) }).map(({ bulkId, refs }) =>
      user(bulkId, refersTo(...refs))
    ),
    fc.array(id, { maxLength: 2 }).map((refs): JsonObject => {
      return { method: "PUT", path: "/Groups/1", data: refersTo(...refs) };
    }),
    fc.jsonValue({ maxDepth: 2 }),
  );
  fc.assert(fc.property(fc.array(operation, { maxLength: 8 }), (operations) => {
    const plan = planned(operations as JsonValue[]);
    const indexes = [...order(plan), ...plan.refused.map(({ index }) => index)].sort((a, b) => a - b);
    assertEquals(indexes, operations.map((_, at) => at));
    const done = new Set<string>();
    for (const { method, bulkId, data, path, later } of plan.operations) {
      const text = path === "/Groups" || path === "/Groups/1" ? JSON.stringify(data) : "";
      for (const [, reference = ""] of text.matchAll(/"value":"bulkId:(\w+)"/g)) {
        // One that refers to a refused operation runs into it.
        const isRefused = plan.refused.some((one) => one.bulkId === reference);
        assert(isRefused || done.has(reference) !== (later?.has(reference) === true), text);
      }
      if (method === "POST" && bulkId !== null) done.add(bulkId);
    }
  }));
});
