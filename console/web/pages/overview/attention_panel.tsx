// The list of problems on the Overview page. A source that cannot be read is named, and the others are shown.

import { useRef } from "preact/hooks";
import type { OverviewCounts } from "../../../api/overview/overview_types.ts";
import type { HealthPart, HealthReport } from "../../../api/targets/target_types.ts";
import type { ClientFigures } from "../../../api/charts/chart_series.ts";
import type { FirstStep } from "../../../api/onboarding/onboarding.ts";
import type { Models } from "../../app/app_context.ts";
import { readyValue, type Resource } from "../../app/resource.ts";
import { EmptyState, ErrorState, Skeleton } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { t } from "../../i18n/translate.ts";
import { userHref } from "../../app/routes.ts";
import { clientText } from "../../components/client_text.ts";
import { healthLink } from "../health/health_links.ts";
import type { DayAnswer } from "./overview_calls.ts";

interface AttentionProps {
  readonly models: Models;
  readonly counts: Resource<OverviewCounts>;
  readonly health: Resource<HealthReport>;
  readonly day: Resource<DayAnswer>;
}

const MAX_SHOWN = 8;
const ICONS = { bad: "alert", wait: "alert", idle: "ring" } as const;

export function AttentionPanel({ models, counts, health, day }: AttentionProps) {
  const sources = [counts, health, day];
  const charts = readyValue(day.state.value);
  const items = attentionItems({
    counts: readyValue(counts.state.value),
    parts: readyValue(health.state.value)?.parts ?? [],
    clients: charts?.clients ?? [],
    firstSteps: models.session.firstSteps.value,
    from: charts === null ? "" : new Date(charts.fromMs).toISOString(),
  });
  const isLoading = sources.some(({ state }) =>
    state.value.kind === "loading" || state.value.kind === "idle"
  );
  const failed = sources.filter(({ problem }) => problem.value !== null);
  const shown = useRef<readonly string[]>([]);
  const rows = inShownOrder(items.slice(0, MAX_SHOWN), shown.current);
  shown.current = rows.map(({ id }) => id);
  return (
    <section
      class="panel overview-panel"
      aria-labelledby="overview-attention"
      aria-busy={isLoading ? "true" : undefined}
    >
      <div class="panel-head">
        <h2 id="overview-attention">{t("overview.attention")}</h2>
        {items.length > 0 && <span class="count">{items.length}</span>}
      </div>
      {isLoading && rows.length === 0 && <Skeleton rows={3} />}
      {rows.length > 0 && (
        <ul class="attention">{rows.map((item) => <AttentionRow key={item.id} item={item} />)}</ul>
      )}
      {!isLoading && items.length > MAX_SHOWN && (
        <p class="overview-more">
          <a href="/health">{t("overview.more", { count: items.length - MAX_SHOWN })}</a>
        </p>
      )}
      {!isLoading && failed.length > 0 && (
        <ErrorState
          title={t("overview.not_checked")}
          onRetry={() => void Promise.all(failed.map((one) => one.reload()))}
        >
          {failed[0]?.problem.value}
        </ErrorState>
      )}
      {!isLoading && failed.length === 0 && items.length === 0 && (
        <EmptyState title={t("overview.all_good")} next={t("overview.all_good_next")} />
      )}
    </section>
  );
}

function AttentionRow({ item: { tone, text, href, action } }: { item: AttentionItem }) {
  return (
    <li class={`tone-${tone}`}>
      <Icon name={`line-${ICONS[tone]}`} size={14} />
      <span class="attention-text">
        <span class="unseen">{t(`overview.tone_${tone}`)}</span>
        {text}
      </span>
      <a href={href}>
        {action}
        <span class="unseen">{`: ${text}`}</span>
      </a>
    </li>
  );
}

// What needs attention, most urgent first: system status, critical alerts, VPN sessions to end by hand, connectors, locked users, clients with many rejections, and the setup.

export interface AttentionItem {
  readonly id: string;
  readonly tone: "bad" | "wait" | "idle";
  readonly text: string;
  readonly href: string;
  /** The label of the link. */
  readonly action: string;
}

/** A client with fewer sign-ins has no rate. */
const MIN_SIGN_INS = 10;
const HIGH_REJECT_RATE = 0.3;
const RANK = { bad: 0, wait: 1, idle: 2 } as const;

export interface AttentionSources {
  readonly counts: OverviewCounts | null;
  readonly parts: readonly HealthPart[];
  readonly clients: readonly ClientFigures[];
  readonly firstSteps: readonly FirstStep[] | null;
  /** The period of `clients`, as the History page reads it. */
  readonly from: string;
}

export function attentionItems(
  { counts, parts, clients, firstSteps, from }: AttentionSources,
): AttentionItem[] {
  const items = [
    ...parts.flatMap(ofPart),
    ...(counts === null
      ? []
      : [...alertItems(counts), ...manualItems(counts), ...syncItems(counts), ...lockedItems(counts)]),
    ...clients.flatMap((client) => ofClient(client, from)),
    ...(firstSteps ?? []).flatMap(ofStep),
  ];
  return items.sort((a, b) => RANK[a.tone] - RANK[b.tone]);
}

/** The items that were shown before, in their order, then the new ones, so that a later answer moves nothing. */
export function inShownOrder(items: readonly AttentionItem[], shown: readonly string[]): AttentionItem[] {
  const places = new Map(shown.map((id, at) => [id, at]));
  const placeOf = ({ id }: AttentionItem) => places.get(id) ?? shown.length;
  return [...items].sort((a, b) => placeOf(a) - placeOf(b));
}

/** Connectors and their pending writes are listed with the sync problems. */
function ofPart(part: HealthPart): AttentionItem[] {
  const { kind, name, state, figure, limit, detail, note } = part;
  // Users can choose a text message or a call that is never sent.
  if (state !== "bad" && state !== "warning" && note !== "not_sent") return [];
  if (kind === "backend" || kind === "outbox") return [];
  const tone = state === "bad" ? "bad" : "wait";
  const count = figure ?? 0;
  const common = { id: `part:${part.id}`, tone, ...healthLink(part) } as const;
  if (kind === "push" || kind === "push_host") {
    return [{ ...common, text: t(`overview.part_${kind}`, { name }) }];
  }
  if (note !== undefined) return [{ ...common, text: t(`overview.note_${note}`, { name }) }];
  if (kind === "unsigned") {
    return [{ ...common, text: t("overview.part_unsigned", { name: clientText(name) }) }];
  }
  if (kind === "certificate") {
    return [{
      ...common,
      text: count < 0 ? t("overview.part_expired") : t("overview.part_certificate", { count }),
    }];
  }
  if (kind === "store") {
    return [{
      ...common,
      text: state === "bad" ? t("overview.part_store") : t("overview.part_slow", { count }),
    }];
  }
  if (kind === "sends" || kind === "client_sends" || kind === "failures" || kind === "locks") {
    return [{ ...common, text: t(`overview.part_${kind}`, { count, limit: limit ?? 0, name }) }];
  }
  return [{ ...common, text: t(`overview.part_${kind}`, { name, detail }) }];
}

function alertItems({ criticalAlerts: count }: OverviewCounts): AttentionItem[] {
  if (count === 0) return [];
  const text = t("overview.critical_alerts", { count });
  return [{ id: "alerts", tone: "bad", text, href: "/alerts", action: t("shell.alerts") }];
}

/** Sessions of "This was not me" that the gateway could not end. */
function manualItems({ manualSessions }: OverviewCounts): AttentionItem[] {
  return manualSessions.map(({ id, user, client, nas, sessionId: session, framedAddress: address }) => ({
    id: `session:${id}`,
    tone: "bad",
    text: t("overview.disconnect_manually", { user, client, nas, session, address: address || "–" }),
    href: `${userHref(user)}#sessions`,
    action: t("common.open_user"),
  }));
}

function syncItems({ sync }: OverviewCounts): AttentionItem[] {
  return (sync?.items ?? []).map(({ target, backend, failedWrites: count, detail }) => ({
    id: `sync:${target}/${backend}`,
    tone: "bad",
    text: detail === ""
      ? t("overview.failed_writes", { count, backend, target })
      : t("overview.connector_fails", { backend, target, detail }),
    href: `/targets/${encodeURIComponent(target)}`,
    action: t("common.open_directory"),
  }));
}

function lockedItems({ locked }: OverviewCounts): AttentionItem[] {
  if (locked === null || locked.count === 0) return [];
  const [first] = locked.names;
  const isOne = locked.count === 1 && first !== undefined;
  return [{
    id: "locked",
    tone: "wait",
    text: t("overview.locked_users", { count: locked.count, names: locked.names.join(", ") }),
    href: isOne ? userHref(first) : "/users?status=locked",
    action: t(isOne ? "common.open_user" : "common.show_users"),
  }];
}

function ofClient({ client, total, rejected }: ClientFigures, from: string): AttentionItem[] {
  if (total < MIN_SIGN_INS || rejected / total < HIGH_REJECT_RATE) return [];
  const filter = new URLSearchParams({ client, outcome: "rejected", from });
  return [{
    id: `client:${client}`,
    tone: "wait",
    text: t("overview.client_rejects", { client, rejected, total }),
    href: `/history?${filter}`,
    action: t("common.show_sign_ins"),
  }];
}

const STEP_HREFS = {
  client: "/first-run?step=client",
  target: "/first-run?step=target",
  password: "/first-run?step=password",
  login: "/live?step=login",
} as const;

function ofStep({ name, state }: FirstStep): AttentionItem[] {
  if (state !== "open") return [];
  return [{
    id: `step:${name}`,
    tone: "idle",
    text: t(`overview.step_${name}`),
    href: STEP_HREFS[name],
    action: t("overview.open_step"),
  }];
}
