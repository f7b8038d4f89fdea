// A refresh while a pending write is delivered: the list of the backend is older than the store.

import { assertEquals } from "@std/assert";
import type { MemoryBackend } from "../../fakes/memory_backend.ts";
import { ACTOR, group, openStage, user } from "./stage.ts";

/** Before the start: the backend makes its lists first, and returns the pages after `between`. */
function listEarly(backend: MemoryBackend, between: (kind: "user" | "group") => Promise<void>): void {
  const list = backend.list.bind(backend);
  Object.assign(backend, {
    async *list(kind: "user" | "group") {
      const pages = await Array.fromAsync(list(kind));
      await between(kind);
      yield* pages;
    },
  });
}

for (const shape of [{ cloud: "async", local: "store" }, { local: "store", cloud: "async" }] as const) {
  for (const late of ["user", "group"] as const) {
    Deno.test(
      `refreshAll() keeps a write that is delivered after the list of ${late}s was made, ${
        Object.keys(shape)
      }`,
      async () => {
        await using stage = await openStage({ shape });
        const cloud = stage.backend("cloud");
        let isLate = false;
        listEarly(cloud, async (kind) => {
          if (!isLate || kind !== late) return;
          cloud.heal();
          await stage.becomes("all is delivered", isIdle);
        });
        const { target } = await stage.start();
        const isIdle = () => target.pendingWrites(1).length === 0;
        for (const name of ["anna", "ben"]) await target.create(user(name), { actor: ACTOR });
        await target.create(group("staff", ["anna", "ben"]), { actor: ACTOR });
        await stage.becomes("all arrives", isIdle);
        cloud.trouble({ operation: "put", how: "before" });
        await target.replace(user("anna", { title: "ours" }), { actor: ACTOR });
        await target.replace({ ...user("ben"), active: false }, { actor: ACTOR });
        stage.clock.advance(1000);
        isLate = true;
        assertEquals((await target.refreshAll(ACTOR)).faults, []);
        await target.replace(user("ben"), { actor: ACTOR });
        const [anna, staff] = await Promise.all([
          target.directory.read("user", "anna"),
          target.directory.read("group", "staff"),
        ]);
        assertEquals([anna?.content, staff?.content], [
          user("anna", { title: "ours" }),
          group("staff", ["anna"]),
        ]);
        assertEquals([anna?.backends.cloud?.differs, staff?.backends.cloud?.differs], [undefined, undefined]);
      },
    );
  }
}
