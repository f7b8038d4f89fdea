// The parts of System status that follow from values alone: services, push, mail, policies, protection, and the counts of the last hour.

import { isLoopback } from "../../../platform/addresses.ts";
import { isRelaying } from "../../../platform/client_settings.ts";
import type { AlertService } from "../../../platform/alerts/alerts.ts";
import type { LogExport } from "../../../platform/log_export/log_export.ts";
import type { MailService } from "../../../platform/mail/mail_service.ts";
import type { Client } from "../../../radius/server/clients.ts";
import type { LimitAlarm } from "../../../radius/factors/lockout.ts";
import type { FirstFactorServerStatus } from "../../../radius/ports.ts";
import type { Policy } from "../../../radius/policy/policy.ts";
import { rejectsUnknownUsers } from "../../../radius/protocol/login_input.ts";
import type { ServerStatus } from "../../../scim/backend_port.ts";
import type { PushStatus } from "../../../upstream/embedded/push/push_notifications.ts";
import type { AdminRow } from "../api_types.ts";
import { effectiveRules } from "../clients/client_routes.ts";
import type { Connect, People } from "../deps.ts";
import type { HealthPart, PushNote } from "../targets/target_types.ts";

/** What most parts have. */
export const PLAIN_PART = { figure: null, lastGoodMs: null, detail: "", testable: false } as const;

/** A server that others replace is a warning. */
const SERVER_STATES = { answers: "ok", unknown: "unknown", down: "warning", all_down: "bad" } as const;

export function firstFactorParts(servers: readonly FirstFactorServerStatus[]): HealthPart[] {
  return servers.slice(0, MAX_PARTS).map(({ client, ...status }) => ({
    ...serverPart(status, { id: `first_factor:${status.server}`, kind: "first_factor", name: status.server }),
    client,
  }));
}

/** The part of one of several servers: of those that check the first factor, or of a backend. */
export function serverPart(
  { state, lastAnswerMs, fault }: ServerStatus,
  part: Pick<HealthPart, "id" | "kind" | "name">,
): HealthPart {
  const isDown = state === "down" || state === "all_down";
  const problem = state === "all_down" ? "no server answers" : "it does not answer";
  return {
    ...{ ...PLAIN_PART, ...part, state: SERVER_STATES[state], lastGoodMs: lastAnswerMs, testable: true },
    detail: !isDown ? "" : fault === "" ? problem : `${problem}: ${fault}`,
  };
}

/** The last test of a part. */
export interface TestResult {
  readonly lastGoodMs: number | null;
  readonly problem: string | null;
}

interface ServiceState {
  /** The address of an external service; "" for the embedded one. */
  readonly url: string;
  /** The address of the console and of the phone page. */
  readonly publicUrl: string;
  /** `null`: not tested yet. */
  readonly tested: TestResult | null;
  readonly nowMs: number;
}

export function servicePart(
  id: "second_factor" | "telephony",
  { url, publicUrl, tested, nowMs }: ServiceState,
): HealthPart {
  const part = { ...PLAIN_PART, id, kind: id, name: url } as const;
  if (url !== "") {
    const { lastGoodMs = null, problem = null } = tested ?? {};
    const state = problem !== null ? "bad" : lastGoodMs === null ? "unknown" : "ok";
    return { ...part, state, lastGoodMs, detail: problem ?? "", testable: true };
  }
  // The embedded outbox sends nothing. The embedded second-factor service needs phones that reach its page.
  if (id === "telephony") return { ...part, state: "off", note: "not_sent" };
  if (isLoopbackUrl(publicUrl)) {
    return { ...part, state: "warning", lastGoodMs: nowMs, note: "loopback_url", name: publicUrl };
  }
  return { ...part, state: "ok", lastGoodMs: nowMs };
}

/** Whether only this host reaches the address. */
function isLoopbackUrl(url: string): boolean {
  const hostname = URL.parse(url)?.hostname ?? "";
  return isLoopback(hostname) || hostname.endsWith(".localhost");
}

type PushHost = PushStatus["hosts"][number];

/** Without an address that phones can use, or while push is off, no phone receives anything. */
const STATES: Partial<Record<PushNote, HealthPart["state"]>> = {
  no_key: "bad",
  needs_https: "warning",
  loopback: "off",
  off: "off",
  unused: "unknown",
};
/** The push service works, and asks for patience. */
const PASSING: ReadonlySet<string> = new Set(["rate_limited", "overloaded"]);

export function pushParts(status: PushStatus, publicUrl: string): HealthPart[] {
  const note = requirementNote(status, publicUrl);
  const state = note === null ? "ok" : STATES[note] ?? "ok";
  const own: HealthPart = {
    ...PLAIN_PART,
    ...{ id: "push", kind: "push", name: publicUrl, state, figure: status.subscribed },
    lastGoodMs: lastGood(status),
    ...(note === null ? {} : { push: note }),
    testable: status.isEnabled && status.hasKey,
  };
  return [own, ...status.isEnabled ? status.hosts.map(hostPart) : []];
}

/** What keeps phones from receiving messages; `null`: nothing. */
function requirementNote({ isEnabled, hasKey, subscribed }: PushStatus, publicUrl: string): PushNote | null {
  if (!isEnabled) return "off";
  if (!hasKey) return "no_key";
  const url = URL.parse(publicUrl);
  // Browsers offer push only to a secure context: https, or a name of their own host.
  if (isLoopback(url?.hostname ?? "")) return "loopback";
  if (url?.protocol !== "https:") return "needs_https";
  return subscribed === 0 ? "unused" : null;
}

function lastGood({ hosts }: PushStatus): number | null {
  const times = hosts.flatMap(({ lastGoodMs }) => lastGoodMs ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

function hostPart({ host, lastGoodMs, problem }: PushHost): HealthPart {
  const id = `push:${host}`;
  const common = { ...PLAIN_PART, id, kind: "push_host", name: host, lastGoodMs, testable: true } as const;
  if (problem === null) return { ...common, state: lastGoodMs === null ? "unknown" : "ok" };
  const state = PASSING.has(problem.code) ? "warning" : "bad";
  const code = problem.code === "gone" || problem.code === "paused" ? "failed" : problem.code;
  return { ...common, state, push: code };
}

/** With an older mail that waits, the queue is a warning. */
const LONG_WAIT_MS = 3_600_000;

/** The part of the queue. Without a server, mail is not set up, which is no problem. */
export function mailPart(mail: Pick<MailService, "status" | "config">, nowMs: number): HealthPart {
  const { host } = mail.config.mail;
  const part = { ...PLAIN_PART, id: "mail", kind: "mail", name: host } as const;
  const { isConfigured, lastProblem, lastSentMs, oldestMs, waiting } = mail.status();
  if (!isConfigured) return { ...part, name: "", state: "off", note: "mail_off" };
  const tested = { ...part, lastGoodMs: lastSentMs, figure: waiting, testable: true };
  if (lastProblem !== null) {
    return {
      ...tested,
      state: "bad",
      detail: lastProblem.detail === "" ? lastProblem.code : lastProblem.detail,
    };
  }
  if (oldestMs !== null && nowMs - oldestMs > LONG_WAIT_MS) {
    return { ...tested, state: "warning", note: "mail_waits" };
  }
  return { ...tested, state: lastSentMs === null ? "unknown" : "ok" };
}

/** Rows of one kind. */
const MAX_PARTS = 50;

interface NamingClient {
  readonly name: string;
  readonly unknownUsers: "auto" | "allow" | "reject";
  readonly firstFactor: string;
  readonly stripDomains: readonly string[];
  readonly stripRealms: readonly string[];
}

/** Nothing if no enabled policy accepts such names. */
export function policyParts(policies: readonly Policy[], clients: readonly NamingClient[]): HealthPart[] {
  const accepting = policies.filter(({ enabled, outcome }) =>
    enabled && outcome.kind === "bypass" && outcome.unknownUsers === true
  );
  const open = clients.filter((client) =>
    !rejectsUnknownUsers(client) && client.stripDomains.length === 0 && client.stripRealms.length === 0 &&
    accepting.some(({ conditions }) => conditions.clients?.includes(client.name) ?? true)
  );
  return [
    ...accepting.slice(0, MAX_PARTS).map(({ id, name }): HealthPart => ({
      ...{ ...PLAIN_PART, state: "warning", id: `policy:${id}`, kind: "policy", name, note: "unknown_users" },
    })),
    ...open.slice(0, MAX_PARTS).map(({ name }): HealthPart => ({
      ...{
        ...PLAIN_PART,
        state: "warning",
        id: `client_names:${name}`,
        kind: "client_names",
        name,
        note: "other_names",
      },
    })),
  ];
}

/** Clients that take the outer identity of EAP for the user, or a name that may be the outer identity. */
export function outerIdentityParts(
  clients: readonly {
    readonly name: string;
    readonly firstFactor: string;
    readonly eap: string;
    readonly eapOuterIdentity: string;
  }[],
): HealthPart[] {
  const trusting = clients.filter((client) => isRelaying(client) && client.eapOuterIdentity !== "refuse");
  return trusting.slice(0, MAX_PARTS).map(({ name, eapOuterIdentity }): HealthPart => ({
    ...{ ...PLAIN_PART, state: "warning", id: `client_eap:${name}`, kind: "client_names", name },
    note: eapOuterIdentity === "trust" ? "outer_identity" : "outer_identity_reply",
  }));
}

/** Clients in shadow mode have no second factor of this gateway. Without a server, their requests are not answered at all. */
export function shadowParts(clients: readonly Pick<Client, "name" | "settings">[]): HealthPart[] {
  return clients.filter(({ settings: { mode } }) => mode === "shadow").slice(0, MAX_PARTS).map(
    ({ name, settings: { firstFactorServer: server } }): HealthPart => ({
      ...{ ...PLAIN_PART, id: `shadow:${name}`, kind: "shadow", name },
      ...server === null
        ? { state: "bad", note: "shadow_no_server" } as const
        : { state: "warning", note: "shadow" } as const,
    }),
  );
}

/** Names in one row. */
const MAX_NAMES = 5;

/** A warning while the global setting leaves passwords unchecked; a client that says so itself was set on purpose. */
export function passwordPart(port: Pick<Connect, "config" | "register">): HealthPart {
  const all = port.register.list();
  const clients = all.filter(({ disabled }) => !disabled);
  const unchecked = clients.filter((client) => effectiveRules(port, client).firstFactor === "none");
  const isGlobal = unchecked.some(({ firstFactor }) => firstFactor === "settings");
  const part = { ...PLAIN_PART, id: "passwords", kind: "passwords", name: namesOf(unchecked) } as const;
  // Without clients, every address is served.
  if (all.length === 0 && port.config.radius.anyClient.firstFactor === "none") {
    return { ...part, state: "warning", note: "any_unchecked" };
  }
  if (unchecked.length === 0) return { ...part, state: "ok", note: "passwords_checked" };
  return { ...part, state: isGlobal ? "warning" : "off", note: "passwords_unchecked" };
}

/** Accounts of the sign-in provider have the factors of the provider. */
export function administratorParts(
  rows: readonly AdminRow[],
  { isSecondFactorRequired }: { isSecondFactorRequired: boolean },
): HealthPart[] {
  const own = rows.filter(({ disabled, origin }) => !disabled && origin !== "provider");
  const unprotected = own.filter(({ has }) => !has.totp && has.passkeys === 0);
  const lastKey = own.filter(({ role, has }) => role === "owner" && isLastKey(has));
  const part = (note: NonNullable<HealthPart["note"]>, found: readonly AdminRow[]): HealthPart[] =>
    found.length === 0
      ? []
      : [{ ...PLAIN_PART, id: note, kind: "administrators", name: namesOf(found), state: "warning", note }];
  return [
    ...part(isSecondFactorRequired ? "admins_set_up" : "admins_no_factor", unprotected),
    ...part("owners_one_key", lastKey),
  ];
}

/** Whether one passkey is the only way to sign in. */
function isLastKey({ password, totp, passkeys }: AdminRow["has"]): boolean {
  return passkeys === 1 && !password && !totp;
}

function namesOf(found: readonly { readonly name: string }[]): string {
  const names = found.slice(0, MAX_NAMES).map(({ name }) => name).join(", ");
  return found.length > MAX_NAMES ? `${names}, +${found.length - MAX_NAMES}` : names;
}

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
      ...PLAIN_PART,
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
        : [{ ...PLAIN_PART, id: `${kind}:${client}`, kind, name: client, state: "bad", figure: count, limit }]
    ),
  ];
}

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

/** One part for each destination that is not paused. */
export async function logExportParts(logExport: Pick<LogExport, "list"> | undefined): Promise<HealthPart[]> {
  const destinations = await logExport?.list() ?? [];
  return destinations.filter(({ settings }) => !settings.isPaused).map((
    { name, problem, lastSentMs, backlog },
  ) => ({
    id: `log_export:${name}`,
    kind: "log_export",
    name,
    state: problem !== null ? "bad" : lastSentMs === null ? "unknown" : "ok",
    lastGoodMs: lastSentMs,
    figure: backlog,
    detail: problem?.detail ?? "",
    testable: false,
  }));
}
