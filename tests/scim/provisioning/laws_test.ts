// A law of writes: after all failures are repaired, every backend has the acknowledged writes, and the store reports
// it.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { ScimRefusal } from "../../../scim/http/refusals.ts";
import type { Content } from "../../../scim/schema/resource.ts";
import { BackendCopies, hasResource, readStatus } from "../../../scim/provisioning/backend_status.ts";
import { createStore } from "../../../platform/store.ts";
import { ACTOR, openStage, type Process, type Stage, user } from "./stage.ts";

const SHAPE = { local: "store", a: "sync", b: "sync", cloud: "async" } as const;
const BACKENDS = ["local", "a", "b", "cloud"] as const;
const REMOTE = ["a", "b", "cloud"] as const;
const NAMES = ["anna", "ben"] as const;

const named = fc.subarray([...BACKENDS], { minLength: 1 });
const write = fc.record({
  type: fc.constantFrom("create" as const, "replace" as const, "remove" as const),
  name: fc.constantFrom(...NAMES),
  backends: fc.oneof(named, fc.constant([...BACKENDS])),
});
const trouble = fc.record({
  type: fc.constant("trouble" as const),
  backend: fc.constantFrom(...REMOTE),
  operation: fc.constantFrom("read" as const, "put" as const, "remove" as const),
  how: fc.constantFrom("before" as const, "after" as const),
  times: fc.integer({ min: 1, max: 3 }),
  retry: fc.boolean(),
});
const step = fc.oneof(
  { weight: 6, arbitrary: write },
  { weight: 3, arbitrary: trouble },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("restart" as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("wait" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The title of the acknowledged writes, by backend and name. */
type Model = Map<string, string>;

async function writeOnce(
  { target }: Process,
  { type, name, backends }: Extract<Step, { name: string }>,
  { model, title }: { model: Model; title: string },
): Promise<void> {
  const options = { actor: ACTOR, backends };
  try {
    if (type === "remove") await target.remove("user", name, options);
    else await target[type](user(name, { title }), options);
  } catch (fault) {
    if (fault instanceof ScimRefusal && fault.code !== "internal") return;
    throw fault;
  }
  for (const backend of backends) {
    if (type === "remove") model.delete(`${backend} ${name}`);
    else model.set(`${backend} ${name}`, title);
  }
}

async function play(stage: Stage, steps: readonly Step[]): Promise<Model> {
  const model: Model = new Map();
  let process = await stage.start();
  for (const [at, step] of steps.entries()) {
    if (step.type === "trouble") {
      const fault = step.retry ? {} : { kind: "refused" as const, retry: false };
      const { backend, operation, how, times } = step;
      stage.backend(backend).trouble({ operation, how, times, fault });
    } else if (step.type === "restart") {
      process.kill();
      process = await stage.start();
    } else if (step.type === "wait") {
      stage.clock.advance(3000);
    } else await writeOnce(process, step, { model, title: `${at}` });
  }
  for (const backend of REMOTE) stage.backend(backend).heal();
  await stage.becomes("the outbox is empty", async () => {
    await process.target.retryDeadLetters({});
    return (await stage.below("outbox")).length + (await stage.below("dead_letter")).length === 0;
  });
  return model;
}

const titleOf = (content: Content | null | undefined): unknown => content?.attributes.title;

Deno.test("law: after every failure is repaired, backends have the acknowledged content, and the store reports it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      await using stage = await openStage({ shape: SHAPE });
      const model = await play(stage, steps);
      const store = createStore(stage.kv);
      const { directory } = stage.target();
      const copies = new BackendCopies({ store, target: "corp" });
      for (const name of NAMES) {
        const standing = await readStatus(copies, await directory.read("user", name));
        for (const backend of BACKENDS) {
          const expected = model.get(`${backend} ${name}`);
          const known = hasResource(standing.backends[backend]);
          const said = known ? titleOf(standing.copies.get(backend) ?? standing.content) : undefined;
          assertEquals(said, expected, `the store of ${name} on ${backend}`);
          if (backend === "local") continue;
          assertEquals(
            titleOf(stage.backend(backend).users.get(name)?.content),
            expected,
            `${name} on ${backend}`,
          );
        }
      }
      assertEquals(await stage.below("intent"), []);
      assertEquals(await stage.below("owed"), []);
    }),
    { numRuns: 60 },
  );
});
