// SCIM over HTTP on several nodes: each request waits for the writes of the other nodes, and a revoked credential is refused by all nodes.

import { assertEquals } from "@std/assert";
import { createLog } from "../../../platform/log.ts";
import { createPasswordHasher, type PasswordHasher } from "../../../platform/password_hasher.ts";
import { type Clock, createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import { createVault } from "../../../platform/vault.ts";
import { Credentials } from "../../../scim/http/credentials.ts";
import { ScimRefusal } from "../../../scim/http/refusals.ts";
import { openNode } from "../../fakes/shared_store.ts";
import { userContent } from "../../fakes/scim_target.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { openSite } from "../http/site.ts";

Deno.test("a request is answered after the node has the writes of the others", async () => {
  let put = (): void => undefined;
  const store = {
    async catchUp() {
      await new Promise((resolve) => setTimeout(resolve, 5));
      put();
    },
  };
  await using site = await openSite({ store });
  put = () => void site.target.put(userContent("anna"));
  assertEquals((await site.call("/Users/anna")).status, 200);
});

const BROKEN_STORES = [
  { title: "fails", catchUp: () => Promise.reject(new Error("connection closed")) },
  { title: "does not answer", catchUp: () => new Promise<void>(() => undefined) },
];

for (const { title, catchUp } of BROKEN_STORES) {
  Deno.test(`a request gets 503 with Retry-After while the store ${title}`, async () => {
    const clock = {
      nowMs: systemClock.nowMs,
      after: (_delayMs: number, task: () => void) => systemClock.after(5, task),
    };
    await using site = await openSite({ clock, store: { catchUp } });
    site.target.put(userContent("anna"));
    const { status, headers, json } = await site.call("/Users/anna");
    assertEquals([status, headers.get("retry-after"), headers.get("content-type")], [
      503,
      "5",
      "application/scim+json",
    ]);
    assertEquals(json.detail, "The store does not answer. Try again in a moment.");
  });
}

const random = createSystemRandom();

/** The credentials of one node. */
async function openCredentials(kv: Deno.Kv, node: string, clock: Clock = systemClock) {
  const { store } = await openNode(kv, node);
  const sound = createPasswordHasher({ random, cost: { costLog2: 4 } });
  let hashed = 0;
  const hasher: PasswordHasher = {
    ...sound,
    check(password, hash) {
      hashed++;
      return sound.check(password, hash);
    },
  };
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const credentials = new Credentials({ store, vault, clock, random, hasher, log, settings: [] });
  return { store, credentials, hashed: () => hashed };
}

Deno.test("a credential that one node revokes is refused by a node that has checked it a moment ago", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await openCredentials(kv, "a"), await openCredentials(kv, "b")];
  const actor = { name: "command", source: "" };
  const given = { name: "hr", password: "a password of twelve" };
  const check = async () => (await b.credentials.check(given, "192.0.2.1"))?.name ?? null;
  await a.credentials.add({ ...given, targets: ["default"], access: "write" }, actor);
  assertEquals([await check(), await check()], ["hr", "hr"]);
  const pending = check();
  await a.credentials.revoke("hr", actor);
  await b.store.catchUp();
  await pending;
  assertEquals(await check(), null);
});

Deno.test("guesses of a credential on two nodes count together, and beyond the limit one check a second is made", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const [a, b] = [await openCredentials(kv, "a", clock), await openCredentials(kv, "b", clock)];
  const guess = async (at: number): Promise<unknown> => {
    const { store, credentials } = at % 2 === 0 ? a : b;
    await store.catchUp();
    try {
      return await credentials.check({ name: "saas", password: `guess ${at}` }, "192.0.2.1");
    } catch (fault) {
      return fault instanceof ScimRefusal ? fault.code : fault;
    }
  };
  const outcomes: unknown[] = [];
  for (let at = 0; at < 8; at++) outcomes.push(await guess(at));
  const refused = "too_many_failures";
  assertEquals(outcomes, [null, null, null, null, null, refused, refused, refused]);
  assertEquals([a.hashed(), b.hashed()], [3, 3]);
  clock.advance(60_001);
  assertEquals(await guess(0), null);
});
