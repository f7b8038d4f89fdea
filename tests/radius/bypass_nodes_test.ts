// A bypass code on two nodes that share a store: each use counts once, and a revocation at one node holds at the other.

import { assertEquals } from "@std/assert";
import { BypassCodeStore } from "../../radius/factors/bypass_codes.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { openNode } from "../fakes/shared_store.ts";
import { createManualClock } from "../upstream/manual_clock.ts";

const clock = createManualClock();
const HOUR_MS = 3600_000;

async function createMember(kv: Deno.Kv, node: string) {
  const { store } = await openNode(kv, node);
  const random = createSystemRandom();
  const vault = createVault(new Uint8Array(32).fill(1), random);
  const codes = new BypassCodeStore({ store, vault, clock, random, target: "default" });
  await codes.load();
  return { store, codes };
}

type Member = Awaited<ReturnType<typeof createMember>>;

async function issue({ store, codes }: Member, uses: number | null): Promise<string> {
  const made = await codes.create("ada", { uses, expiresMs: clock.nowMs() + HOUR_MS, by: "hanna" });
  const done = await store.commit({ checks: made.checks, mutations: made.mutations });
  if (!done.ok) throw new Error("The code was not stored");
  made.adopt(done.versionstamp);
  return made.code;
}

/** Uses the code once, as a login does. */
async function use({ store, codes }: Member): Promise<boolean> {
  const used = codes.prepareUse("ada");
  if (used === null) return false;
  const { ok } = await store.commit({ checks: [used.check], mutations: [...used.mutations] });
  if (!ok) used.restore();
  return ok;
}

async function withTwo(body: (a: Member, b: Member) => Promise<void>): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  await body(await createMember(kv, "aaaaaaaa"), await createMember(kv, "bbbbbbbb"));
}

Deno.test("bypass codes: of two nodes that use the last use at the same time, one succeeds", async () => {
  await withTwo(async (a, b) => {
    const code = await issue(a, 1);
    await b.store.catchUp();
    assertEquals([b.codes.matches("ada", code), b.codes.status("ada")?.usesLeft], [true, 1]);
    const results = await Promise.all([use(a), use(b)]);
    assertEquals(results.toSorted(), [false, true]);
    await Promise.all([a.store.catchUp(), b.store.catchUp()]);
    assertEquals([a.codes.status("ada"), b.codes.status("ada")], [null, null]);
  });
});

Deno.test("bypass codes: two nodes together accept no more uses than the code has", async () => {
  await withTwo(async (a, b) => {
    await issue(a, 3);
    let accepted = 0;
    for (let round = 0; round < 4; round++) {
      await Promise.all([a.store.catchUp(), b.store.catchUp()]);
      accepted += (await Promise.all([use(a), use(b)])).filter((ok) => ok).length;
    }
    assertEquals(accepted, 3);
  });
});

Deno.test("bypass codes: a code that one node revoked or replaced is refused by the other, also before it knows", async () => {
  for (const uses of [1, null]) {
    await withTwo(async (a, b) => {
      await issue(a, uses);
      await b.store.catchUp();
      await a.store.commit({ mutations: [...a.codes.removeUser("ada").mutations] });
      assertEquals(await use(b), false, `revoked, ${uses}`);
    });
    await withTwo(async (a, b) => {
      const old = await issue(a, uses);
      await b.store.catchUp();
      await issue(a, uses);
      assertEquals(await use(b), false, `replaced, ${uses}`);
      await b.store.catchUp();
      assertEquals([b.codes.matches("ada", old), await use(b)], [false, true]);
    });
  }
});
