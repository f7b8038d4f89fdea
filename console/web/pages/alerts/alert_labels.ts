// The sentence of an alert, the page where it is handled, and the labels of its severity and of its deliveries.

import type { AlertDeliveryRow, AlertRow, ReceiverRow } from "../../../api/alerts/alert_types.ts";
import { auditObjectHref } from "../../app/audit_links.ts";
import { fullTimeText } from "../../app/format.ts";
import { t } from "../../i18n/translate.ts";

export const SEVERITY_TONES = { warning: "wait", critical: "bad" } as const;

type Sentence = Pick<AlertRow, "kind" | "values" | "count">;

/** What happened, in one sentence. @param nowMs the server's time */
export function alertSentence({ kind, values, count }: Sentence, nowMs: number): string {
  const { users = [], user = "", name = "", of = "" } = values;
  const what = isKnownPart(of) ? t(`alerts.of_${of}`) : of;
  if (users.length > 0) {
    return t("alerts.text_many", { kind: t(`alerts.kind_${kind}`), count, names: users.join(", ") });
  }
  if (kind === "rejection_spike") {
    const { inTenMinutes = 0, average = null } = values;
    return average === null
      ? t("alerts.text_rejections", { count: inTenMinutes })
      : t("alerts.text_rejection_spike", { count: inTenMinutes, average: Math.round(average) });
  }
  if (kind === "disconnect_manually") {
    const { nas = "–", session = "–" } = values;
    return t("alerts.text_disconnect_manually", { user, nas, session });
  }
  if (kind === "service_failing") {
    return t("alerts.text_service_failing", { what: name === "" ? what : `${what} ${name}` });
  }
  if (kind === "changes_undelivered") {
    return t("alerts.text_changes_undelivered", { count: values.changes ?? 0, name });
  }
  if (kind === "certificate_expiring" || kind === "credential_expiring") {
    const { untilMs = 0 } = values;
    const state = untilMs > nowMs ? "expiring" : "expired";
    const thing = kind === "certificate_expiring" ? "certificate" : "credential";
    return t(`alerts.text_${thing}_${state}`, {
      name: name === "" ? what : `${name} (${what})`,
      time: fullTimeText(untilMs),
    });
  }
  if (kind === "user_locked" || kind === "fraud_reported") return t(`alerts.text_${kind}`, { user });
  return t(`alerts.text_${kind}`, { name });
}

/** What fails, or what a certificate or a credential is for. */
const PARTS = [
  ...["first_factor", "second_factor", "telephony", "push", "push_host", "mail"] as const,
  ...["log_export", "alerts", "store", "radius_tls"] as const,
  ...["http", "log_export_client", "log_export_authority", "directory_authority", "scim", "token"] as const,
];

function isKnownPart(of: string): of is typeof PARTS[number] {
  return (PARTS as readonly string[]).includes(of);
}

/** The page of an alert, by the beginning of its object: the first row that matches. */
const PAGES = [
  [/^(?:backend|outbox|certificate):([^/:]+)\//, "targets"],
  [/^(?:outbox):([^/:]+)$/, "targets"],
  [/^(?:log_export|certificate:log-export)/, "log-export"],
  [/^mail/, "mail"],
  [/^node:/, "nodes"],
] as const;

/** The page where the alert is handled. */
export function alertLink({ kind, about, values }: Pick<AlertRow, "kind" | "about" | "values">) {
  const isSeveral = (values.users?.length ?? 0) > 0;
  const label = t("alerts.open_page");
  if (about.startsWith("user:") && !isSeveral) {
    return { href: auditObjectHref(about) ?? "/users", label: t("common.open_user") };
  }
  if (kind === "user_locked") return { href: "/users?status=locked", label: t("common.show_users") };
  if (kind === "rejection_spike") {
    return { href: "/history?outcome=rejected", label: t("common.show_sign_ins") };
  }
  if (isSeveral) return { href: `/audit?action=user.not_me`, label: t("shell.audit") };
  for (const [pattern, page] of PAGES) {
    const [found, target] = pattern.exec(about) ?? [];
    if (found === undefined) continue;
    if (target === undefined) return { href: `/${page}`, label };
    return { href: `/targets/${encodeURIComponent(target)}`, label: t("common.open_directory") };
  }
  const href = auditObjectHref(about);
  return href === null ? { href: "/health", label: t("shell.health") } : { href, label };
}

/** The state of one delivery: "Sent", or why not. */
export function deliveryLabel({ state, problem }: AlertDeliveryRow): string {
  const label = t(`alerts.delivery_${state}`);
  return problem === null ? label : `${label}: ${t(`common.call_${problem.code}`)}`;
}

/** Whether a receiver works. */
export function receiverState({ settings, problem, lastSentMs }: ReceiverRow) {
  if (settings.isPaused) return { tone: "wait", shape: "pause", label: t("common.paused") } as const;
  if (problem !== null) {
    return { tone: "bad", shape: "cross", label: t(`common.call_${problem.code}`) } as const;
  }
  return lastSentMs === null
    ? { tone: "idle", shape: "ring", label: t("common.nothing_sent") } as const
    : { tone: "ok", shape: "check", label: t("alerts.state_ok") } as const;
}
