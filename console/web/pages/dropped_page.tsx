// What got no answer, or an answer outside any login: the newest packets, each with why and what to do.

import type { ExplainedStray, StrayList } from "../../api/live_details.ts";
import { take } from "../api_client.ts";
import type { Models } from "../models/models.ts";
import { useResource } from "../models/resource.ts";
import { ExplanationText } from "../parts/explanation_text.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { Packet } from "../parts/packets_view.tsx";
import { EmptyState, ErrorState, Skeleton } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { timeText } from "../format.ts";
import type { PageProps } from "../routes.ts";
import { readable } from "../words.ts";
import { t } from "../words/translate.ts";

export default function DroppedPage({ models }: PageProps) {
  const strays = useResource<StrayList>(models, {
    fetch: () => take(models.api.live.strays.$get()),
    inputs: [],
  });
  const { value: state } = strays.state;
  return (
    <main class="page">
      <PageBar title={t("live.strays")} back={{ href: "/live", label: t("live.back_to_live") }}>
        <button type="button" class="button" onClick={() => void strays.reload()}>{t("live.refresh")}</button>
      </PageBar>
      {state.kind === "loading" && <Skeleton />}
      {strays.problem.value !== null && (
        <ErrorState
          title={t("live.strays_failed")}
          onRetry={() => void strays.reload()}
        >
          {strays.problem.value}
        </ErrorState>
      )}
      {state.kind === "ready" && state.value.items.length === 0 && (
        <div class="panel">
          <EmptyState title={t("live.strays_none")} next={t("live.strays_none_next")} />
        </div>
      )}
      {state.kind === "ready" && (
        <ol class="strays">
          {state.value.items.map((item) => <Stray key={item.id} models={models} item={item} />)}
        </ol>
      )}
    </main>
  );
}

function Stray({ models, item }: { models: Models; item: ExplainedStray }) {
  const { reason, source, answered, lastMs, explanation } = item;
  return (
    <li class="panel stray">
      <h2>{t("live.stray_from", { reason: readable(reason), source })}</h2>
      <p class="quiet small">
        <Time models={models} atMs={lastMs} />
        {` · ${t(answered ? "live.stray_answered" : "live.stray_silent")}`}
      </p>
      <ExplanationText explanation={explanation} />
      <Packet packet={item} since={timeText(item.atMs)} />
    </li>
  );
}
