// Calls to a backend: bounded in number and time, and never a rejection; and how long is waited before trying again.

import { assert, assertEquals } from "@std/assert";
import type { Backend, BackendFault, BackendOutcome } from "../../../scim/backend_port.ts";
import { isHopeless, retryDelayMs } from "../../../scim/targets/delays.ts";
import { createLink } from "../../../scim/targets/link.ts";
import { createMemoryBackend } from "../../fakes/memory_backend.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { settle } from "./stage.ts";

type Answer = BackendOutcome<null>;

function stageOf(remove: () => Promise<Answer>) {
  const clock = createManualClock();
  const backend: Backend = { ...createMemoryBackend({ clock }), remove };
  return { clock, link: createLink(backend, { clock, connections: 1 }) };
}

Deno.test("createLink() ends a call that never answers, and says that it may have been done", async () => {
  const { clock, link } = stageOf(() => new Promise<Answer>(() => undefined));
  const asked = link.remove("user", "anna");
  await settle();
  clock.advance(60_000);
  const outcome = await asked;
  assert(!outcome.ok && outcome.fault.unsure && outcome.fault.retry);
  assertEquals(clock.timers(), 0);
});

Deno.test("createLink() takes a call that rejects for one that may have been done", async () => {
  const { link } = stageOf(() => Promise.reject(new TypeError("secret words")));
  const outcome = await link.remove("user", "anna");
  assert(!outcome.ok && outcome.fault.unsure && !outcome.fault.detail.includes("secret"));
});

Deno.test("createLink() calls eight at once for a connection, lets 2,000 wait, and turns the rest away", async () => {
  const answers: ((answer: Answer) => void)[] = [];
  const { link } = stageOf(() => new Promise<Answer>((resolve) => answers.push(resolve)));
  const calls = Array.from({ length: 2100 }, (_, n) => link.remove("user", `u${n}`));
  await settle();
  assertEquals(answers.length, 8);
  const turnedAway = await Promise.all(calls.slice(2008));
  assert(
    turnedAway.every((outcome) => !outcome.ok && outcome.fault.kind === "busy" && !outcome.fault.unsure),
  );
  for (let done = 0; done < 2008; done++) {
    if (answers[done] === undefined) await settle();
    assert(answers.length - done <= 8);
    answers[done]?.({ ok: true, value: null });
  }
  assert((await Promise.all(calls.slice(0, 2008))).every(({ ok }) => ok));
});

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
    assertEquals(retryDelayMs(fault, { attempts, chance: 0 }), fromMs);
    assertEquals(retryDelayMs(fault, { attempts, chance: 1 }), toMs);
  });
}

Deno.test("isHopeless() gives up on what is refused for good, and on the fiftieth attempt unless the backend is away", () => {
  assertEquals(isHopeless({ ...FAULT, retry: false }, 1), true);
  assertEquals([49, 50].map((attempts) => isHopeless(FAULT, attempts)), [false, true]);
  assertEquals(isHopeless(AWAY, 5000), false);
});
