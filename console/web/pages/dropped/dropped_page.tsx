// Packets without an answer, or with an answer outside any login: the newest ones, each with the reason and a fix.

import { useComputed } from "@preact/signals";
import { Fragment } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { DropTally } from "../../../../radius/ports.ts";
import type { ExplainedStray, StrayList } from "../../../api/conversations/live_routes.ts";
import { take } from "../../app/api_client.ts";
import type { PageProps } from "../../app/app_context.ts";
import { countText, timeText } from "../../app/format.ts";
import { toReadableName } from "../../app/login_state_labels.ts";
import { clearFilters, type ListFilter, toFilterQuery } from "../../app/filters.ts";
import { createAutoRefresh, useResource } from "../../app/resource.ts";
import { Button } from "../../components/button.tsx";
import {
  ConnectionBanner,
  droppedTotal,
  type LiveModels as Models,
  withLiveModels,
} from "../live/live_context.tsx";
import { clientText } from "../../components/client_text.ts";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { FilterChips } from "../../components/filter_chips.tsx";
import { ListFilterBar, rangeFilters } from "../../components/list_filters.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { ClockTime, DayTitle, isNewDay } from "../../components/time.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import { ExplanationText } from "../live/explanation_text.tsx";
import { PacketDetails } from "../live/packets_view.tsx";

/** The label of a drop reason; without a label, its name. */
function dropTitle(reason: string): string {
  return findMessage(`explain.title_${reason}`) ?? toReadableName(reason);
}

export default function DroppedPage({ models: frame }: PageProps) {
  const models = withLiveModels(frame);
  const filters = filterRows();
  const { live, api } = models;
  const dropped = useResource<StrayList>(models, {
    fetch: () => take(api.live.strays.$get()),
    inputs: [],
  });
  const total = useComputed(() => droppedTotal(live.counters.value));
  // A retransmission counts, but has no number.
  const newest = useComputed(() => `${live.newestDropped.value} ${total.value}`);
  const follower = useMemo(() =>
    createAutoRefresh({
      newest,
      fetch: dropped.reload,
      later(delayMs, task) {
        const timer = setTimeout(task, delayMs);
        return () => clearTimeout(timer);
      },
    }), []);
  useEffect(() => {
    live.start();
    return () => {
      live.stop();
      follower.stop();
    };
  }, []);
  return (
    <main class="page">
      <PageBar title={t("shell.dropped")} back={{ href: "/live", label: t("common.back_to_live") }}>
        <Since live={live} />
      </PageBar>
      <ConnectionBanner models={models} />
      <ListFilterBar models={models} label={t("common.filters")} filters={filters} />
      <FilterChips models={models} filters={filters} />
      <Fetched resource={dropped} failed="dropped.failed">
        {(list) => <Listed {...{ models, list, follower, filters }} />}
      </Fetched>
    </main>
  );
}

/** The number of dropped packets since the start of the gateway. */
function Since({ live }: Pick<Models, "live">) {
  const text = useComputed(() =>
    t("dropped.since_start", { count: countText(droppedTotal(live.counters.value)) })
  );
  return <span class="quiet">{text}</span>;
}

interface ListedProps {
  readonly models: Models;
  readonly list: StrayList;
  readonly follower: ReturnType<typeof createAutoRefresh>;
  readonly filters: readonly ListFilter[];
}

function Listed({ models, list, follower, filters }: ListedProps) {
  const query = toFilterQuery(models, filters, models.clock.nowMs.peek());
  const { reason, source, from = 0, to = Infinity } = query;
  const fits = (one: { reason: string; source: string; firstMs: number; lastMs: number }) =>
    (reason === undefined || one.reason === reason) && (source === undefined || one.source === source) &&
    one.lastMs >= Number(from) && one.firstMs <= Number(to);
  const items = list.items.filter((item) => fits({ ...item, firstMs: item.atMs }));
  const tallies = list.tallies.filter(fits);
  return (
    <section
      class="held"
      aria-label={t("shell.dropped")}
      onPointerEnter={() => follower.pause(true)}
      onPointerLeave={() => follower.pause(false)}
      onFocusIn={() => follower.pause(true)}
      onFocusOut={(event) => {
        const { relatedTarget, currentTarget } = event;
        if (!(relatedTarget instanceof Node) || !currentTarget.contains(relatedTarget)) follower.pause(false);
      }}
    >
      <Newer follower={follower} />
      {tallies.length > 0 && <Tallies models={models} tallies={tallies} />}
      {items.length === 0 && (
        <div class="panel">
          {Object.keys(query).length === 0
            ? <EmptyState title={t("dropped.none")} next={t("dropped.none_next")} />
            : (
              <EmptyState
                title={t("dropped.none_match")}
                next={t("dropped.none_match_next")}
                onClear={() => clearFilters(models, filters)}
              />
            )}
        </div>
      )}
      <ol class="strays">
        {items.map((item, at) => (
          <Fragment key={item.id}>
            {isNewDay(item.lastMs, items[at - 1]?.lastMs) && (
              <li class="day-item">
                <DayTitle atMs={item.lastMs} nowMs={models.clock.nowMs.peek()} />
              </li>
            )}
            <DroppedPacket item={item} port={list.radiusPort} />
          </Fragment>
        ))}
      </ol>
    </section>
  );
}

/** Positioned over the list, so that the list does not move. */
function Newer({ follower }: Pick<ListedProps, "follower">) {
  return (
    <p class="held-newer">
      {follower.waiting.value && (
        <Button kind="primary" small onClick={follower.showNewer}>{t("dropped.newer")}</Button>
      )}
    </p>
  );
}

/** Counts by reason and source. A click filters the page. */
function Tallies({ models, tallies }: { models: Models; tallies: readonly DropTally[] }) {
  const filterButton = (name: "reason" | "source", value: string, text = value) => (
    <button
      type="button"
      class="cell-filter"
      title={t("common.only", { value: text })}
      onClick={() => models.router.setParams({ [name]: value })}
    >
      {text}
    </button>
  );
  return (
    <section class="panel tallies" aria-labelledby="tallies">
      <h2 id="tallies">{t("dropped.stray_tallies")}</h2>
      <ul>
        {tallies.map(({ reason, source, client, count, firstMs }) => (
          <li key={`${source} ${reason}`}>
            <b class="number">{countText(count)}</b>
            {filterButton("reason", reason, dropTitle(reason))}
            <span class="mono">{filterButton("source", source)}</span>
            {client !== null && <span class="mono quiet">{clientText(client)}</span>}
            <span class="quiet small">
              {t("dropped.stray_since")} <ClockTime atMs={firstMs} dayOfMs={models.clock.nowMs.peek()} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function filterRows(): ListFilter[] {
  return [
    ...rangeFilters(),
    { name: "reason", label: t("common.reason"), text: dropTitle },
    { name: "source", label: t("common.sender") },
  ];
}

function DroppedPacket({ item, port }: { item: ExplainedStray; port: number }) {
  const { reason, source, answered, lastMs, explanation, similar } = item;
  return (
    <li class="panel stray">
      <h2>{t("dropped.stray_from", { reason: dropTitle(reason), source })}</h2>
      <p class="quiet small">
        <ClockTime atMs={lastMs} />
        {` · ${t(answered ? "dropped.stray_answered" : "dropped.stray_silent")}`}
      </p>
      <ExplanationText explanation={explanation} similar={similar} />
      <PacketDetails packet={item} since={timeText(item.atMs)} port={port} />
    </li>
  );
}
