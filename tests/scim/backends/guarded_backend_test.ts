// The guard of a backend: time limits, call limits, the circuit breaker, and health.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { guardBackend } from "../../../scim/backends/guarded_backend.ts";
import { BackendListError, localError } from "../../../scim/backends/backend_error.ts";
import type { Backend, BackendOutcome } from "../../../scim/backend_port.ts";
import { createMemoryBackend } from "../../fakes/memory_backend.ts";
import { createManualClock, settle } from "../../upstream/manual_clock.ts";
import { silentLog } from "./silent_log.ts";
import { listAll, user } from "./suite.ts";

type Answer = BackendOutcome<null>;

function open(change: Partial<Backend> = {}) {
  const clock = createManualClock();
  const log = silentLog();
  const memory = createMemoryBackend({ clock });
  const guarded = guardBackend({ ...memory, ...change }, {
    connections: 1,
    clock,
    random: createSystemRandom(),
    log,
  });
  return { ...guarded, clock, log, memory };
}

const away: Answer = {
  ok: false,
  fault: { kind: "unreachable", detail: "no route", unsure: false, retry: true },
};

Deno.test("guardBackend() ends a call that never answers, and reports that it may have been done", async () => {
  const { clock, backend } = open({ remove: () => new Promise<Answer>(() => undefined) });
  const asked = backend.remove("user", "anna");
  await settle();
  clock.advance(60_000);
  const outcome = await asked;
  assert(!outcome.ok && outcome.fault.unsure && outcome.fault.retry);
  assertEquals(clock.timers(), 0);
});

Deno.test("guardBackend() treats a call that rejects as one that may have been done", async () => {
  const { backend } = open({ remove: () => Promise.reject(new TypeError("secret words")) });
  const outcome = await backend.remove("user", "anna");
  assert(!outcome.ok && outcome.fault.unsure && !outcome.fault.detail.includes("secret"));
});

Deno.test("guardBackend() runs eight calls of a connection at once, queues 2,000, and refuses the rest", async () => {
  const answers: ((answer: Answer) => void)[] = [];
  const { backend, health } = open({
    remove: () => new Promise<Answer>((resolve) => answers.push(resolve)),
  });
  const calls = Array.from({ length: 2100 }, (_, n) => backend.remove("user", `u${n}`));
  await settle();
  assertEquals(answers.length, 8);
  const turnedAway = await Promise.all(calls.slice(2008));
  assert(
    turnedAway.every((outcome) => !outcome.ok && outcome.fault.kind === "busy" && !outcome.fault.unsure),
  );
  assertEquals(health(), { lastGoodMs: null, lastFault: null });
  assertEquals(await backend.probe(), { ok: true, value: null }, "a health check waits behind nothing");
  for (let done = 0; done < 2008; done++) {
    if (answers[done] === undefined) await settle();
    assert(answers.length - done <= 8);
    answers[done]?.({ ok: true, value: null });
  }
  assert((await Promise.all(calls.slice(0, 2008))).every(({ ok }) => ok));
});

Deno.test("guardBackend() stops calling after three failures: for half a second, then twice as long each time", async () => {
  const { backend, clock, log } = open({ probe: () => Promise.resolve(away) });
  for (let count = 0; count < 3; count++) assertEquals(await backend.probe(), away);
  for (const retryAfterMs of [500, 1000, 2000, 4000, 8000, 15_000, 15_000]) {
    const detail = "the directory did not answer recently and is not called for a moment";
    const fault = { kind: "unreachable", detail, unsure: false, retry: true, retryAfterMs } as const;
    assertEquals(await backend.read("user", "anna"), { ok: false, fault });
    await assertRejects(() => listAll(backend, "user"), BackendListError, detail);
    clock.advance(retryAfterMs);
    assertEquals(await backend.probe(), away);
  }
  assertEquals(log.lines, [
    { message: "ldap backend unreachable", fields: { backend: "memory", detail: "no route" } },
  ]);
});

Deno.test("guardBackend() checks a password only while the backend answers, and the verdict does not change health", async () => {
  const { backend, health } = open({
    probe: () => Promise.resolve(away),
    verify: () => Promise.resolve({ ok: true, value: "wrong" }),
  });
  const password = new Uint8Array(0);
  assertEquals(await backend.verify?.("anna", password), { ok: true, value: "wrong" });
  assertEquals(health(), { lastGoodMs: null, lastFault: null });
  for (let count = 0; count < 3; count++) await backend.probe();
  const refused = await backend.verify?.("anna", password);
  assertEquals(refused?.ok, false);
});

Deno.test("guardBackend() records a refusal as an answer and as a fault", async () => {
  const refusal = { kind: "refused", detail: "x".repeat(1000), unsure: false, retry: true } as const;
  const { backend, clock, health } = open({ probe: () => Promise.resolve({ ok: false, fault: refusal }) });
  await backend.probe();
  const atMs = clock.nowMs();
  assertEquals(health(), {
    lastGoodMs: atMs,
    lastFault: { atMs, kind: "refused", detail: "x".repeat(300) },
  });
});

Deno.test("guardBackend() records a listing as an answer, and a failed listing as a fault", async () => {
  const { backend, clock, memory, health } = open();
  const startMs = clock.nowMs();
  await memory.put({ content: user("anna") });
  assertEquals(health(), { lastGoodMs: null, lastFault: null });
  assertEquals((await listAll(backend, "user")).length, 1);
  assertEquals(health(), { lastGoodMs: startMs, lastFault: null });
  clock.advance(1000);
  memory.trouble({ operation: "list", how: "before" });
  await assertRejects(() => listAll(backend, "user"), BackendListError);
  assertEquals([health().lastGoodMs, health().lastFault?.atMs], [startMs, startMs + 1000]);
  await backend.close();
});

Deno.test("guardBackend() continues a listing while the circuit breaker is open", async () => {
  const { backend } = open({
    put: () => Promise.resolve(away as BackendOutcome<never>),
    async *list() {
      for (let page = 0; page < 3; page++) yield await Promise.resolve([]);
    },
  });
  let pages = 0;
  for await (const _page of backend.list("user")) {
    pages++;
    for (let failures = 0; failures < 3; failures++) await backend.put({ content: user("anna") });
  }
  assertEquals(pages, 3);
  await assertRejects(() => listAll(backend, "user"), BackendListError, "did not answer recently");
});

Deno.test("guardBackend() records the fault of a later page of a listing", async () => {
  const { backend, health } = open({
    async *list() {
      yield await Promise.resolve([]);
      throw new BackendListError(away.ok ? localError("busy", "").fault : away.fault);
    },
  });
  await assertRejects(() => listAll(backend, "user"), BackendListError, "no route");
  assertEquals(health().lastFault?.detail, "no route");
});

Deno.test("guardBackend() ends the backend's listing when a reader stops early", async () => {
  let ended = false;
  const { backend } = open({
    async *list() {
      try {
        for (;;) yield await Promise.resolve([]);
      } finally {
        ended = true;
      }
    },
  });
  for await (const _page of backend.list("user")) break;
  assertEquals(ended, true);
});

Deno.test("guardBackend() does not treat a full connection limit as an answer of the backend", async () => {
  const answers: Answer[] = [
    away,
    away,
    { ok: false, fault: localError("busy", "no connection").fault },
    away,
  ];
  const { backend, health, log } = open({ remove: () => Promise.resolve(answers.shift() ?? away) });
  for (let n = 0; n < 4; n++) await backend.remove("user", "anna");
  const refused = await backend.remove("user", "anna");
  assert(!refused.ok && refused.fault.detail.includes("did not answer recently"));
  assertEquals([health().lastGoodMs, health().lastFault?.kind], [null, "unreachable"]);
  assertEquals(log.lines.length, 1);
});
