// The Alerts page: open alerts with the next step, the receivers, and the alerts of the last 90 days.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { AlertList, AlertRow, ReceiverList, ReceiverRow } from "../../../api/alerts/alert_types.ts";
import { useAction } from "../../app/action.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { readyValue, type Resource, useInterval, useOlderPages, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, EmptyState, ErrorAlert, ErrorState, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { Icon } from "../../components/icons.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { ClockTime, Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { alertLink, alertSentence, deliveryLabel, SEVERITY_TONES } from "./alert_labels.ts";
import { ReceiverDialog, ReceiverTable } from "./receivers.tsx";

const REFRESH_MS = 5000;
const SETTINGS = "/settings/alerts";

export default function AlertsPage({ models }: PageProps) {
  const alerts = useResource(models, { fetch: () => fetchAlerts(models), inputs: [] });
  const receivers = useResource(models, { fetch: () => fetchReceivers(models), inputs: [] });
  useInterval(REFRESH_MS, () => Promise.all([alerts.reload(), receivers.reload()]));
  const edited = useSignal<ReceiverRow | "new" | null>(null);
  const list = readyValue(receivers.state.value);
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.alerts")}>
        <a class="button" href={SETTINGS}>
          <Icon name="settings" size={14} />
          {t("shell.settings")}
        </a>
        <Button
          kind="primary"
          icon="plus"
          reason={permissionHint(models, "owner")}
          onClick={() => edited.value = "new"}
        >
          {t("alerts.add")}
        </Button>
      </PageBar>
      <Fetched resource={alerts} failed="alerts.failed" old="common.old" rows={3}>
        {(answer) =>
          answer.isEnabled && answer.items.length === 0 && list?.items.length === 0
            ? <EmptyState title={t("alerts.none")} next={t("alerts.none_next")} />
            : (
              <>
                <Notes answer={answer} receivers={list} />
                <OpenAlerts models={models} open={answer.open} onChange={alerts.reload} />
              </>
            )}
      </Fetched>
      <Fetched resource={receivers} failed="alerts.receivers_failed" old="common.old" rows={2}>
        {({ items }) => (
          <ReceiverTable
            models={models}
            items={items}
            list={receivers}
            onEdit={(row) => edited.value = row}
          />
        )}
      </Fetched>
      {readyValue(alerts.state.value) !== null && <AlertHistory models={models} resource={alerts} />}
      {edited.value !== null && (
        <ReceiverDialog
          models={models}
          item={edited.value === "new" ? null : edited.value}
          isMailConfigured={list?.isMailConfigured ?? true}
          onDone={() => void receivers.reload()}
          onClose={() => edited.value = null}
        />
      )}
    </main>
  );
}

/** Why no alert is sent. */
function Notes({ answer, receivers }: { answer: AlertList; receivers: ReceiverList | null }) {
  if (!answer.isEnabled) {
    return (
      <Alert tone="wait">
        {t("alerts.off")} <a href={SETTINGS}>{t("shell.settings")}</a>
      </Alert>
    );
  }
  if (receivers === null) return null;
  const { items, isMailConfigured } = receivers;
  if (items.length === 0) return <Alert tone="wait">{t("alerts.no_receiver")}</Alert>;
  const needsMail = items.some(({ settings }) => settings.kind === "mail" && !settings.isPaused);
  if (isMailConfigured || !needsMail) return null;
  return (
    <Alert tone="bad">
      {t("alerts.mail_off")} <a href="/settings/mail">{t("common.mail_settings")}</a>
    </Alert>
  );
}

const fetchAlerts = ({ api }: Models, after = ""): Promise<AlertList> =>
  take<AlertList>(api.alerts.$get({ query: { after } }));

const acknowledgeAlertRow = (
  { api, session }: Models,
  { id, count }: Pick<AlertRow, "id" | "count">,
) =>
  session.whileSignedIn(() =>
    take(api.alerts[":id"].acknowledge.$post({ param: escapeParams({ id }), json: { count } }))
  );

const fetchReceivers = ({ api }: Models) => take(api.alerts.receivers.$get());

interface OpenAlertsProps {
  readonly models: Models;
  readonly open: readonly AlertRow[];
  readonly onChange: () => Promise<unknown>;
}

function OpenAlerts({ models, open, onChange }: OpenAlertsProps) {
  const { busy, fault, run } = useAction();
  const acknowledge = (row: AlertRow) =>
    run(async () => {
      try {
        await acknowledgeAlertRow(models, row);
        models.toasts.show(t("alerts.acknowledged"), { tone: "ok" });
      } finally {
        await onChange();
      }
    });
  return (
    <section class="panel overview-panel" aria-labelledby="alerts-open">
      <div class="panel-head">
        <h2 id="alerts-open">{t("alerts.open")}</h2>
        {open.length > 0 && <span class="count">{open.length}</span>}
      </div>
      <ErrorAlert of={fault} />
      {open.length === 0 ? <p class="overview-more quiet">{t("alerts.none_open")}</p> : (
        <ul class="attention">
          {open.map((row) => (
            <OpenAlert
              key={row.id}
              models={models}
              row={row}
              isBusy={busy.value}
              onAcknowledge={() => acknowledge(row)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

interface OpenAlertProps extends Pick<OpenAlertsProps, "models"> {
  readonly row: AlertRow;
  readonly isBusy: boolean;
  readonly onAcknowledge: () => unknown;
}

function OpenAlert({ models, row, isBusy, onAcknowledge }: OpenAlertProps) {
  const { kind, severity, values: { detail = "" }, count, openedMs, lastMs } = row;
  const text = alertSentence(row, models.clock.nowMs.value);
  const { href, label } = alertLink(row);
  return (
    <li class={`tone-${SEVERITY_TONES[severity]}`}>
      <Icon name="line-alert" size={14} />
      <div class="attention-text">
        <span class="unseen">{`${t(`alerts.severity_${severity}`)}: `}</span>
        <strong>{text}</strong>
        {detail !== "" && (
          <p class="small">
            <bdi class="mono">{detail}</bdi>
          </p>
        )}
        <p>{t(`alerts.next_${kind}`)}</p>
        <p class="quiet small">
          {t("alerts.opened")} <Time models={models} atMs={openedMs} />
          {count > 1 && lastMs > openedMs && (
            <>
              {` · ${t("alerts.times", { count })} `}
              <Time models={models} atMs={lastMs} />
            </>
          )}
        </p>
      </div>
      <a href={href}>
        {label}
        <span class="unseen">{`: ${text}`}</span>
      </a>
      <Button
        small
        icon="check"
        disabled={isBusy}
        reason={permissionHint(models, "operator")}
        of={text}
        onClick={onAcknowledge}
      >
        {t("alerts.acknowledge")}
      </Button>
    </li>
  );
}

function AlertHistory({ models, resource }: { models: Models; resource: Resource<AlertList> }) {
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
        columns={historyColumns(models)}
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

function historyColumns(models: Models): readonly TableColumn<AlertRow>[] {
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
