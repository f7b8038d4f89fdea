// The list of identity providers that provision users: their state, last request and secrets, and the guided setup of another one.

import { useSignal } from "@preact/signals";
import type { ConnectionKind, ConnectionRow } from "../../../api/connections/connection_types.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { readyValue, useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { lazy } from "../../components/lazy.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { connectionHref, connectionState, fetchConnections, secretState } from "./connection_calls.ts";

const ConnectDialog = lazy(async () => (await import("./connection_tabs.ts")).ConnectDialog);

const TEXTS = {
  failed: "common.unread",
  old: "common.old",
  empty: ["connections.none", "connections.none_next"],
} as const;
const REFRESH_INTERVAL_MS = 10_000;
const KINDS = ["okta", "entra", "other"] as const satisfies readonly ConnectionKind[];

export default function ConnectionsPage({ models }: PageProps) {
  const list = useResource(models, { fetch: () => fetchConnections(models), inputs: [] });
  useInterval(REFRESH_INTERVAL_MS, list.reload);
  const adding = useSignal<ConnectionKind | null>(null);
  const answer = readyValue(list.state.value);
  const reason = permissionHint(models, "owner");
  return (
    <ListPage
      models={models}
      name="connections"
      initialSort="name"
      title={t("shell.connections")}
      texts={TEXTS}
      resource={list}
      actions={KINDS.map((kind) => (
        <Button
          key={kind}
          kind={kind === "other" ? undefined : "primary"}
          icon="plus"
          reason={reason}
          onClick={() => adding.value = kind}
        >
          {t(`connections.connect_${kind}`)}
        </Button>
      ))}
      rows={({ items }) => items}
      columns={columnsOf(models)}
      keyOf={({ settings }) => settings.name}
      hrefOf={({ settings }) => connectionHref(settings.name)}
      actionsOf={({ settings: { name } }) => [
        { label: t("connections.setup"), icon: "list-checks", href: `${connectionHref(name)}#setup` },
        { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`connection:${name}`) },
      ]}
    >
      {adding.value !== null && answer !== null && (
        <ConnectDialog
          models={models}
          kind={adding.value}
          list={answer}
          onClose={() => adding.value = null}
        />
      )}
    </ListPage>
  );
}

function columnsOf(models: Models): readonly TableColumn<ConnectionRow>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      sort: ({ settings }) => settings.name,
      cell: ({ settings: { name } }) => <bdi class="cut mono" title={name}>{name}</bdi>,
    },
    {
      id: "kind",
      label: t("connections.kind"),
      width: "120px",
      priority: 2,
      sort: ({ settings }) => settings.kind,
      cell: ({ settings }) => t(`connections.kind_${settings.kind}`),
    },
    {
      id: "target",
      label: t("common.target"),
      priority: 2,
      sort: ({ settings }) => settings.target,
      cell: ({ settings: { target } }) => <bdi class="cut mono" title={target}>{target}</bdi>,
    },
    {
      id: "state",
      label: t("common.status"),
      width: "170px",
      sort: (row) => connectionState(row).label,
      cell: (row) => <StateText words={connectionState(row)} />,
    },
    {
      id: "last",
      label: t("connections.last_request"),
      width: "140px",
      isLargestFirst: true,
      sort: ({ lastRequest }) => lastRequest?.atMs ?? null,
      cell: ({ lastRequest }) =>
        lastRequest === null ? t("common.never") : <Time models={models} atMs={lastRequest.atMs} />,
    },
    {
      id: "secrets",
      label: t("connections.secrets"),
      min: 150,
      cell: ({ secrets }) => <StateText words={secretState(secrets, models.clock.nowMs.value)} />,
    },
  ];
}
