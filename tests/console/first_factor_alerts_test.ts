// Alerts about one of several servers, which check the first factor or are those of a backend: a warning while others replace it, critical when
// none answers.

import { assertEquals } from "@std/assert";
import { observeAlertStates } from "../../console/api/alerts/alert_states.ts";
import { firstFactorParts, serverPart } from "../../console/api/health/health_parts.ts";
import type { Health } from "../../console/api/health/health.ts";
import type { FirstFactorServerStatus } from "../../radius/ports.ts";
import type { ObservedState } from "../../platform/alerts/alert_rules.ts";
import { createManualClock } from "../fakes/console_app.ts";

const ROWS: readonly (readonly [FirstFactorServerStatus["state"], state: string, severity: string])[] = [
  ["answers", "ok", "critical"],
  ["unknown", "unknown", "critical"],
  ["down", "bad", "warning"],
  ["all_down", "bad", "critical"],
];

const BACKEND = {
  id: "backend:corp/ad/192.0.2.20:636",
  kind: "backend",
  name: "corp / ad: 192.0.2.20:636",
} as const;
const KINDS = [
  {
    part: (state: FirstFactorServerStatus["state"]) =>
      firstFactorParts([{ server: "192.0.2.20:1812", client: "vpn", lastAnswerMs: 0, fault: "", state }]),
    expected: ["service_failing", "first_factor:192.0.2.20:1812", "first_factor"],
  },
  {
    part: (state: FirstFactorServerStatus["state"]) => [
      serverPart({ server: "192.0.2.20:636", lastAnswerMs: 0, fault: "", state }, BACKEND),
    ],
    expected: ["backend_failing", BACKEND.id, undefined],
  },
];

for (
  const [is, state, severity, { part, expected }] of ROWS.flatMap((row) =>
    KINDS.map((kind) => [...row, kind] as const)
  )
) {
  Deno.test(`the alert state of a server that is "${is}": ${expected[1]}`, async () => {
    let observe: () => Promise<readonly ObservedState[]> = () => Promise.resolve([]);
    const deps = {
      clock: createManualClock(),
      alerts: { observe: (given: typeof observe) => observe = given },
      tokens: { list: () => Promise.resolve([]) },
    };
    const health = {
      parts: () => Promise.resolve(part(is)),
      testAll: () => Promise.resolve(),
    };
    observeAlertStates(
      deps as unknown as Parameters<typeof observeAlertStates>[0],
      health as unknown as Health,
    );
    const [observed] = await observe();
    assertEquals(
      [observed?.kind, observed?.about, observed?.values["of"], observed?.state, observed?.severity],
      [...expected, state, severity],
    );
  });
}
