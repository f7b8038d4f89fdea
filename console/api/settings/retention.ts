// Retention limits for the Settings page, taken from the constants that enforce them.

import { DEFAULT_AUDIT_KEPT_MS } from "../../../platform/audit.ts";
import { SESSION_LIMITS } from "../../../radius/protocol/accounting.ts";
import { PACKET_LIMITS } from "../../../radius/protocol/capture_limits.ts";
import { HISTORY_KEPT_MS } from "../../../radius/conversation/login_record.ts";
import { CHART_SPANS } from "../charts/chart_keys.ts";
import { INVITATION_MS, SETUP_MS } from "../auth/invitations.ts";
import { HISTORY_LIMIT } from "../conversations/event_feed.ts";
import type { KeptRow } from "./setting_types.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const inStore = { where: "store" } as const;
const inMemory = { where: "memory", unit: "count" } as const;

/** @param auditKeptMs the setting `console.audit_days`, which the store enforces. */
export const retentionRows = (
  { auditKeptMs = DEFAULT_AUDIT_KEPT_MS }: { auditKeptMs?: number },
): readonly KeptRow[] => [
  { name: "history", amount: HISTORY_KEPT_MS / DAY_MS, unit: "days", ...inStore },
  { name: "audit", amount: auditKeptMs / DAY_MS, unit: "days", ...inStore },
  { name: "vpn_sessions", amount: SESSION_LIMITS.retentionMs / DAY_MS, unit: "days", ...inStore },
  { name: "charts_hour", amount: CHART_SPANS.hour.keptMs / DAY_MS, unit: "days", ...inStore },
  { name: "charts_minute", amount: CHART_SPANS.minute.keptMs / HOUR_MS, unit: "hours", ...inStore },
  { name: "invitations", amount: INVITATION_MS / HOUR_MS, unit: "hours", ...inStore },
  { name: "set_up_links", amount: SETUP_MS / HOUR_MS, unit: "hours", ...inStore },
  { name: "logins_with_packets", amount: PACKET_LIMITS.mostConversations, ...inMemory },
  { name: "packets_each", amount: PACKET_LIMITS.mostEach, ...inMemory },
  { name: "stray_packets", amount: PACKET_LIMITS.mostStrays, ...inMemory },
  { name: "packet_octets", amount: PACKET_LIMITS.ringOctets, ...inMemory, unit: "octets" },
  { name: "live_changes", amount: HISTORY_LIMIT, ...inMemory },
];
