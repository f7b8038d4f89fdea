// The states that alerts watch: the parts of the System status page, and the ends of certificates and credentials.

import { X509Certificate } from "node:crypto";
import { type AlertKind, END_WARNING_DAYS } from "../../../platform/alerts/alert_kinds.ts";
import type { ObservedState } from "../../../platform/alerts/alert_rules.ts";
import type { AlertService } from "../../../platform/alerts/alerts.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import type { LogExport } from "../../../platform/log_export/log_export.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { ApiTokens } from "../auth/api_tokens.ts";
import type { Connect } from "../deps.ts";
import type { Health } from "../health/health.ts";
import type { HealthPart } from "../targets/target_types.ts";

interface AlertStateDeps {
  readonly clock: Clock;
  readonly alerts?: AlertService | undefined;
  readonly tokens: Pick<ApiTokens, "list">;
  readonly logExport?: Pick<LogExport, "list"> | undefined;
  readonly connect?: Connect;
}

/** The parts whose failure is an alert. */
const PART_KINDS: ReadonlyMap<HealthPart["kind"], AlertKind> = new Map([
  ["backend", "backend_failing"],
  ["outbox", "changes_undelivered"],
  ["node", "node_down"],
  ...[
    ...["first_factor", "second_factor", "telephony", "push", "push_host"] as const,
    ...["mail", "log_export", "alerts", "store"] as const,
  ].map((kind) => [kind, "service_failing"] as const),
]);
/** Parts whose state is only known after a test. Sign-ins may not use them for hours. */
const PROBED_KINDS: ReadonlySet<HealthPart["kind"]> = new Set(["backend", "second_factor", "telephony"]);
const PROBE_MS = 60_000;
const MAX_TEXT_CHARACTERS = 300;

/** Lets the alerts watch this gateway. */
export function observeAlertStates(deps: AlertStateDeps, health: Health | null): void {
  const { alerts, clock } = deps;
  if (alerts === undefined || health === null) return;
  const probe = createProbe(health, clock);
  alerts.observe(async () => {
    probe();
    const parts = await health.parts();
    return [...partStates(parts), ...await endStates(deps)];
  });
}

/** Tests the parts in the background, at most once a minute. */
function createProbe(health: Health, clock: Clock): () => void {
  let isRunning = false;
  let probedMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock.nowMs();
    if (isRunning || Math.abs(nowMs - probedMs) < PROBE_MS) return;
    isRunning = true;
    probedMs = nowMs;
    // A part that cannot be tested shows its problem in its state.
    health.testAll(PROBED_KINDS).catch(() => undefined).finally(() => isRunning = false);
  };
}

/** The states of parts. Nodes with the same name are one node, which was started again. */
function partStates(parts: readonly HealthPart[]): ObservedState[] {
  const states = new Map<string, ObservedState>();
  for (const part of parts) {
    const kind = PART_KINDS.get(part.kind);
    if (kind === undefined) continue;
    const about = part.kind === "node" ? `node:${plainName(part.name)}` : part.id;
    if (states.get(about)?.state === "ok") continue;
    // One of several first-factor servers, or of the servers of a backend: sign-ins use the others.
    const isReplaced = (part.kind === "first_factor" || part.kind === "backend") && part.state === "warning";
    const state = isReplaced ? "bad" : part.state;
    const isLesser = isReplaced || kind === "node_down" || kind === "changes_undelivered";
    const severity = isLesser ? "warning" : "critical";
    states.set(about, {
      ...{ kind, severity, about },
      state: state === "bad" ? "bad" : state === "unknown" ? "unknown" : "ok",
      values: valuesOf(part),
    });
  }
  return [...states.values()];
}

/** Nodes of one host have their id in parentheses. */
function plainName(name: string): string {
  return name.replace(/ \([^()]*\)$/, "");
}

function valuesOf({ kind, name, detail, figure }: HealthPart): ObservedState["values"] {
  const text = { name: shortened(name), ...detail === "" ? {} : { detail: shortened(detail) } };
  if (kind === "outbox") return { ...text, changes: figure ?? 0 };
  if (kind === "node") return { ...text, name: plainName(text.name) };
  return kind === "backend" ? text : { ...text, of: kind };
}

function shortened(text: string): string {
  return text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed();
}

/** Something with an end. */
interface Ending {
  readonly kind: keyof typeof END_WARNING_DAYS;
  readonly about: string;
  readonly of: string;
  readonly name: string;
  readonly untilMs: number;
}

async function endStates(deps: AlertStateDeps): Promise<ObservedState[]> {
  const found = [...await certificates(deps), ...await credentials(deps)];
  return found.map((ending) => toEndState(ending, deps.clock.nowMs()));
}

/** The state of something that ends. */
function toEndState({ kind, about, of, name, untilMs }: Ending, nowMs: number): ObservedState {
  const { warning, critical } = END_WARNING_DAYS[kind];
  const leftDays = (untilMs - nowMs) / DAY_MS;
  return {
    ...{ kind, about },
    severity: leftDays <= critical ? "critical" : "warning",
    state: leftDays <= warning ? "bad" : "ok",
    values: { of, name: shortened(name), untilMs },
  };
}

async function certificates({ connect, logExport }: AlertStateDeps): Promise<Ending[]> {
  const config = connect?.config;
  const destinations = (await logExport?.list() ?? []).filter(({ settings }) => !settings.isPaused);
  const given = [
    { pem: config?.http.tls?.certPem ?? "", of: "http", name: "", about: "certificate:http" },
    { pem: connect?.radsec?.certPem ?? "", of: "radius_tls", name: "", about: "certificate:radius" },
    ...destinations.flatMap(({ name, settings: { certificate, ca } }) => [
      { pem: certificate, of: "log_export_client", name, about: `certificate:log-export:${name}` },
      { pem: ca, of: "log_export_authority", name, about: `certificate:log-export-authority:${name}` },
    ]),
    ...(config?.targets ?? []).flatMap(({ name: target, backends }) =>
      backends.flatMap((backend) => {
        const pem = "caPem" in backend ? backend.caPem : "";
        const name = `${target} / ${backend.name}`;
        return [{ pem, of: "directory_authority", name, about: `certificate:${target}/${backend.name}` }];
      })
    ),
  ];
  return given.flatMap(({ pem, of, name, about }) => {
    const end = pem === "" ? null : certificateEnd(pem);
    if (end === null) return [];
    const { subject, untilMs } = end;
    return [{ kind: "certificate_expiring" as const, about, of, name: name || subject, untilMs }];
  });
}

const EACH_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** Certificates of one text. */
const MAX_CERTIFICATES = 50;

/** The end of a server's certificate, which is the first one; of several authorities, the one that ends last counts. */
export function certificateEnd(pem: string): { readonly subject: string; readonly untilMs: number } | null {
  const texts = [...pem.matchAll(EACH_CERTIFICATE)].slice(0, MAX_CERTIFICATES).map(([text]) => text);
  const ends = texts.flatMap((text) => {
    try {
      const { subject, validTo, ca } = new X509Certificate(text);
      return [{ subject: subject ?? "", untilMs: Date.parse(validTo), isAuthority: ca }];
    } catch (_notReadable) {
      return [];
    }
  }).filter(({ untilMs }) => Number.isFinite(untilMs));
  const [first] = ends;
  if (first === undefined || !first.isAuthority) return first ?? null;
  return ends.reduce((last, one) => one.untilMs > last.untilMs ? one : last, first);
}

async function credentials({ tokens, connect, clock }: AlertStateDeps): Promise<Ending[]> {
  const kind = "credential_expiring" as const;
  const ofTokens = (await tokens.list()).map(({ id, name, expiresMs: untilMs, createdMs }): Ending | null =>
    // A token that is short-lived on purpose ends without an alert.
    untilMs - createdMs <= END_WARNING_DAYS[kind].warning * DAY_MS
      ? null
      : { kind, about: `token:${id}`, of: "token", name, untilMs }
  );
  const connections = connect?.connections;
  const ofConnections = (connections?.list() ?? []).map(({ settings: { name } }): Ending | null => {
    const ends = (connections?.secretsOf(name) ?? []).map(({ expiresMs }) => expiresMs ?? Infinity);
    const untilMs = Math.max(...ends);
    // A secret that another one replaces ends on purpose. An expired one is listed for 30 days.
    const isNear = Number.isFinite(untilMs) && untilMs > clock.nowMs() - MAX_EXPIRED_MS;
    return isNear ? { kind, about: `connection:${name}`, of: "scim", name, untilMs } : null;
  });
  return [...ofTokens, ...ofConnections].filter((one) => one !== null);
}

const MAX_EXPIRED_MS = 30 * DAY_MS;
