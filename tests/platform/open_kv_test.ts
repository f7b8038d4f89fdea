// Opening the store: a file, a KV Connect endpoint, and one sentence for each fault of an endpoint.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type KvOpenDeps, openKv, StoreFault } from "../../platform/open_kv.ts";
import type { Clock } from "../../platform/runtime.ts";

const TOKEN = "a-very-secret-token";
const URL_OF_KV = "https://kv.example.com";
const METADATA = JSON.stringify({ version: 3, endpoints: [] });
/** Its timers run as soon as nothing else happens. */
const HASTY: Clock = {
  nowMs: () => 0,
  after(_delayMs, task) {
    const timer = setTimeout(task, 50);
    return () => clearTimeout(timer);
  },
};
/** Its timers never run. */
const PATIENT: Clock = { nowMs: () => 0, after: () => () => undefined };

const metadata = () => Promise.resolve(new Response(METADATA));
const open = (deps: Partial<KvOpenDeps>) =>
  openKv(URL_OF_KV, {
    clock: PATIENT,
    token: TOKEN,
    fetch: metadata,
    open: () => Deno.openKv(":memory:"),
    ...deps,
  });

interface Fault {
  readonly name: string;
  readonly deps: Partial<KvOpenDeps>;
  /** The problem and the remedy. */
  readonly says: readonly [string, string];
}

const answering = (status: number, body = ""): Partial<KvOpenDeps> => ({
  fetch: () => Promise.resolve(new Response(body, { status })),
});
const never = () => new Promise<never>(() => undefined);

const FAULTS: readonly Fault[] = [
  {
    name: "no token",
    deps: { token: "" },
    says: ["DENO_KV_ACCESS_TOKEN is not set", "Set it to the access token"],
  },
  {
    name: "a token that the server refuses",
    deps: answering(401, `no ${TOKEN}`),
    says: ["refuses the access token", "Set DENO_KV_ACCESS_TOKEN"],
  },
  { name: "a forbidden database", deps: answering(403), says: ["refuses the access token", "Set DENO_KV"] },
  { name: "another path", deps: answering(404), says: ["not a KV Connect endpoint", "Correct the address"] },
  { name: "a redirect", deps: answering(301), says: ["redirects", "Set store.kv to that address"] },
  { name: "a server that fails", deps: answering(503), says: ["fails (HTTP 503)", "try again"] },
  {
    name: "a web page",
    deps: answering(200, "<html>"),
    says: ["not that of a KV Connect", "Correct the address"],
  },
  {
    name: "other JSON",
    deps: answering(200, "[1]"),
    says: ["not that of a KV Connect", "Correct the address"],
  },
  {
    name: "a host that refuses the connection",
    deps: { fetch: () => Promise.reject(new TypeError("tcp connect error: Connection refused")) },
    says: ["connection refused", "Check that the server runs"],
  },
  {
    name: "a server that does not answer",
    deps: { clock: HASTY, fetch: never },
    says: ["did not answer within 10 s", "Check that it runs"],
  },
  {
    name: "a server that answers only the metadata exchange",
    deps: { clock: HASTY, open: never },
    says: ["did not answer within 10 s", "Check that it runs"],
  },
  {
    name: "a fault of the runtime that quotes the token",
    deps: { open: () => Promise.reject(new TypeError(`bad\nanswer ${TOKEN}`)) },
    says: ["bad\\u000aanswer …", "Check store.kv"],
  },
];

for (const { name, deps, says } of FAULTS) {
  Deno.test(`openKv() explains ${name} in one sentence, without the token`, async () => {
    const { message } = await assertRejects(() => open(deps), StoreFault);
    assert(message.startsWith(`Cannot open the store "${URL_OF_KV}": `), message);
    for (const part of says) assertStringIncludes(message, part);
    assert(!message.includes(TOKEN) && !message.includes("\n"), message);
  });
}

Deno.test("openKv() sends the token to the endpoint before it opens the store", async () => {
  const requests: unknown[] = [];
  const kv = await open({
    fetch: (url, { method, headers, redirect }) => {
      requests.push({ url, method, redirect, authorization: new Headers(headers).get("authorization") });
      return metadata();
    },
  });
  kv.close();
  assertEquals(requests, [
    { url: URL_OF_KV, method: "POST", redirect: "manual", authorization: `Bearer ${TOKEN}` },
  ]);
});

Deno.test("openKv() closes a store that opens after the deadline", async () => {
  const late = Promise.withResolvers<Deno.Kv>();
  await assertRejects(() => open({ clock: HASTY, open: () => late.promise }), StoreFault);
  const kv = await Deno.openKv(":memory:");
  late.resolve(kv);
  await late.promise;
  await new Promise((resolve) => setTimeout(resolve, 0));
  await assertRejects(() => kv.get(["x"]));
});

Deno.test("openKv() closes a store that does not answer a read", async () => {
  const kv = await Deno.openKv(":memory:");
  Object.defineProperty(kv, "get", { value: never });
  let isClosed = false;
  const close = kv.close.bind(kv);
  kv.close = () => (isClosed = true, close());
  await assertRejects(
    () => open({ clock: HASTY, open: () => Promise.resolve(kv) }),
    StoreFault,
    "did not answer",
  );
  assert(isClosed);
});

Deno.test("openKv() creates a file that only its owner can read", async () => {
  const home = await Deno.makeTempDir({ prefix: "countersign-kv-" });
  const kv = await openKv(`${home}/store.kv`);
  await kv.set(["x"], 1);
  kv.close();
  assertEquals(((await Deno.stat(`${home}/store.kv`)).mode ?? 0) & 0o777, 0o600);
  await Deno.remove(home, { recursive: true });
});
