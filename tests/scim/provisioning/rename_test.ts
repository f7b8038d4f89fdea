// Renames across backends, and the delays of retries.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { MemoryTrouble } from "../../fakes/memory_network.ts";
import type { Target } from "../../../scim/ports.ts";
import { ACTOR, group, openStage, refusalOf, settled, type Shape, type Stage, user } from "./stage.ts";
import fc from "../../packages/fast_check.ts";
import {
  deleteChunkedText,
  readChunkedText,
  setChunkedText,
} from "../../../scim/provisioning/backend_status.ts";
import { NameHashSet } from "../../../scim/directory/name_hashes.ts";
import { createStore } from "../../../platform/store.ts";
import { createSingleFlight } from "../../../platform/semaphore.ts";
import type { BackendFault } from "../../../scim/backend_port.ts";
import { isPermanent, retryDelayMs } from "../../../scim/provisioning/delivery.ts";

// Renames at a target: the store and all backends have the new name, or all have the former one, also when a backend fails or the process crashes.

const OPTIONS = { actor: ACTOR };

const SHAPES: readonly Shape[] = [
  { local: "store" },
  { local: "store", a: "sync", b: "sync" },
  { a: "sync", local: "store" },
  { local: "store", a: "async" },
  { local: "store", a: "sync", b: "async" },
];

const byCase = (a: string, b: string) => a.toLowerCase() < b.toLowerCase() ? -1 : 1;

/** The names of the users everywhere, each once. */
async function namesEverywhere(stage: Stage, target: Target, shape: Shape): Promise<string[]> {
  const stored = (await Array.fromAsync(target.directory.all("user"))).map(({ content }) => content.name);
  const remote = Object.keys(shape).filter((name) => name !== "local")
    .map((name) => [...stage.backend(name).users.values()].map(({ content }) => content.name));
  return [...new Set([stored, ...remote].map((names) => names.toSorted(byCase).join(" ")))];
}

for (const shape of SHAPES) {
  const title = Object.entries(shape).map((one) => one.join(" ")).join(", ");

  Deno.test(`rename() gives a user another name and content everywhere: ${title}`, async () => {
    await using stage = await openStage({ shape });
    const { target } = await stage.start();
    const before = await target.create(user("Anna", { title: "Dr" }), OPTIONS);
    await target.create(user("bert"), OPTIONS);
    await target.create(group("staff", ["Anna", "bert"]), OPTIONS);
    await settled(stage, target);
    const written = await target.rename("user", "anna", user("Zoe", { title: "Prof" }), OPTIONS);
    assertEquals(written.stored?.id, before.stored?.id);
    assertEquals(
      written.receipt.entries.map(({ outcome }) => outcome),
      Object.values(shape).map((mode) => mode === "async" ? "queued" : "done"),
    );
    await settled(stage, target);
    assertEquals(await namesEverywhere(stage, target, shape), ["bert Zoe"]);
    const stored = await target.directory.read("user", "zoe");
    assertEquals(stored?.content.attributes.title, "Prof");
    assertEquals(
      Object.values(stored?.backends ?? {}).map(({ state }) => state),
      Object.keys(shape).map(() => "present"),
    );
    for (const name of Object.keys(shape).filter((one) => one !== "local")) {
      const backend = stage.backend(name);
      assertEquals(backend.users.get("zoe")?.content.attributes.title, "Prof");
      const staff = backend.groups.get("staff")?.content;
      assertEquals(staff?.kind === "group" && staff.members.map((one) => one.toLowerCase()).sort(), [
        "bert",
        "zoe",
      ]);
    }
    assertEquals(await stage.below("intent"), []);
    assertEquals(await stage.below("copy"), []);
    assertEquals(await stage.below("owed"), []);
  });

  Deno.test(`rename() is complete or not done after a crash at any commit: ${title}`, async () => {
    let crashes = 0;
    for (let dieAt = 0;; dieAt++) {
      assert(dieAt < 30, "the rename never ends");
      await using stage = await openStage({ shape });
      const first = await stage.start();
      await first.target.create(user("anna"), OPTIONS);
      await first.target.create(group("staff", ["anna"]), OPTIONS);
      await settled(stage, first.target);
      first.kill();
      const mortal = await stage.start({ dieAt });
      const isDone = await mortal.target.rename("user", "anna", user("zoe"), OPTIONS)
        .then(() => true, () => false);
      mortal.kill();
      const { target } = await stage.start();
      await settled(stage, target);
      const names = await namesEverywhere(stage, target, shape);
      assertEquals(names.length, 1, `died at ${dieAt}: ${names.join(" / ")}`);
      assert(names[0] === "zoe" || (!isDone && names[0] === "anna"), names[0]);
      const staff = (await target.directory.read("group", "staff"))?.content;
      assertEquals(staff?.kind === "group" && staff.members, names);
      for (const kind of ["intent", "copy", "owed", "chore"]) assertEquals(await stage.below(kind), []);
      if (isDone) break;
      crashes++;
    }
    assert(crashes >= 1);
  });
}

const TROUBLES: readonly { title: string; trouble: MemoryTrouble; code: string }[] = [
  {
    title: "cannot be reached",
    trouble: { operation: "rename", how: "before", times: 1 },
    code: "backend_unreachable",
  },
  {
    title: "fails after it did it",
    trouble: { operation: "rename", how: "after", times: 1 },
    code: "backend_unreachable",
  },
  {
    title: "refuses",
    trouble: { operation: "rename", how: "before", times: 1, fault: { kind: "refused", retry: false } },
    code: "backend_failed",
  },
];

for (const { title, trouble, code } of TROUBLES) {
  Deno.test(`rename() changes nothing when the second backend ${title}`, async () => {
    const shape = { local: "store", a: "sync", b: "sync" } as const;
    await using stage = await openStage({ shape });
    const { target } = await stage.start();
    await target.create(user("anna"), OPTIONS);
    stage.backend("b").trouble(trouble);
    const refusal = await refusalOf(target.rename("user", "anna", user("zoe"), OPTIONS));
    assertEquals(refusal.code, code);
    assertMatch(refusal.message, /"b"/);
    assertEquals(await namesEverywhere(stage, target, shape), ["anna"]);
    assertEquals(await stage.below("intent"), []);
    await target.rename("user", "anna", user("zoe"), OPTIONS);
    assertEquals(await namesEverywhere(stage, target, shape), ["zoe"]);
  });
}

Deno.test("rename() rolls back later when the backend fails during the rollback", async () => {
  const shape = { local: "store", a: "sync", b: "sync" } as const;
  await using stage = await openStage({ shape });
  const { target } = await stage.start();
  await target.create(user("anna"), OPTIONS);
  stage.backend("b").trouble({ operation: "rename", how: "before", times: 1 });
  stage.backend("a").trouble({ operation: "rename", name: "zoe", how: "before", times: 2 });
  const refusal = await refusalOf(target.rename("user", "anna", user("zoe"), OPTIONS));
  assertEquals(refusal.receipt?.entries.map(({ outcome }) => outcome), ["untried", "undoing", "failed"]);
  assertEquals(stage.backend("a").users.has("zoe"), true);
  assertEquals((await refusalOf(target.rename("user", "anna", user("zoe"), OPTIONS))).code, "busy");
  await settled(stage, target);
  assertEquals(await namesEverywhere(stage, target, shape), ["anna"]);
});

Deno.test("rename() refuses what it cannot do, and names the backend", async () => {
  await using stage = await openStage({ shape: { local: "store", a: "sync" }, renames: false });
  const { target } = await stage.start();
  const { stored } = await target.create(user("anna"), OPTIONS);
  const refusals = [
    await refusalOf(target.rename("user", "anna", user("zoe"), OPTIONS)),
    await refusalOf(target.rename("user", "unknown", user("zoe"), OPTIONS)),
    await refusalOf(target.rename("user", "anna", user("zoe"), { ...OPTIONS, ifVersion: "1.1" })),
  ];
  assertEquals(refusals.map(({ code }) => code), ["unsupported", "not_found", "precondition"]);
  assertMatch(refusals[0]?.message ?? "", /connector "a" cannot rename a user/);
  const respelled = await target.rename("user", "anna", user("Anna"), OPTIONS);
  assertEquals([respelled.stored?.content.name, respelled.stored?.id], ["Anna", stored?.id]);
});

Deno.test("rename() refuses a name that exists in the store or at a backend, and a subset of the backends", async () => {
  await using stage = await openStage({ shape: { local: "store", a: "sync" } });
  const { target } = await stage.start();
  await target.create(user("anna"), OPTIONS);
  await target.create(user("bert"), OPTIONS);
  await stage.backend("a").put({ content: user("zoe") });
  const refusals = [
    await refusalOf(target.rename("user", "anna", user("BERT"), OPTIONS)),
    await refusalOf(target.rename("user", "anna", user("zoe"), OPTIONS)),
    await refusalOf(target.rename("user", "anna", user("yara"), { ...OPTIONS, backends: ["local"] })),
  ];
  assertEquals(refusals.map(({ code }) => code), ["taken", "taken", "unsupported"]);
  assertMatch(refusals[1]?.message ?? "", /"a" already has/);
  assertEquals([...stage.backend("a").users.keys()].sort(), ["anna", "bert", "zoe"]);
});

Deno.test("rename() to the name of a user in the trash is possible", async () => {
  const shape = { local: "store", a: "sync", b: "async" } as const;
  await using stage = await openStage({ shape });
  const { target } = await stage.start();
  await target.create(user("zoe"), OPTIONS);
  await settled(stage, target);
  await target.remove("user", "zoe", OPTIONS);
  await target.create(user("anna"), OPTIONS);
  await target.rename("user", "anna", user("zoe", { title: "second" }), OPTIONS);
  await settled(stage, target);
  assertEquals(await namesEverywhere(stage, target, shape), ["zoe"]);
  assertEquals(stage.backend("b").users.get("zoe")?.content, user("zoe", { title: "second" }));
});

Deno.test("rename() records who renamed whom, under both names", async () => {
  await using stage = await openStage({ shape: { local: "store" } });
  const { target } = await stage.start();
  await target.create(user("Anna"), OPTIONS);
  await target.rename("user", "anna", user("Zoe"), OPTIONS);
  const last = (await stage.below("audit")).at(-1);
  const text = last instanceof Uint8Array ? new TextDecoder().decode(last) : JSON.stringify(last);
  for (const part of ["user.renamed", '"from":"Anna"', '"to":"Zoe"', "user:Anna", "user:Zoe"]) {
    assert(text.includes(part), `${part} is not in ${text}`);
  }
});

// The compact set of names, and texts that are longer than a value of the store.

Deno.test("NameHashSet contains what was added and, of 100,000 others, nothing", () => {
  const seen = new NameHashSet(12345);
  for (let n = 0; n < 100_000; n++) seen.add(`user${n}`);
  for (let n = 0; n < 100_000; n++) assert(seen.has(`user${n}`));
  let wrong = 0;
  for (let n = 100_000; n < 200_000; n++) if (seen.has(`user${n}`)) wrong++;
  assertEquals(wrong, 0);
  assert(!new NameHashSet(1).has("anybody"));
});

/**
 * A commit accepts 800 KiB, and a character takes at most two octets. Copies are shorter, and the intent log writes ten
 * parts in one commit. A piece of several emoji can be longer than twelve characters.
 */
const MAX_CHARACTERS_PER_COMMIT = 300_000;

Deno.test("law: a long text is read as it was set, over any other text, and a deletion leaves nothing", async () => {
  const kv = await Deno.openKv(":memory:");
  const store = createStore(kv);
  const key = ["copy", "corp"];
  const text = fc.tuple(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
    fc.integer({ min: 0, max: 12_000 }),
  )
    .map(([piece, times]) => piece.repeat(times).slice(0, MAX_CHARACTERS_PER_COMMIT));
  const longest = "\u4e2d".repeat(MAX_CHARACTERS_PER_COMMIT);
  await fc.assert(
    fc.asyncProperty(text, text, async (first, second) => {
      for (const written of [first, second]) {
        const before = (await readChunkedText(store, key))?.parts ?? 0;
        await store.commit({ mutations: setChunkedText(key, written, { before }) });
        assertEquals((await readChunkedText(store, key))?.text, written);
      }
      const parts = (await readChunkedText(store, key))?.parts ?? 0;
      await store.commit({ mutations: deleteChunkedText(key, parts) });
      for await (const { key: left } of kv.list({ prefix: [] })) throw new Error(`left: ${left.join(" ")}`);
    }),
    { numRuns: 30, examples: [[longest, "a"], ["a", longest]] },
  );
  await store.close();
});

Deno.test("createSingleFlight() continues after a run that fails", async () => {
  const turn = createSingleFlight<string>();
  const first = turn(() => Promise.reject(new Error("no"))).catch((fault: Error) => fault.message);
  const second = turn(() => Promise.resolve("second"));
  const third = turn(() => Promise.resolve("third"));
  assertEquals(await Promise.all([first, second, third]), ["no", "second", "second"]);
  assertEquals(await turn(() => Promise.resolve("fourth")), "fourth");
});

// The retry delay of a delivery, and when it is given up.

const FAULT: BackendFault = { kind: "refused", detail: "no", unsure: false, retry: true };
const AWAY: BackendFault = { ...FAULT, kind: "unreachable" };

const DELAYS = [
  { title: "first", fault: FAULT, attempts: 1, fromMs: 800, toMs: 1200 },
  { title: "second", fault: FAULT, attempts: 2, fromMs: 1600, toMs: 2400 },
  { title: "eleventh", fault: FAULT, attempts: 11, fromMs: 480_000, toMs: 720_000 },
  { title: "thousandth", fault: FAULT, attempts: 1000, fromMs: 480_000, toMs: 720_000 },
  { title: "of a backend that is away", fault: AWAY, attempts: 1000, fromMs: 48_000, toMs: 72_000 },
  { title: "asked for", fault: { ...AWAY, retryAfterMs: 90_000 }, attempts: 1, fromMs: 90_000, toMs: 90_000 },
  {
    title: "asked for without measure",
    fault: { ...AWAY, retryAfterMs: 1e12 },
    attempts: 1,
    fromMs: 3600_000,
    toMs: 3600_000,
  },
] as const;

for (const { title, fault, attempts, fromMs, toMs } of DELAYS) {
  Deno.test(`retryDelayMs(): ${title}`, () => {
    const delayMs = (octet: number) =>
      retryDelayMs(fault, attempts, { bytes: () => new Uint8Array([octet]) });
    assertEquals([delayMs(0), delayMs(255)], [fromMs, toMs]);
  });
}

Deno.test("isPermanent() gives up a permanent refusal, and the fiftieth attempt unless the backend is unavailable", () => {
  assertEquals(isPermanent({ ...FAULT, retry: false }, 1), true);
  assertEquals([49, 50].map((attempts) => isPermanent(FAULT, attempts)), [false, true]);
  assertEquals(isPermanent(AWAY, 5000), false);
});
