// The counts of the last hour on the Health page: messages, failures and locks.

import type { LimitAlarm } from "../../../radius/factors/hourly_limits.ts";
import type { People } from "../deps.ts";
import type { HealthPart } from "../targets/target_types.ts";

const PLAIN = { figure: null, lastGoodMs: null, detail: "", testable: false } as const;

/** Counts of the last hour with their limits. At the limit of messages nothing is sent, which is a failure. */
export function hourlyCounts(
  { limits, factors: { sends, lockout } }: Pick<People, "limits" | "factors">,
): HealthPart[] {
  const figures = limits.figures();
  const alarms = limits.alarms();
  const isHigh = (kind: LimitAlarm["kind"]) => alarms.some((alarm) => alarm.kind === kind);
  const rows = [
    { kind: "sends", limit: sends.totalPerHour, high: "bad" },
    { kind: "failures", limit: lockout.warnFailuresPerHour, high: "warning" },
    { kind: "locks", limit: lockout.warnLocksPerHour, high: "warning" },
  ] as const;
  return [
    ...rows.map(({ kind, limit, high }): HealthPart => ({
      ...PLAIN,
      id: kind,
      kind,
      name: "",
      state: isHigh(kind) ? high : "ok",
      figure: figures[kind],
      limit,
    })),
    ...alarms.flatMap(({ kind, client = "", count, limit }): HealthPart[] =>
      kind !== "client_sends"
        ? []
        : [{ ...PLAIN, id: `${kind}:${client}`, kind, name: client, state: "bad", figure: count, limit }]
    ),
  ];
}
