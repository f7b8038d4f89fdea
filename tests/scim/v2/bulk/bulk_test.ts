// Bulk requests (RFC 7644 §3.7): order by bulkId, circles, failOnErrors and limits.

import { assert, assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import {
  BULK_LIMITS,
  type BulkPlan,
  type BulkRequestOperation,
  planBulk,
} from "../../../../scim/v2/bulk/bulk_plan.ts";
import { type BulkOperationResult, runBulk } from "../../../../scim/v2/bulk/bulk_run.ts";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";

const MESSAGE = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const user = (bulkId: string, data: JsonObject = {}): JsonObject => {
  return { method: "POST", path: "/Users", bulkId, data };
};
const refersTo = (...ids: readonly string[]): JsonObject => {
  return { members: ids.map((id) => ({ value: `bulkId:${id}` })) };
};

function planned(operations: readonly JsonValue[], more: JsonObject = {}): BulkPlan {
  const outcome = planBulk({ schemas: [MESSAGE], Operations: operations, ...more }, 100);
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
  const patch = { method: "PATCH", path: "/Groups/1", data: refersTo("a") };
  assertEquals(order(planned([patch, { method: "DELETE", path: "/Groups/1" }, user("a")])), [2, 0, 1]);
});

Deno.test("planBulk() refuses circular references with 409, and what refers to them", () => {
  const plan = planned([
    user("a", refersTo("b")),
    user("b", refersTo("a")),
    user("c", refersTo("c")),
    { method: "PUT", path: "/Groups/1", data: refersTo("a") },
    user("d"),
  ]);
  assertEquals(order(plan), [4]);
  assertEquals(
    plan.refused.map(({ index, problem }) => [index, problem.status]),
    [0, 1, 2, 3].map((at) => [at, 409]),
  );
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
  { method: "PUT", path: "/Users/1", data: { x: "bulkId:unknown" } },
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
  assert(planBulk(body(maxOperations), maxPayloadSize).ok);
  for (const outcome of [planBulk(body(maxOperations + 1), 1), planBulk(body(1), maxPayloadSize + 1)]) {
    assertEquals(outcome.ok ? 200 : outcome.problem.status, 413);
  }
});

Deno.test("planBulk() refuses bodies that are not a bulk message", () => {
  const bodies: readonly JsonValue[] = [null, [], {}, { Operations: [] }, { schemas: [MESSAGE] }, {
    schemas: [MESSAGE],
    Operations: [],
    failOnErrors: 0,
  }, { schemas: [MESSAGE], Operations: [], failOnErrors: "1" }];
  for (const body of bodies) {
    const outcome = planBulk(body, 1);
    assertEquals(outcome.ok ? outcome : outcome.problem.scimType, "invalidSyntax", JSON.stringify(body));
  }
});

Deno.test("runBulk() replaces references by ids and answers in the order of the request", async () => {
  const data = { ...refersTo("a"), deep: { list: ["bulkId:a", "a bulkId:a"] } };
  const ran: BulkRequestOperation[] = [];
  const entries = await runBulk(
    planned([{ method: "PUT", path: "/Groups/bulkId:a", data }, user("a")]),
    (one) => {
      ran.push(one);
      return Promise.resolve(created(one));
    },
  );
  assertEquals(ran.map(({ path }) => path), ["/Users", "/Groups/id1"]);
  assertEquals(ran[1]?.data, { members: [{ value: "id1" }], deep: { list: ["id1", "a bulkId:a"] } });
  assertEquals(entries.map(({ operation }) => operation.index), [0, 1]);
});

Deno.test("runBulk() does not run an operation that refers to one that failed", async () => {
  const ran: number[] = [];
  const entries = await runBulk(planned([user("a"), user("b", refersTo("a")), user("c")]), (one) => {
    ran.push(one.index);
    return Promise.resolve(one.index === 0 ? failed : created(one));
  });
  assertEquals(ran, [0, 2]);
  assertEquals(entries.map(({ result }) => result.ok), [false, false, true]);
});

Deno.test("runBulk() ends after failOnErrors errors, and counts refused operations", async () => {
  const operations = [user("a"), user("b"), user("c"), user("d")];
  const run = async (list: readonly JsonValue[], failOnErrors: number) => {
    const entries = await runBulk(
      planned(list, { failOnErrors }),
      ({ index }) => Promise.resolve(index < 2 ? failed : created({ index } as BulkRequestOperation)),
    );
    return entries.map(({ operation }) => operation.index);
  };
  assertEquals(await run(operations, 1), [0]);
  assertEquals(await run(operations, 2), [0, 1]);
  assertEquals(await run(operations, 3), [0, 1, 2, 3]);
  assertEquals(await run([user("a"), null, user("c")], 1), [1]);
});

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
    for (const { method, bulkId, data } of plan.operations) {
      const text = JSON.stringify(data);
      for (const [, reference = ""] of text.matchAll(/"bulkId:(\w+)"/g)) assert(done.has(reference), text);
      if (method === "POST" && bulkId !== null) done.add(bulkId);
    }
  }));
});
