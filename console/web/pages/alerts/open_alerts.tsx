// The open alerts: what happened, what to do next, and the link to the page where it is done.

import type { AlertRow } from "../../../api/alerts/alert_types.ts";
import type { Models } from "../../app/app_context.ts";
import { useAction } from "../../app/action.ts";
import { permissionHint } from "../../app/session_model.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { acknowledgeAlertRow } from "./alert_calls.ts";
import { alertLink, alertSentence, SEVERITY_TONES } from "./alert_texts.ts";

interface OpenAlertsProps {
  readonly models: Models;
  readonly open: readonly AlertRow[];
  readonly onChange: () => Promise<unknown>;
}

export function OpenAlerts({ models, open, onChange }: OpenAlertsProps) {
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
