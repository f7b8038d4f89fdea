// The receivers of alerts as parts of the System status page.

import type { AlertService } from "../../../platform/alerts/alerts.ts";
import type { HealthPart } from "../targets/target_types.ts";

/** One part for each receiver that is not paused. */
export async function alertParts(
  alerts: Pick<AlertService, "listReceivers"> | undefined,
): Promise<HealthPart[]> {
  const receivers = await alerts?.listReceivers() ?? [];
  return receivers.filter(({ settings }) => !settings.isPaused).map(
    ({ name, problem, lastSentMs, waiting }) => ({
      ...{ id: `alerts:${name}`, kind: "alerts", name },
      state: problem !== null ? "bad" : lastSentMs === null ? "unknown" : "ok",
      ...{ lastGoodMs: lastSentMs, figure: waiting, detail: problem?.detail ?? "", testable: false },
    }),
  );
}
