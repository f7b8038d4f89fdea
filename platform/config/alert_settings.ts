// The settings of the alerts. settings.ts has the others.

import { settingRow, type SettingRows } from "./value_types.ts";
import * as value from "./value_types.ts";

export const ALERT_ROWS = {
  "alerts.enabled": settingRow(value.boolean, true, {
    doc:
      "watch for alerts: lockouts, rejection spikes, reported sign-ins, failing parts, expiring certificates",
  }),
  "alerts.spike_count": settingRow(value.integer({ min: 1, max: 1_000_000 }), 20, {
    doc: "rejected sign-ins in ten minutes from which on they are a spike",
  }),
  "alerts.spike_factor": settingRow(value.integer({ min: 1, max: 1000 }), 3, {
    doc:
      "how many times the average of the last 24 h a spike is at least; before 24 h, only the count decides",
  }),
  "alerts.failing_minutes": settingRow(value.minutes({ min: 1, max: 1440 }), 5, {
    doc: "how long a connector, a service or a write fails before it is an alert",
  }),
  "alerts.per_hour": settingRow(value.integer({ min: 1, max: 1000 }), 30, {
    doc:
      "messages to one receiver in an hour: of all warnings, and of each kind of critical alerts; then one message says how many were left out",
  }),
} satisfies SettingRows;
