// The fake backend passes the same suite as the real ones.

import { assertEquals } from "@std/assert";
import { systemClock } from "../../../platform/runtime.ts";
import { createMemoryBackend } from "../../fakes/memory_backend.ts";
import { testBackend, user, value } from "./suite.ts";

testBackend("createMemoryBackend()", {
  register: (name, body) => Deno.test(name, body),
  open: () => {
    const backend = createMemoryBackend({ clock: systemClock });
    return Promise.resolve({ backend, storesUnknownMembers: true, dispose: () => backend.close() });
  },
});

testBackend("createMemoryBackend({ knownMembersOnly })", {
  register: (name, body) => Deno.test(name, body),
  open: () => {
    const backend = createMemoryBackend({ clock: systemClock, knownMembersOnly: true });
    return Promise.resolve({ backend, dispose: () => backend.close() });
  },
});

Deno.test("createMemoryBackend() fails as configured: before or after a call, a number of times, for one name", async () => {
  const backend = createMemoryBackend({ clock: systemClock });
  backend.trouble({ operation: "put", how: "before", times: 1 });
  backend.trouble({ operation: "put", name: "Zoe", how: "after", fault: { kind: "refused" } });
  assertEquals((await backend.put({ content: user("anna") })).ok, false);
  assertEquals(backend.users.size, 0);
  value(await backend.put({ content: user("anna") }));
  const unsure = await backend.put({ content: user("zoe") });
  assertEquals(unsure.ok ? null : [unsure.fault.kind, unsure.fault.unsure], ["refused", true]);
  assertEquals([...backend.users.keys()], ["anna", "zoe"]);
  backend.heal();
  value(await backend.put({ content: user("zoe") }));
  assertEquals(backend.calls.map(({ ok }) => ok), [false, true, false, true]);
});
