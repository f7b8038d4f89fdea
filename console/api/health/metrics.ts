// Monitoring: liveness, readiness, and metrics (Prometheus text format 0.0.4), without names and secrets.

import { Hono } from "hono";
import { ALONE, type Cluster } from "../../../platform/cluster/cluster.ts";
import { type Store, STORE_SILENT_MS } from "../../../platform/store.ts";
import type { AccountingSessionList } from "../../../radius/accounting/session_table.ts";
import type { MailService } from "../../../platform/mail/mail_service.ts";
import type { FirstFactorServerStatus, GatewayMonitor } from "../../../radius/ports.ts";
import type { PhonePages } from "../../../upstream/embedded/push/phone_pages.ts";
import type { PushStatus } from "../../../upstream/embedded/push/push_notifications.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { HttpEnv } from "../hono_env.ts";
import type { Connect, People } from "../deps.ts";

/** Whether the gateway can answer logins, with the state of each part.  */
export interface Readiness {
  readonly ok: boolean;
  readonly parts: Readonly<Record<string, string>>;
}

interface MonitoringDeps {
  readonly ready: () => Readiness;
  readonly watch: GatewayMonitor;
  readonly store: Pick<Store, "commitFailures">;
  /** Absent: no other node can use the store. */
  readonly cluster?: Pick<Cluster, "figures"> | undefined;
  readonly vpnSessions?: Pick<AccountingSessionList, "connectedCount">;
  readonly mail?: Pick<MailService, "status">;
  /** Absent where the console runs without a gateway. */
  readonly connect?: Pick<Connect, "config" | "backendHealth" | "radsec"> & {
    readonly firstFactorServers: Pick<Connect["firstFactorServers"], "status">;
  };
  /** `null`: no push messages. */
  readonly phonePages?: (() => Pick<PhonePages, "status"> | null) | undefined;
  readonly secondFactorAdmin: () => SecondFactorAdmin | null;
  readonly residentOctets: () => number;
  readonly openStreams: () => number;
  /** Absent where the console runs without a directory. */
  readonly people?: Pick<People, "limits" | "factors"> | undefined;
}

export function createMonitoringRoutes(deps: MonitoringDeps) {
  return new Hono<HttpEnv>()
    .get("/healthz", (c) => c.text("ok\n"))
    .get("/readyz", (c) => {
      const state = deps.ready();
      return c.json(state, state.ok ? 200 : 503);
    })
    .get("/metrics", (c) => c.body(metricsText(deps), 200, { "content-type": "text/plain; version=0.0.4" }));
}

/** All metrics: counters of the gateway, then gauges. */
function metricsText(deps: MonitoringDeps): string {
  const { watch, vpnSessions, secondFactorAdmin, ready, residentOctets, openStreams, people, mail } = deps;
  const { store, cluster, connect } = deps;
  const nodes = cluster?.figures() ?? ALONE;
  const push = deps.phonePages?.()?.status();
  const lines: string[] = [];
  const add = (name: string, { type, value }: { type: "counter" | "gauge"; value: number }) => {
    lines.push(`# TYPE ${name} ${type}`, `${name} ${Number.isFinite(value) ? value : 0}`);
  };
  for (const [name, value] of Object.entries(watch.counters()).toSorted(([a], [b]) => a < b ? -1 : 1)) {
    add(`countersign_${metricName(name)}_total`, { type: "counter", value });
  }
  const gauges: readonly (readonly [string, number])[] = [
    ["conversations_live", watch.alive()],
    ["accounting_sessions_connected", vpnSessions?.connectedCount ?? 0],
    ["tls_connections", connect?.radsec?.size ?? 0],
    ["approvals_pending", secondFactorAdmin()?.pendingCount() ?? 0],
    ["live_streams_open", openStreams()],
    ["change_lag_seconds", nodes.lagMs / 1000],
    ["change_catch_up_seconds", nodes.catchUpMs / 1000],
    ["leases_held", nodes.leases],
    ["nodes_alive", nodes.alive],
    ["nodes_silent", nodes.silent],
    ["ready", ready().ok ? 1 : 0],
    ["resident_memory_bytes", residentOctets()],
    ...(people === undefined ? [] : limitGauges(people)),
    ...(mail === undefined ? [] : mailGauges(mail)),
    ...(push === undefined ? [] : pushGauges(push)),
    ...serverGauges("first_factor", connect?.firstFactorServers.status() ?? []),
    ...serverGauges("directory", connect === undefined ? [] : directoryServers(connect)),
  ];
  for (const [name, value] of gauges) add(`countersign_${name}`, { type: "gauge", value });
  if (push !== undefined) {
    add("countersign_push_messages_accepted_total", { type: "counter", value: push.accepted });
    add("countersign_push_messages_failed_total", { type: "counter", value: push.failed });
  }
  add("countersign_changes_read_total", { type: "counter", value: nodes.changes });
  add("countersign_store_commit_failures_total", { type: "counter", value: store.commitFailures() });
  return lines.join("\n") + "\n";
}

/** Counts of the limits over the last hour. */
function limitGauges(
  { limits, factors: { sends, lockout } }: Pick<People, "limits" | "factors">,
): (readonly [string, number])[] {
  const figures = limits.figures();
  return [
    ["sends_last_hour", figures.sends],
    ["sends_limit_per_hour", sends.totalPerHour],
    ["failures_last_hour", figures.failures],
    ["failures_warning_per_hour", lockout.warnFailuresPerHour],
    ["locks_last_hour", figures.locks],
    ["locks_warning_per_hour", lockout.warnLocksPerHour],
  ];
}

/** Without addresses, because everyone can read the metrics. */
function serverGauges(
  kind: "first_factor" | "directory",
  servers: readonly Pick<FirstFactorServerStatus, "state">[],
): (readonly [string, number])[] {
  const count = (state: FirstFactorServerStatus["state"]) =>
    servers.filter((server) => server.state === state).length;
  return [
    [`${kind}_servers`, servers.length],
    [`${kind}_servers_answering`, count("answers")],
    [`${kind}_servers_down`, count("down") + count("all_down")],
    [`${kind}_servers_all_down`, count("all_down")],
  ];
}

/** The servers of backends that have several. */
function directoryServers({ config, backendHealth }: Pick<Connect, "config" | "backendHealth">) {
  return config.targets.flatMap(({ name: target, backends }) =>
    backends.flatMap(({ name }) => backendHealth(target, name)?.servers ?? [])
  );
}

function mailGauges(mail: Pick<MailService, "status">): (readonly [string, number])[] {
  const { waiting, failed } = mail.status();
  return [["mails_waiting", waiting], ["mails_failed", failed]];
}

function pushGauges(
  { subscribed, ended, inProgress }: PushStatus,
): (readonly [string, number])[] {
  return [
    ["push_subscriptions", subscribed],
    ["push_subscriptions_ended", ended],
    ["push_messages_in_progress", inProgress],
  ];
}

/** Letters, digits and underscores; other characters are written as underscores. */
function metricName(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  return words.replace(/[^a-z0-9_]/g, "_").replace(/_total$/, "");
}

// Whether the gateway can answer logins, for /readyz.

/** A store that does not answer, or changes of other nodes that cannot be read: no login can be answered. */
export function readinessOf(
  { isHttpServing }: { readonly isHttpServing: () => boolean },
  { store, clock, cluster }: {
    readonly store: Pick<Store, "lastAnswerMs">;
    readonly clock: Clock;
    readonly cluster: Pick<Cluster, "isShared" | "figures">;
  },
): Readiness {
  const silentMs = clock.nowMs() - store.lastAnswerMs();
  const { lagMs } = cluster.figures();
  const [isSilent, isBehind] = [silentMs > STORE_SILENT_MS, lagMs > STORE_SILENT_MS];
  const isServing = isHttpServing();
  const changes = isBehind ? `not read for ${secondsOf(lagMs)}` : "read";
  return {
    ok: !isSilent && !isBehind && isServing,
    parts: {
      radius: "listening",
      store: isSilent ? `does not answer for ${secondsOf(silentMs)}` : "answers",
      ...(cluster.isShared ? { changes } : {}),
      http: isServing ? "listening" : "does not accept connections",
    },
  };
}

function secondsOf(spanMs: number): string {
  return `${Math.round(spanMs / 1000)} s`;
}
