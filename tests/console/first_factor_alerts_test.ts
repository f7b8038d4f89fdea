// Alerts about first-factor servers: a warning while others replace one, critical when none answers.

import { assertEquals } from "@std/assert";
import { observeAlertStates } from "../../console/api/alerts/alert_states.ts";
import { firstFactorParts } from "../../console/api/health/health_parts.ts";
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

for (const [is, state, severity] of ROWS) {
  Deno.test(`the alert state of a first-factor server that is "${is}"`, async () => {
    const status = { server: "192.0.2.20:1812", client: "vpn", lastAnswerMs: 0, fault: "", state: is };
    let observe: () => Promise<readonly ObservedState[]> = () => Promise.resolve([]);
    const deps = {
      clock: createManualClock(),
      alerts: { observe: (given: typeof observe) => observe = given },
      tokens: { list: () => Promise.resolve([]) },
    };
    const health = {
      parts: () => Promise.resolve(firstFactorParts([status])),
      testAll: () => Promise.resolve(),
    };
    observeAlertStates(
      deps as unknown as Parameters<typeof observeAlertStates>[0],
      health as unknown as Health,
    );
    const [observed] = await observe();
    assertEquals(
      [observed?.kind, observed?.about, observed?.state, observed?.severity, observed?.values["of"]],
      ["service_failing", "first_factor:192.0.2.20:1812", state, severity, "first_factor"],
    );
  });
}
