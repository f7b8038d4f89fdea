// The Alerts page: open alerts with the next step, the receivers, and the alerts of the last 90 days.

import { useSignal } from "@preact/signals";
import type { AlertList, ReceiverList, ReceiverRow } from "../../../api/alerts/alert_types.ts";
import type { PageProps } from "../../app/app_context.ts";
import { readyValue, useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, EmptyState, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { lazy } from "../../components/lazy.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { fetchAlerts, fetchReceivers } from "./alert_calls.ts";
import { AlertHistory } from "./alert_history.tsx";
import { OpenAlerts } from "./open_alerts.tsx";
import { ReceiverTable } from "./receiver_table.tsx";

const ReceiverDialog = lazy(async () => (await import("./receiver_dialog.tsx")).ReceiverDialog);

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
            onEdit={(row) => edited.value = row}
            onChange={receivers.reload}
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
