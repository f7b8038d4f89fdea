// Tests of the load generator with a minimal server: correct counts, correct requests, and detection of wrong answers.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createDraw, type LoadPlan, quantile, readStatus, runPlan } from "./generator.ts";
import { answerFault, type OperationName } from "./operations.ts";
import { groupMembers, personAt } from "./people.ts";

const PLAN: LoadPlan = {
  port: 0,
  operation: "get",
  dialect: { base: "/base", authorization: "Bearer it", paging: "page", filter: "q" },
  users: 500,
  firstNew: 1000,
  connections: 4,
  warmUpMs: 0,
  measuredMs: 20_000,
  maxRequests: 40,
  seed: 7,
};

interface Seen {
  readonly line: string;
  readonly authorization: string | null;
  readonly body: string;
}

/** Runs a plan with a server that answers as told, and returns the result. */
async function against(answer: (seen: Seen) => Response, plan: Partial<LoadPlan> = {}) {
  const seen: Seen[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const one = {
        line: `${request.method} ${pathname}${search}`,
        authorization: request.headers.get("authorization"),
        body: await request.text(),
      };
      seen.push(one);
      return answer(one);
    },
  );
  const result = await runPlan({ ...PLAN, port: server.addr.port, ...plan });
  return { seen, result };
}

const user = () => Response.json({ userName: "somebody" });

Deno.test("runPlan() sends at most the given number of requests, over persistent connections, and times each", async () => {
  const { seen, result } = await against(user);
  assertEquals([seen.length, result.answered, result.wrong], [40, 40, 0]);
  assert(result.p50Ms > 0 && result.p50Ms <= result.p99Ms && result.p99Ms <= result.maxMs);
  assert(seen.every(({ authorization }) => authorization === "Bearer it"));
  assert(new Set(seen.map(({ line }) => line)).size > 20, "it asks for many different people");
});

Deno.test("runPlan() measures a server that is slower than the given time", async () => {
  const { result } = await against(user, { measuredMs: 0, connections: 1 });
  assertEquals(result.answered, 1);
});

Deno.test("runPlan() creates no person twice, and sends the length of a body", async () => {
  const { seen } = await against(() => Response.json({ userName: "x" }, { status: 201 }), {
    operation: "create",
  });
  const names = new Set(seen.map(({ body }) => JSON.parse(body).userName));
  assertEquals(names.size, 40);
  assert(names.has(personAt(1000).userName) && names.has(personAt(1039).userName));
});

Deno.test("runPlan() adds a member to the group, and removes it again", async () => {
  const everybody = Response.json({ members: groupMembers(500) });
  const { seen } = await against(() => everybody.clone(), {
    operation: "member",
    connections: 1,
    maxRequests: 4,
  });
  assertEquals(seen.map(({ body }) => JSON.parse(body).members.length), [10_001, 10_000, 10_001, 10_000]);
});

Deno.test("runPlan() counts wrong answers and keeps the first", async () => {
  const { result } = await against(() => new Response("no", { status: 503 }));
  assertEquals(result.wrong, 40);
  assertEquals(result.fault, "503 instead of 200: no");
});

Deno.test("runPlan() rejects when the server breaks off", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const breaking = (async () => {
    for await (const connection of listener) connection.close();
  })();
  try {
    await assertRejects(() => runPlan({ ...PLAN, port: listener.addr.port, connections: 1 }), Error);
  } finally {
    listener.close();
    await breaking;
  }
});

Deno.test("answerFault() accepts only a correct answer to the operation", () => {
  const rows: [OperationName, string, boolean][] = [
    ["page", JSON.stringify({ Resources: Array(100).fill({}) }), true],
    ["page", JSON.stringify({ Resources: Array(99).fill({}) }), false],
    ["equal", JSON.stringify({ totalResults: 1, Resources: [{}] }), true],
    ["equal", JSON.stringify({ totalResults: 0, Resources: [] }), false],
    ["get", "{}", false],
    ["get", "<html>", false],
  ];
  for (const [operation, text, good] of rows) {
    assertEquals(
      answerFault(operation, { status: 200, text, users: 500 }) === null,
      good,
      `${operation} ${text}`,
    );
  }
});

Deno.test("readStatus() reads an answer's head, and refuses one without a length", () => {
  assertEquals(readStatus("HTTP/1.1 201 Created\r\nContent-Length: 12\r\nx: y"), {
    status: 201,
    bodyOctets: 12,
  });
  assertEquals(readStatus("HTTP/1.1 204 No Content"), { status: 204, bodyOctets: 0 });
  assertThrows(() => readStatus("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked"), Error, "Content-Length");
  assertThrows(() => readStatus("SSH-2.0-x"), Error, "begins");
});

Deno.test("createDraw() returns the same numbers for the same seed, over the whole range", () => {
  const draws = (seed: number) => {
    const draw = createDraw(seed);
    return Array.from({ length: 1000 }, () => draw(10));
  };
  assertEquals(draws(1), draws(1));
  assert(JSON.stringify(draws(1)) !== JSON.stringify(draws(2)));
  assertEquals(new Set(draws(3)), new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
});

Deno.test("quantile() returns the value that the share does not exceed", () => {
  const sorted = Float64Array.from({ length: 100 }, (_, at) => at + 1);
  assertEquals([quantile(sorted, 0.5), quantile(sorted, 0.99), quantile(sorted, 1)], [50, 99, 100]);
  assert(Number.isNaN(quantile(new Float64Array(0), 0.5)));
});

Deno.test("personAt() never returns one name twice, and gives adjacent numbers different names", () => {
  const people = Array.from({ length: 20_000 }, (_, at) => personAt(at));
  assertEquals(new Set(people.map(({ userName }) => userName)).size, 20_000);
  assertEquals(new Set(people.map(({ givenName }) => givenName)).size, 256);
  assert(new Set(people.map(({ familyName }) => familyName)).size > 4000);
});
