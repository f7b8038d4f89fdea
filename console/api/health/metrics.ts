// Monitoring: liveness, readiness, and metrics (Prometheus text format 0.0.4), without names and secrets.

import { Hono } from "hono";
import { ALONE, type Cluster } from "../../../platform/cluster/cluster.ts";
import type { Store } from "../../../platform/store.ts";
import type { AccountingSessionList } from "../../../radius/accounting/session_table.ts";
import type { MailService } from "../../../platform/mail/mail_service.ts";
import type { FirstFactorServerStatus, GatewayMonitor, LoginTotals } from "../../../radius/ports.ts";
import type { PhonePages } from "../../../upstream/embedded/push/phone_pages.ts";
import type { PushStatus } from "../../../upstream/embedded/push/push_notifications.ts";
import type { SecondFactorAdmin } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { Log } from "../../../platform/log.ts";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";
import { certificateEnd } from "../alerts/alert_states.ts";
import { reasonOfRow, ROW_REASONS } from "../conversations/explain_login.ts";
import type { HttpEnv } from "../hono_env.ts";
import type { Connect, People } from "../deps.ts";
import type { Installation } from "../settings/setting_routes.ts";
import { HEALTH_KINDS, type HealthPart } from "../targets/target_types.ts";
import type { Health } from "./health.ts";
import type { Readiness } from "./readiness.ts";

interface MonitoringDeps {
  readonly ready: () => Readiness;
  readonly watch: GatewayMonitor;
  readonly store: Pick<Store, "commitFailures" | "commitTimes">;
  readonly clock: Clock;
  readonly log: Pick<Log, "losses">;
  readonly installation: Pick<Installation, "version" | "startedMs">;
  /** `null` where the console runs without a gateway. */
  readonly health: Pick<Health, "parts"> | null;
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
  const readStatus = createStatusReader(deps);
  return new Hono<HttpEnv>()
    .get("/healthz", (c) => c.text("ok\n"))
    .get("/readyz", (c) => {
      const state = deps.ready();
      return c.json(state, state.ok ? 200 : 503);
    })
    .get("/metrics", async (c) => {
      const text = metricsText(deps, await readStatus());
      return c.body(text, 200, { "content-type": "text/plain; version=0.0.4" });
    });
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

/** The lines of metrics. Names and labels are fixed texts of the product. */
class MetricLines {
  readonly #lines: string[] = [];

  add(name: string, type: "counter" | "gauge", value: number): void {
    this.addAll(name, type, [[{}, value]]);
  }

  addAll(name: string, type: "counter" | "gauge", samples: readonly Sample[]): void {
    this.#lines.push(`# TYPE countersign_${name} ${type}`);
    for (const [labels, value] of samples) this.#sample(name, labels, value);
  }

  /** A histogram or, without buckets, a summary. @param bucketCounts the counts up to each bound in seconds */
  addTimes(
    name: string,
    { count, totalMs, bucketCounts }: {
      readonly count: number;
      readonly totalMs: number;
      readonly bucketCounts?: readonly (readonly [boundS: number, count: number])[];
    },
  ): void {
    this.#lines.push(`# TYPE countersign_${name} ${bucketCounts === undefined ? "summary" : "histogram"}`);
    for (const [boundS, below] of bucketCounts ?? []) {
      this.#sample(`${name}_bucket`, { le: String(boundS) }, below);
    }
    if (bucketCounts !== undefined) this.#sample(`${name}_bucket`, { le: "+Inf" }, count);
    this.#sample(`${name}_sum`, {}, totalMs / 1000);
    this.#sample(`${name}_count`, {}, count);
  }

  text(): string {
    return this.#lines.join("\n") + "\n";
  }

  #sample(name: string, labels: Labels, value: number): void {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
    const braces = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
    this.#lines.push(`countersign_${name}${braces} ${Number.isFinite(value) ? value : 0}`);
  }
}

/** All metrics: counters of the gateway, then gauges. */
function metricsText(deps: MonitoringDeps, status: StatusFigures): string {
  const { watch, vpnSessions, secondFactorAdmin, ready, residentOctets, openStreams, people, mail } = deps;
  const { store, cluster, connect, installation, log } = deps;
  const nodes = cluster?.figures() ?? ALONE;
  const push = deps.phonePages?.()?.status();
  const lines = new MetricLines();
  addCounters(lines, watch.counters());
  addLogins(lines, watch.loginTotals());
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
    ["start_time_seconds", installation.startedMs / 1000],
    ...(people === undefined ? [] : limitGauges(people)),
    ...(mail === undefined ? [] : mailGauges(mail)),
    ...(push === undefined ? [] : pushGauges(push)),
    ...serverGauges("first_factor", connect?.firstFactorServers.status() ?? []),
    ...serverGauges("directory", connect === undefined ? [] : directoryServers(connect)),
  ];
  for (const [name, value] of gauges) lines.add(name, "gauge", value);
  lines.addAll("build_info", "gauge", [[{ version: installation.version }, 1]]);
  lines.addAll("certificate_end_seconds", "gauge", status.certificates);
  addStatus(lines, status);
  if (push !== undefined) {
    lines.add("push_messages_accepted_total", "counter", push.accepted);
    lines.add("push_messages_failed_total", "counter", push.failed);
  }
  lines.add("changes_read_total", "counter", nodes.changes);
  const { dropped, unwritten } = log.losses();
  lines.add("log_lines_lost_total", "counter", dropped + unwritten);
  lines.add("store_commit_failures_total", "counter", store.commitFailures());
  lines.addTimes("store_commit_seconds", store.commitTimes());
  return lines.text();
}

/** Counters of one subject, as one metric with the rest of their name as `reason`. The longest beginning is first. */
const REASONS = ["sends_refused_", "dropped_", "refused_"] as const;

function addCounters(lines: MetricLines, counters: Readonly<Record<string, number>>): void {
  const sorted = Object.entries(counters).toSorted(([a], [b]) => a < b ? -1 : 1);
  for (const begin of REASONS) {
    const samples = sorted.filter(([name]) => name.startsWith(begin))
      .map(([name, value]): Sample => [{ reason: name.slice(begin.length) }, value]);
    lines.addAll(`${begin}total`, "counter", samples);
  }
  for (const [name, value] of sorted) {
    if (!REASONS.some((begin) => name.startsWith(begin))) lines.add(`${name}_total`, "counter", value);
  }
}

/** Bounds of the histogram: every second one of the login record, from half a second to four minutes. */
const ANSWER_BUCKETS = [18, 20, 22, 24, 26, 28, 30, 32, 34, 36];

function addLogins(lines: MetricLines, { outcomes, rejectedBy, times, answeredMs }: LoginTotals): void {
  const { rejected: _byReason, ...others } = outcomes;
  const reasons = new Map<string, number>([...LOGIN_REASONS, "other"].map((reason) => [reason, 0]));
  for (const [row, count] of rejectedBy) {
    const reason = reasonOfRow(row);
    reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  }
  lines.addAll("logins_total", "counter", [
    ...Object.entries(others).map(([result, value]): Sample => [{ result }, value]),
    ...[...reasons].map(([reason, value]): Sample => [{ result: "rejected", reason }, value]),
  ]);
  const upTo = (bucket: number) => times.slice(0, bucket + 1).reduce((sum, count) => sum + count, 0);
  lines.addTimes("login_answer_seconds", {
    count: upTo(times.length),
    totalMs: answeredMs,
    bucketCounts: ANSWER_BUCKETS.map((bucket) => [2 ** (bucket / 2) / 1000, upTo(bucket)] as const),
  });
}

const LOGIN_REASONS: ReadonlySet<string> = new Set(Object.values(ROW_REASONS));

/** The ends of the certificates of this process, without names: "http", "radius_tls" and "directory_authority" with the one that ends first. */
function certificateEnds({ config, radsec }: Pick<Connect, "config" | "radsec">): Sample[] {
  const authorities = config.targets.flatMap(({ backends }) =>
    backends.flatMap((backend) => "caPem" in backend ? [backend.caPem] : [])
  );
  const given = {
    http: [config.http.tls?.certPem ?? ""],
    radius_tls: [radsec?.certPem ?? ""],
    directory_authority: authorities,
  };
  return Object.entries(given).flatMap(([of, texts]): Sample[] => {
    const ends = texts.flatMap((pem) => pem === "" ? [] : certificateEnd(pem)?.untilMs ?? []);
    return ends.length === 0 ? [] : [[{ of }, Math.min(...ends) / 1000]];
  });
}

/** Parts of System status that wait for something to be delivered; their figure is how much. */
const QUEUES = ["outbox", "mail", "log_export", "alerts"] as const;

interface StatusFigures {
  /** How many parts of a kind have a state, by `kind state`. */
  readonly states: ReadonlyMap<string, number>;
  readonly waiting: ReadonlyMap<string, number>;
  readonly certificates: readonly Sample[];
}

const NO_STATUS: StatusFigures = { states: new Map(), waiting: new Map(), certificates: [] };

function statusFigures(parts: readonly HealthPart[]): Pick<StatusFigures, "states" | "waiting"> {
  const states = new Map<string, number>();
  const waiting = new Map<string, number>();
  for (const { kind, state, figure } of parts) {
    const key = `${kind} ${state}`;
    states.set(key, (states.get(key) ?? 0) + 1);
    waiting.set(kind, (waiting.get(kind) ?? 0) + (figure ?? 0));
  }
  return { states, waiting };
}

function addStatus(lines: MetricLines, { states, waiting }: StatusFigures): void {
  const samples = HEALTH_KINDS.flatMap((kind) =>
    (["warning", "bad"] as const).map((state): Sample => [
      { kind, state },
      states.get(`${kind} ${state}`) ?? 0,
    ])
  );
  lines.addAll("status_parts", "gauge", samples);
  lines.addAll(
    "queue_length",
    "gauge",
    QUEUES.map((queue): Sample => [{ queue }, waiting.get(queue) ?? 0]),
  );
}

/** How old the state of parts may be. Everyone can read the metrics, and the parts read the store. */
const STATUS_MAX_AGE_MS = 10_000;
/** A store that does not answer delays the metrics no longer. The figures are then those of the last time. */
const STATUS_WAIT_MS = 1000;

/** Reads the parts of System status, at most once in {@link STATUS_MAX_AGE_MS}. */
function createStatusReader({ health, connect, clock }: MonitoringDeps): () => Promise<StatusFigures> {
  let figures = NO_STATUS;
  let readMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  const read = async (source: Pick<Health, "parts">): Promise<void> => {
    try {
      const certificates = connect === undefined ? [] : certificateEnds(connect);
      figures = { ...statusFigures(await source.parts()), certificates };
      readMs = clock.nowMs();
    } catch (_notReadable) {
      // The store does not answer. `countersign_ready` says so.
    } finally {
      reading = null;
    }
  };
  return async () => {
    if (health === null || Math.abs(clock.nowMs() - readMs) < STATUS_MAX_AGE_MS) return figures;
    reading ??= read(health);
    await withTimeout(reading, { clock, timeoutMs: STATUS_WAIT_MS });
    return figures;
  };
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
