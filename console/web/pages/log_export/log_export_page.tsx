// The Log export page: the destinations of logins and audit records, with their state, backlog and last problem.

import { useSignal } from "@preact/signals";
import type { DestinationRow } from "../../../api/log_export/log_export_types.ts";
import { failureText } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { countText } from "../../app/format.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { ConfirmDialog, type CreatedSecret, SecretDialog } from "../../components/form_dialog.tsx";
import { lazy } from "../../components/lazy.tsx";
import { ListPage } from "../../components/list_page.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import {
  destinationState,
  fetchDestinations,
  pauseDestination,
  removeDestination,
  renewDestinationSecret,
  testDestination,
} from "./destination_calls.ts";

const DestinationDialog = lazy(async () => (await import("./destination_dialog.tsx")).DestinationDialog);

const TEXTS = {
  failed: "common.unread",
  old: "common.old",
  empty: ["logexport.none", "logexport.none_next"],
} as const;
const REFRESH_INTERVAL_MS = 5000;

export default function LogExportPage({ models }: PageProps) {
  const list = useResource(models, { fetch: () => fetchDestinations(models), inputs: [] });
  useInterval(REFRESH_INTERVAL_MS, list.reload);
  const edited = useSignal<DestinationRow | "new" | null>(null);
  const removing = useSignal<string | null>(null);
  const secret = useSignal<CreatedSecret | null>(null);
  const name = removing.value;
  return (
    <ListPage
      models={models}
      name="log_export"
      initialSort="name"
      title={t("shell.log_export")}
      texts={TEXTS}
      resource={list}
      actions={
        <Button
          kind="primary"
          icon="plus"
          reason={permissionHint(models, "owner")}
          onClick={() => edited.value = "new"}
        >
          {t("logexport.add")}
        </Button>
      }
      rows={({ items }) => items}
      columns={columnsOf(models)}
      keyOf={(row) => row.name}
      actionsOf={(row) =>
        actionsOf(models, row, {
          reload: list.reload,
          edit: () => edited.value = row,
          remove: () => removing.value = row.name,
          show: (made) => secret.value = made,
        })}
    >
      {edited.value !== null && (
        <DestinationDialog
          models={models}
          item={edited.value === "new" ? null : edited.value}
          onDone={() => void list.reload()}
          onClose={() => edited.value = null}
        />
      )}
      {secret.value !== null && <SecretDialog {...secret.value} onClose={() => secret.value = null} />}
      {name !== null && (
        <ConfirmDialog
          title={t("logexport.remove_title", { name })}
          submitLabel={t("common.remove")}
          onClose={() => removing.value = null}
          onConfirm={async () => {
            await removeDestination(models, name);
            models.toasts.show(t("common.name_removed", { name }), { tone: "ok" });
            void list.reload();
          }}
        >
          <p>{t("logexport.remove_why")}</p>
        </ConfirmDialog>
      )}
    </ListPage>
  );
}

function columnsOf(models: Models): readonly TableColumn<DestinationRow>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      sort: ({ name }) => name,
      cell: ({ name }) => <bdi class="cut mono" title={name}>{name}</bdi>,
    },
    {
      id: "kind",
      label: t("logexport.kind"),
      width: "140px",
      priority: 2,
      sort: ({ settings }) => settings.kind,
      cell: ({ settings }) => t(`logexport.kind_${settings.kind}`),
    },
    {
      id: "address",
      label: t("logexport.address"),
      priority: 2,
      cell: ({ address }) => <bdi class="cut mono" title={address}>{address}</bdi>,
    },
    {
      id: "state",
      label: t("common.status"),
      min: 220,
      sort: (row) => destinationState(row).label,
      cell: (row) => (
        <>
          <StateText words={destinationState(row)} />
          {row.problem !== null && (
            <bdi class="cut quiet small" title={row.problem.detail}>{row.problem.detail}</bdi>
          )}
        </>
      ),
    },
    {
      id: "backlog",
      label: t("logexport.backlog"),
      width: "170px",
      isLargestFirst: true,
      sort: ({ backlog }) => backlog,
      cell: (row) => <BacklogText models={models} row={row} />,
    },
    {
      id: "sent",
      label: t("logexport.sent"),
      width: "110px",
      priority: 2,
      isLargestFirst: true,
      sort: ({ sent }) => sent,
      cell: ({ sent }) => countText(sent),
    },
    {
      id: "last",
      label: t("common.last_sent"),
      width: "140px",
      isLargestFirst: true,
      sort: ({ lastSentMs }) => lastSentMs,
      cell: ({ lastSentMs }) =>
        lastSentMs === null ? t("common.never") : <Time models={models} atMs={lastSentMs} />,
    },
  ];
}

function BacklogText(
  { models, row: { backlog, oldestMs, skipped } }: { models: Models; row: DestinationRow },
) {
  return (
    // One element, because a card of a narrow window has one place for the cell.
    <div>
      {countText(backlog)}
      {backlog > 0 && oldestMs !== null && (
        <span class="quiet small">
          {" "}
          <Time models={models} atMs={oldestMs} />
        </span>
      )}
      {skipped > 0 && <div class="quiet small">{t("logexport.skipped", { count: skipped })}</div>}
    </div>
  );
}

interface RowActions {
  readonly reload: () => Promise<void>;
  readonly edit: () => void;
  readonly remove: () => void;
  readonly show: (secret: CreatedSecret) => void;
}

function actionsOf(
  models: Models,
  row: DestinationRow,
  { reload, edit, remove, show }: RowActions,
): readonly MenuItem[] {
  const { name, settings: { isPaused, kind } } = row;
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
      label: t("logexport.test"),
      icon: "send",
      reason: permissionHint(models, "operator"),
      run: () =>
        report(async () => {
          const { result } = await testDestination(models, name);
          if (result.ok) models.toasts.show(t("logexport.test_ok", { name }), { tone: "ok" });
          else {
            const why = t(`logexport.problem_${result.code}`);
            models.toasts.show(t("common.name_and_reason", { name, why }), { tone: "bad" });
          }
        }),
    },
    { label: t("common.edit"), icon: "pencil", reason: owner, run: edit },
    {
      label: isPaused ? t("common.resume") : t("common.pause"),
      icon: "play",
      reason: owner,
      run: () => report(async () => void await pauseDestination(models, name, !isPaused)),
    },
    ...kind !== "webhook" ? [] : [
      {
        label: t("common.renew_signature_secret"),
        icon: "key-round",
        reason: owner,
        run: () =>
          report(async () => {
            const { webhookSecret } = await renewDestinationSecret(models, row);
            show({ title: t("common.signature_secret_of", { name }), secret: webhookSecret });
          }),
      } satisfies MenuItem,
    ],
    { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`log-export:${name}`) },
    { label: t("common.remove"), icon: "trash-2", isBad: true, reason: owner, run: remove },
  ];
}
