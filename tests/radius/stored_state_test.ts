// The stores of the login target: another target can become it at run time.

import { assertEquals } from "@std/assert";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { NO_CHANGE } from "../../platform/write_batch.ts";
import { UsedSteps } from "../../radius/factors/used_steps.ts";
import { LoginDirectoryStores } from "../../radius/stored_state.ts";

Deno.test("the stores of the login target before no longer follow other nodes", async () => {
  const store = createStore(await Deno.openKv(":memory:"));
  const random = createSystemRandom();
  const log = createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined });
  const followed: string[] = [];
  const counting: Store = {
    ...store,
    follow(prefix, apply) {
      const name = prefix.join("/");
      followed.push(name);
      const end = store.follow(prefix, apply);
      return () => {
        followed.splice(followed.indexOf(name), 1);
        end();
      };
    },
  };
  const stores = new LoginDirectoryStores({
    store: counting,
    vault: createVault(random.bytes(32), random),
    clock: systemClock,
    random,
    usedSteps: new UsedSteps({ store, clock: systemClock, log, logins: { conversationTtlMs: 300_000 } }),
    remembersDevices: () => true,
    recordIdOf: () => null,
    endInvitations: () => NO_CHANGE,
  }, "corp");
  await stores.load();
  const before = followed.toSorted();
  const use = await stores.prepare("branch");
  assertEquals(followed.length, 2 * before.length, "both follow until the change");
  use();
  assertEquals(followed.toSorted(), before.map((name) => name.replace("/corp", "/branch")));
  assertEquals(stores.target, "branch");
  await store.close();
});
