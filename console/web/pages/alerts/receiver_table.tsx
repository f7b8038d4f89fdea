// The receivers of alerts, with their state, and the menu of each: test, edit, pause, new secret, remove.

import { useSignal } from "@preact/signals";
import type { ReceiverRow } from "../../../api/alerts/alert_types.ts";
import { failureText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { ConfirmDialog, type CreatedSecret, SecretDialog } from "../../components/form_dialog.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { pauseReceiver, removeReceiver, renewReceiverSecret, testReceiver } from "./alert_calls.ts";
import { receiverState } from "./alert_texts.ts";

interface ReceiverTableProps {
  readonly models: Models;
  readonly items: readonly ReceiverRow[];
  readonly onEdit: (row: ReceiverRow) => void;
  readonly onChange: () => Promise<void>;
}

export function ReceiverTable({ models, items, onEdit, onChange }: ReceiverTableProps) {
  const removing = useSignal<string | null>(null);
  const secret = useSignal<CreatedSecret | null>(null);
  const name = removing.value;
  return (
    <>
      {items.length > 0 && (
        <section class="panel" aria-labelledby="alerts-receivers">
          <div class="panel-head">
            <h2 id="alerts-receivers">{t("alerts.receivers")}</h2>
          </div>
          <DataTable
            label={t("alerts.receivers")}
            columns={columnsOf(models)}
            rows={items}
            keyOf={(row) => row.name}
            actionsOf={(row) =>
              actionsOf(models, row, {
                reload: onChange,
                edit: () => onEdit(row),
                remove: () => removing.value = row.name,
                show: (made) => secret.value = made,
              })}
          />
        </section>
      )}
      {secret.value !== null && <SecretDialog {...secret.value} onClose={() => secret.value = null} />}
      {name !== null && (
        <ConfirmDialog
          title={t("alerts.remove_title", { name })}
          submitLabel={t("common.remove")}
          onClose={() => removing.value = null}
          onConfirm={async () => {
            await removeReceiver(models, name);
            models.toasts.show(t("common.name_removed", { name }), { tone: "ok" });
            void onChange();
          }}
        >
          <p>{t("alerts.remove_why")}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

function columnsOf(models: Models): readonly TableColumn<ReceiverRow>[] {
  return [
    {
      label: t("common.name"),
      min: 120,
      cell: ({ name }) => <bdi class="cut mono" title={name}>{name}</bdi>,
    },
    {
      label: t("alerts.address"),
      priority: 2,
      min: 180,
      cell: ({ address }) => <bdi class="cut" title={address}>{address}</bdi>,
    },
    {
      label: t("alerts.which"),
      priority: 2,
      min: 150,
      cell: ({ settings: { kinds, minSeverity } }) =>
        kinds.length === 0
          ? t(`alerts.min_${minSeverity}`)
          : t(`alerts.kinds_${minSeverity}`, { count: kinds.length }),
    },
    {
      label: t("common.status"),
      min: 180,
      cell: (row) => (
        <>
          <StateText words={receiverState(row)} />
          {row.problem !== null && row.problem.detail !== "" && (
            <bdi class="cut quiet small" title={row.problem.detail}>{row.problem.detail}</bdi>
          )}
          {row.waiting > 0 && (
            <span class="small mail-detail">{t("common.messages_waiting", { count: row.waiting })}</span>
          )}
        </>
      ),
    },
    {
      label: t("common.last_sent"),
      width: "140px",
      cell: ({ lastSentMs }) =>
        lastSentMs === null ? t("common.never") : <Time models={models} atMs={lastSentMs} />,
    },
  ];
}

interface RowActions {
  readonly reload: () => Promise<void>;
  readonly edit: () => void;
  readonly remove: () => void;
  readonly show: (secret: CreatedSecret) => void;
}

function actionsOf(models: Models, row: ReceiverRow, actions: RowActions): readonly MenuItem[] {
  const { name, settings: { isPaused, kind } } = row;
  const { edit, remove, show, reload } = actions;
  const owner = permissionHint(models, "owner");
  const report = async (action: () => Promise<void>) => {
    try {
      await action();
    } catch (fault) {
      models.toasts.show(failureText(fault), { tone: "bad" });
    }
    await reload();
  };
  return [
    {
      label: t("alerts.test"),
      icon: "send",
      reason: permissionHint(models, "operator"),
      run: () => report(() => sendTest(models, row)),
    },
    { label: t("common.edit"), icon: "pencil", reason: owner, run: edit },
    {
      label: isPaused ? t("common.resume") : t("common.pause"),
      icon: "play",
      reason: owner,
      run: () => report(async () => void await pauseReceiver(models, name, !isPaused)),
    },
    ...kind !== "webhook" ? [] : [
      {
        label: t("common.renew_signature_secret"),
        icon: "key-round",
        reason: owner,
        run: () =>
          report(async () => {
            const { webhookSecret } = await renewReceiverSecret(models, row);
            show({ title: t("common.signature_secret_of", { name }), secret: webhookSecret });
          }),
      } satisfies MenuItem,
    ],
    { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`alert-receiver:${name}`) },
    { label: t("common.remove"), icon: "trash-2", isBad: true, reason: owner, run: remove },
  ];
}

async function sendTest(models: Models, { name, settings: { kind } }: ReceiverRow): Promise<void> {
  const { result } = await testReceiver(models, name);
  if (result.ok) {
    models.toasts.show(t(`alerts.test_ok_${kind}`, { name }), { tone: "ok" });
  } else {
    const why = t(`alerts.problem_${result.code}`);
    models.toasts.show(t("common.name_and_reason", { name, why }), { tone: "bad" });
  }
}
