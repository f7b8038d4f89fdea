// The list of problems on the Overview page. A source that cannot be read is named, and the others are shown.

import { useRef } from "preact/hooks";
import type { OverviewCounts } from "../../../api/overview/overview_types.ts";
import type { HealthReport } from "../../../api/targets/target_types.ts";
import type { Models } from "../../app/app_context.ts";
import { readyValue, type Resource } from "../../app/resource.ts";
import { EmptyState, ErrorState, Skeleton } from "../../components/alert.tsx";
import { Icon } from "../../components/icons.tsx";
import { t } from "../../i18n/translate.ts";
import { type AttentionItem, attentionItems, inShownOrder } from "./attention_items.ts";
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
