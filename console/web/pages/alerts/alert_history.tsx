// The alerts of the last 90 days, newest first, with the result of each delivery.

import { useRef } from "preact/hooks";
import type { AlertList, AlertRow } from "../../../api/alerts/alert_types.ts";
import type { Models } from "../../app/app_context.ts";
import { readyValue, type Resource, useOlderPages } from "../../app/resource.ts";
import { ErrorState } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { StateText } from "../../components/status.tsx";
import { ClockTime } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { fetchAlerts } from "./alert_calls.ts";
import { alertSentence, deliveryLabel, SEVERITY_TONES } from "./alert_texts.ts";

export function AlertHistory({ models, resource }: { models: Models; resource: Resource<AlertList> }) {
  const behind = useOlderPages<AlertList>(models);
  const first = useUnchanged(readyValue(resource.state.value));
  if (first === null || first.items.length === 0) return null;
  const { pages, problem } = behind.olderPages(first);
  const rows = [first, ...pages].flatMap(({ items }) => items);
  const { next } = pages.at(-1) ?? first;
  return (
    <section class="panel" aria-labelledby="alerts-recent">
      <div class="panel-head">
        <h2 id="alerts-recent">{t("alerts.recent")}</h2>
      </div>
      <DataTable
        label={t("alerts.recent")}
        columns={columnsOf(models)}
        rows={rows}
        keyOf={({ id }) => id}
        days={{ timeOf: ({ openedMs }) => openedMs, nowMs: models.clock.nowMs.peek() }}
        nameOf={(row) => alertSentence(row, models.clock.nowMs.value)}
      />
      {problem !== null && <ErrorState title={t("alerts.failed")}>{problem}</ErrorState>}
      {next !== null && (
        <div class="pager">
          <Button
            disabled={behind.isBusy()}
            onClick={() => behind.loadMore(first, (after) => fetchAlerts(models, after))}
          >
            {t("alerts.show_more")}
          </Button>
        </div>
      )}
    </section>
  );
}

/** The earlier answer while its alerts are the same, so that a refresh keeps the older pages. */
function useUnchanged(list: AlertList | null): AlertList | null {
  const shown = useRef<AlertList | null>(null);
  if (JSON.stringify(shown.current?.items) !== JSON.stringify(list?.items)) shown.current = list;
  return shown.current;
}

function columnsOf(models: Models): readonly TableColumn<AlertRow>[] {
  return [
    {
      label: t("alerts.alert"),
      width: "45%",
      min: 220,
      cell: (row) => (
        <span class="wrap">
          {alertSentence(row, models.clock.nowMs.value)}
          {row.count > 1 && row.values.users === undefined && (
            <span class="quiet small">{` ${t("alerts.count", { count: row.count })}`}</span>
          )}
        </span>
      ),
    },
    {
      label: t("alerts.severity"),
      width: "136px",
      cell: ({ severity }) => (
        <StateText
          words={{
            tone: SEVERITY_TONES[severity],
            shape: "alert",
            label: t(`alerts.severity_${severity}`),
          }}
        />
      ),
    },
    {
      label: t("alerts.opened"),
      width: "92px",
      cell: ({ openedMs }) => <ClockTime atMs={openedMs} />,
    },
    {
      label: t("alerts.ended"),
      min: 92,
      isWhole: true,
      priority: 3,
      cell: ({ openedMs, endedMs, acknowledged }) => (
        <>
          {endedMs === null ? t("alerts.still_open") : <ClockTime atMs={endedMs} dayOfMs={openedMs} />}
          {acknowledged !== null && (
            <span class="mail-detail quiet small">
              {t("alerts.acknowledged_by", { name: acknowledged.by })}{" "}
              <ClockTime atMs={acknowledged.atMs} dayOfMs={openedMs} />
            </span>
          )}
        </>
      ),
    },
    { label: t("alerts.deliveries"), min: 180, cell: (row) => <Deliveries row={row} /> },
  ];
}

function Deliveries({ row: { deliveries, openedMs } }: { row: AlertRow }) {
  if (deliveries.length === 0) return <span class="quiet">{t("alerts.not_sent")}</span>;
  return (
    <span class="wrap">
      {deliveries.map((delivery) => (
        <span key={delivery.receiver} class="mail-detail">
          <bdi class="mono">{delivery.receiver}</bdi>
          {` – ${deliveryLabel(delivery)} `}
          <span class="quiet small">
            <ClockTime atMs={delivery.atMs} dayOfMs={openedMs} />
          </span>
        </span>
      ))}
    </span>
  );
}
