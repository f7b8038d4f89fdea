// What health knows of a backend: every answer counts, also a listing, which is how a refresh reads.

import { assertEquals, assertRejects } from "@std/assert";
import { BackendListFault } from "../../../scim/backends/list_fault.ts";
import { watchBackend } from "../../../scim/backends/watched.ts";
import { createMemoryBackend } from "../../fakes/memory_backend.ts";
import { systemClock } from "../../../runtime.ts";
import { user } from "./suite.ts";

async function listAll(backend: ReturnType<typeof watchBackend>["backend"]): Promise<number> {
  let count = 0;
  for await (const page of backend.list("user")) count += page.length;
  return count;
}

Deno.test("watchBackend() notes a listing as an answer, and a listing that fails as a fault", async () => {
  let nowMs = 1000;
  const inner = createMemoryBackend({ clock: systemClock });
  await inner.put({ content: user("anna") });
  const { backend, standing } = watchBackend(inner, { clock: { nowMs: () => nowMs } });
  assertEquals(standing(), { lastGoodMs: null, lastFault: null });
  assertEquals(await listAll(backend), 1);
  assertEquals(standing(), { lastGoodMs: 1000, lastFault: null });
  nowMs = 2000;
  inner.trouble({ operation: "list", how: "before" });
  await assertRejects(() => listAll(backend), BackendListFault);
  assertEquals([standing().lastGoodMs, standing().lastFault?.atMs], [1000, 2000]);
  await backend.close();
});
