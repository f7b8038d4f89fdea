// The Overview page: counts that open the filtered lists, problems that need attention, outcomes of 24 hours, and the latest rejected
// sign-ins. Each part loads on its own, so a slow count never holds up the others.

import { useEffect } from "preact/hooks";
import type { HistoryPage } from "../../../api/history/history.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { timeText } from "../../app/format.ts";
import { readyValue, type Resource, useInterval, useResource } from "../../app/resource.ts";
import { PageBar } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { AttentionPanel } from "./attention_panel.tsx";
import { OutcomesPanel } from "./outcome_bars.tsx";
import { RejectedPanel } from "./rejected_sign_ins.tsx";
import {
  type DayAnswer,
  fetchCounts,
  fetchDay,
  fetchFactorless,
  fetchHealthReport,
  fetchRejected,
  startOfDay,
  sumOf,
} from "./overview_calls.ts";
import { OverviewTiles } from "./overview_tiles.tsx";

const COUNTS_EVERY_MS = 15_000;
const CHARTS_EVERY_MS = 5000;
const HEALTH_EVERY_MS = 60_000;
const COUNTING_EVERY_MS = 2000;

export default function OverviewPage({ models }: PageProps) {
  const counts = useResource(models, { fetch: () => fetchCounts(models), inputs: [] });
  const factorless = useResource(models, { fetch: () => fetchFactorless(models), inputs: [] });
  const day = useResource(models, { fetch: () => fetchDay(models), inputs: [] });
  const health = useResource(models, { fetch: () => fetchHealthReport(models), inputs: [] });
  const rejected = useRejected(models, day);
  const isCounting = (readyValue(factorless.state.value)?.progress ?? null) !== null;
  useInterval(COUNTS_EVERY_MS, () => Promise.all([counts.reload(), factorless.reload()]));
  useInterval(CHARTS_EVERY_MS, day.reload);
  useInterval(HEALTH_EVERY_MS, health.reload);
  useInterval(COUNTING_EVERY_MS, async () => {
    if (isCounting) await factorless.reload();
  });
  const now = readyValue(counts.state.value);
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.overview")}>
        {now !== null && (
          <span class="quiet small">
            {t("common.as_of", { time: timeText(now.nowMs) })}
            {now.isShared && ` · ${t("overview.shared")}`}
          </span>
        )}
      </PageBar>
      <OverviewTiles {...{ models, counts, factorless, day }} />
      <div class="overview-columns">
        <AttentionPanel {...{ models, counts, health, day }} />
        <div class="overview-column">
          <OutcomesPanel day={day} />
          <RejectedPanel models={models} rejected={rejected} fromMs={startOfDay(models)} />
        </div>
      </div>
    </main>
  );
}

/** The latest rejected sign-ins. They are read again only if the number of rejections changed. */
function useRejected(models: Models, day: Resource<DayAnswer>): Resource<HistoryPage> {
  const rejected = useResource(models, { fetch: () => fetchRejected(models), inputs: [] });
  const value = readyValue(day.state.value);
  const count = value === null ? null : sumOf(value.outcomes.rejected);
  useEffect(() => {
    if (count !== null && rejected.state.peek().kind === "ready") void rejected.reload();
  }, [count]);
  return rejected;
}
