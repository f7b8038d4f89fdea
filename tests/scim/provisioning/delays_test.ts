// The retry delay of a delivery, and when it is given up.

import { assertEquals } from "@std/assert";
import type { BackendFault } from "../../../scim/backend_port.ts";
import { isPermanent, retryDelayMs } from "../../../scim/provisioning/delivery.ts";

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
