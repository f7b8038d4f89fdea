// The lower bound: Hono with Deno KV and nothing else. floor.ts <store file> <users>; it prints the port. Records are
// stored by name and by order, as the text of the answer: no permissions, no search, no audit, no checks.

import { Hono } from "hono";
import { PAGE_SIZE } from "./operations.ts";
import { personAt, userBody } from "./people.ts";

const HEADERS = { "content-type": "application/scim+json" };
/** Deno KV accepts 1,000 changes and 800 KiB in an atomic operation. */
const AT_ONCE = 250;

interface Kept {
  readonly order: number;
  readonly text: string;
}

const [file = "", userCount = ""] = Deno.args;
const users = Number(userCount);
const kv = await Deno.openKv(file);
let next = await fill();

/** As long as a SCIM response for the same user. */
function answerText(body: string, name: string): string {
  return `{"id":${JSON.stringify(name)},"externalId":${JSON.stringify(name)},"meta":${
    JSON.stringify({
      resourceType: "User",
      created: "2026-01-01T00:00:00.000Z",
      lastModified: "2026-01-01T00:00:00.000Z",
      location: `http://127.0.0.1:65535/idm/scim/default/Users/${name}`,
      version: 'W/"1.0"',
    })
  },${body.slice(1)}`;
}

async function fill(): Promise<number> {
  for (let from = 0; from < users; from += AT_ONCE) {
    const atomic = kv.atomic();
    for (let order = from; order < Math.min(users, from + AT_ONCE); order++) {
      const person = personAt(order);
      keep(atomic, person.userName, { order, text: answerText(userBody(person), person.userName) });
    }
    await atomic.commit();
  }
  return users;
}

function keep(atomic: Deno.AtomicOperation, name: string, kept: Kept): void {
  atomic.set(["user", name], kept).set(["order", kept.order], kept.text);
}

const app = new Hono();
app.get("/Users", async (c) => {
  const from = (Number(c.req.query("page") ?? 1) - 1) * PAGE_SIZE;
  const texts: string[] = [];
  const selector = { start: ["order", from], end: ["order", from + PAGE_SIZE] };
  for await (const { value } of kv.list<string>(selector, { batchSize: PAGE_SIZE })) texts.push(value);
  const head = `"totalResults":${next},"startIndex":${from + 1},"itemsPerPage":${texts.length}`;
  return c.body(`{${head},"Resources":[${texts.join(",")}]}`, 200, HEADERS);
});
app.get("/Users/:name", async (c) => {
  const { value } = await kv.get<Kept>(["user", c.req.param("name")]);
  return value === null ? c.body(null, 404) : c.body(value.text, 200, HEADERS);
});
app.post("/Users", async (c) => {
  const body = await c.req.text();
  const name = String(JSON.parse(body).userName);
  const text = answerText(body, name);
  const atomic = kv.atomic().check({ key: ["user", name], versionstamp: null });
  keep(atomic, name, { order: next++, text });
  const { ok } = await atomic.commit();
  return ok ? c.body(text, 201, HEADERS) : c.body(null, 409);
});
app.put("/Users/:name", async (c) => {
  const name = c.req.param("name");
  const body = await c.req.text();
  JSON.parse(body);
  const before = await kv.get<Kept>(["user", name]);
  if (before.value === null) return c.body(null, 404);
  const text = answerText(body, name);
  const atomic = kv.atomic();
  keep(atomic, name, { order: before.value.order, text });
  await atomic.commit();
  return c.body(text, 200, HEADERS);
});

const server = Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(JSON.stringify({ port })),
}, app.fetch);
Deno.addSignalListener("SIGTERM", () => void server.shutdown().then(() => Deno.exit(0)));
