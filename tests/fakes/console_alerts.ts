// The alerts of the in-process consoles: receivers and alerts in the store, and no network.

import { AlertService } from "../../platform/alerts/alerts.ts";
import { alertMutations, deliveryMutation, type KnownAlert } from "../../platform/alerts/alert_record.ts";
import { NO_LEASE } from "../../platform/cluster/lease.ts";
import type { Log } from "../../platform/log.ts";
import type { MailQueue } from "../../platform/mail/mail.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import { configOf } from "../platform/config/samples.ts";

/** No webhook is accepted. */
export async function openFakeAlerts(
  deps: { store: Store; vault: Vault; mail: MailQueue; log: Log },
): Promise<AlertService> {
  const refused = { code: "unreachable", detail: "Connection refused (os error 111)" } as const;
  const alerts = new AlertService({
    ...{ ...deps, clock: systemClock, random: createSystemRandom(), nodeName: "gate" },
    config: configOf(""),
    cluster: { list: () => [], openLease: () => ({ ...NO_LEASE, claim: () => Promise.resolve(true) }) },
    mayDeliver: () => false,
    webhooks: {
      send: () =>
        Promise.resolve({ ok: false, problem: { ...refused, retryAfterMs: 0, isPermanent: false } }),
    },
  });
  await alerts.start();
  return alerts;
}

/** The receiver that every console with data has. */
export const FULL_RECEIVER = "security-team";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Creates two receivers, and one alert of each kind. @param call as an owner */
export async function fillAlerts(
  call: (path: string, options: { method: "POST"; json: object }) => Promise<unknown>,
  { store, user }: { store: Store; user: string },
): Promise<void> {
  const team = {
    ...{ name: FULL_RECEIVER, kind: "mail", addresses: ["security@example.com", "ops@example.com"] },
    minSeverity: "warning",
  };
  const url = "https://hooks.example.com/services/planted-token";
  const chat = { name: "chat", kind: "webhook", url, minSeverity: "critical" };
  for (const json of [team, chat]) {
    await call("/console/api/alerts/receivers", { method: "POST", json });
  }
  for (const alert of fullAlerts(user, systemClock.nowMs())) {
    const atMs = alert.lastMs;
    const mutations = [
      ...alertMutations(alert),
      deliveryMutation(alert.id, FULL_RECEIVER, { state: "sent", atMs, problem: null }),
    ];
    if (alert.severity === "critical") {
      const problem = { code: "unreachable", detail: "Connection refused" } as const;
      mutations.push(deliveryMutation(alert.id, "chat", { state: "pending", atMs, problem }));
    }
    await store.commit({ mutations });
  }
}

type Given =
  & Pick<KnownAlert, "kind" | "severity" | "about" | "values">
  & Partial<Pick<KnownAlert, "count" | "endedMs">>
  & { readonly ageMs: number };

function fullAlerts(user: string, nowMs: number): KnownAlert[] {
  const about = `user:${user}`;
  const rows: Given[] = [
    {
      ...{ kind: "user_locked", severity: "warning", about, ageMs: 5 * MINUTE_MS },
      ...{ count: 2, values: { user, client: "vpn-1", isHard: false } },
    },
    {
      ...{ kind: "user_locked", severity: "warning", about: "", ageMs: 20 * MINUTE_MS },
      ...{ count: 120, values: { users: [user, "bob", "carol"] } },
    },
    {
      ...{ kind: "rejection_spike", severity: "warning", about: "", ageMs: 30 * MINUTE_MS },
      values: { inTenMinutes: 84, average: 3.2 },
    },
    {
      ...{ kind: "fraud_reported", severity: "critical", about, ageMs: 9 * MINUTE_MS },
      values: { user, address: "198.51.100.7" },
    },
    {
      ...{ kind: "disconnect_manually", severity: "critical", about, ageMs: 8 * MINUTE_MS },
      values: { user, client: "vpn-1", nas: "nas-1", session: "5D3A", because: "disconnect_no_answer" },
    },
    {
      ...{ kind: "backend_failing", severity: "critical", about: "backend:default/ldap" },
      ...{ ageMs: 2 * DAY_MS, values: { name: "default / ldap", detail: "Connection refused" } },
    },
    {
      ...{ kind: "service_failing", severity: "critical", about: "mail", ageMs: 3 * DAY_MS },
      ...{ endedMs: nowMs - 2 * DAY_MS, values: { of: "mail", name: "smtp.example.com", detail: "timeout" } },
    },
    {
      ...{ kind: "changes_undelivered", severity: "warning", about: "outbox:default", ageMs: DAY_MS },
      values: { name: "default", changes: 12 },
    },
    {
      ...{ kind: "node_down", severity: "warning", about: "node:b", ageMs: 4 * DAY_MS },
      ...{ endedMs: nowMs - 4 * DAY_MS + MINUTE_MS, values: { name: "gate-2" } },
    },
    {
      ...{ kind: "certificate_expiring", severity: "warning", about: "certificate:http", ageMs: DAY_MS },
      values: { of: "http", name: "login.example.com", untilMs: nowMs + 20 * DAY_MS },
    },
    {
      ...{ kind: "credential_expiring", severity: "critical", about: "credential:hr", ageMs: DAY_MS },
      values: { of: "scim", name: "hr", untilMs: nowMs - MINUTE_MS },
    },
  ];
  return rows.map(({ ageMs, ...row }, at): KnownAlert => {
    const openedMs = nowMs - ageMs;
    return {
      ...{ count: 1, endedMs: null, notifiedMs: openedMs, notifiedCount: 1 },
      ...row,
      ...{ openedMs, lastMs: openedMs, id: `${openedMs.toString(36).padStart(9, "0")}-${at}` },
    };
  });
}
