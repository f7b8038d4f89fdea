// The list of RADIUS clients, with their state and reject rate.

import { useSignal } from "@preact/signals";
import type { ClientRow } from "../../../api/clients/client_types.ts";
import type { PageProps } from "../../app/app_context.ts";
import type { ListFilter } from "../../app/filters.ts";
import { readyValue, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { lazy } from "../../components/lazy.tsx";
import { ListPage } from "../../components/list_page.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { fetchClients, placeText } from "./client_form.ts";

const AddClientDialog = lazy(async () => (await import("./client_dialogs.tsx")).AddClientDialog);
const TEXTS = {
  filters: "common.search",
  failed: "common.unread",
  old: "common.old",
  empty: ["common.clients_none", "common.clients_none_next"],
  noMatch: ["clients.none_match"],
} as const;

export default function ClientsPage({ models }: PageProps) {
  const list = useResource(models, { fetch: () => fetchClients(models), inputs: [] });
  const adding = useSignal(false);
  const answer = readyValue(list.state.value);
  const asked = models.router.param("q").trim().toLowerCase();
  return (
    <ListPage
      models={models}
      name="clients"
      savedAs="clients"
      initialSort="name"
      title={t("shell.clients")}
      tabs={<a class="button button-small" href="/shadow">{t("shell.shadow")}</a>}
      texts={TEXTS}
      filters={answer === null || answer.items.length === 0 ? [] : filterRows()}
      resource={list}
      actions={
        <Button
          kind="primary"
          icon="plus"
          reason={permissionHint(models, "owner")}
          onClick={() => adding.value = true}
        >
          {t("common.client_add")}
        </Button>
      }
      rows={({ items }) =>
        items.filter((client) =>
          [client.name, placeText(client), client.tlsFingerprint].some((text) =>
            text.toLowerCase().includes(asked)
          )
        )}
      columns={columnsOf(models)}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => `/clients/${encodeURIComponent(name)}`}
      actionsOf={actionsOf}
      note={({ items }) => items.length === 0 && <Alert tone="wait">{t("clients.any_address")}</Alert>}
    >
      {adding.value && answer !== null && (
        <AddClientDialog
          models={models}
          ldap={answer.ldap}
          gateway={answer.gateway}
          onDone={() => void list.reload()}
          onClose={() => adding.value = false}
        />
      )}
    </ListPage>
  );
}

/** The browser has the whole list, so the search needs no chip. */
function filterRows(): ListFilter[] {
  return [{ name: "q", label: t("clients.search"), chip: "", control: "search" }];
}

function columnsOf(models: PageProps["models"]): readonly TableColumn<ClientRow>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      sort: ({ name }) => name,
      cell: ({ name }) => <bdi class="cut mono" title={name}>{name}</bdi>,
    },
    {
      id: "address",
      label: t("clients.address"),
      sort: (client) => placeText(client) || null,
      cell: (client) => <bdi class="cut mono" title={placeText(client)}>{placeText(client)}</bdi>,
    },
    {
      id: "state",
      label: t("common.status"),
      width: "160px",
      sort: (client) => clientState(client).label,
      cell: (client) => <StateText words={clientState(client)} />,
    },
    {
      id: "lastPacket",
      label: t("clients.last_packet"),
      width: "130px",
      priority: 2,
      isLargestFirst: true,
      sort: ({ use }) => use.lastMs === 0 ? null : use.lastMs,
      cell: ({ use }) => use.lastMs === 0 ? t("common.never") : <Time models={models} atMs={use.lastMs} />,
    },
    {
      id: "rejectRate",
      label: t("clients.reject_rate"),
      width: "150px",
      number: true,
      priority: 2,
      isLargestFirst: true,
      sort: ({ accepted, rejected }) => accepted + rejected === 0 ? null : rejected / (accepted + rejected),
      cell: rejectRate,
    },
    {
      id: "from",
      label: t("clients.from"),
      width: "130px",
      priority: 3,
      sort: ({ from }) => t(`common.from_${from}`),
      cell: ({ from }) => t(`common.from_${from}`),
    },
  ];
}

function actionsOf({ name }: ClientRow): readonly MenuItem[] {
  const escaped = encodeURIComponent(name);
  return [
    { label: t("common.open_client"), icon: "network", href: `/clients/${escaped}` },
    { label: t("common.show_sign_ins"), icon: "activity", href: `/history?client=${escaped}` },
    { label: t("shell.audit"), icon: "scroll-text", href: auditHref(`client:${name}`) },
  ];
}

/** The state of a client. */
function clientState({ disabled, overlapUntilMs, use, mode }: ClientRow) {
  if (disabled) return { tone: "idle", shape: "ring", label: t("clients.field_disabled") } as const;
  if (mode === "shadow") return { tone: "wait", shape: "alert", label: t("shell.shadow") } as const;
  if (overlapUntilMs !== null) return { tone: "wait", shape: "key", label: t("clients.overlap") } as const;
  if (use.lastMs === 0) return { tone: "idle", shape: "ring", label: t("clients.unheard") } as const;
  return { tone: "ok", shape: "check", label: t("clients.heard_from") } as const;
}

function rejectRate({ accepted, rejected }: Pick<ClientRow, "accepted" | "rejected">): string {
  const ended = accepted + rejected;
  if (ended === 0) return t("common.no_sign_ins");
  return t("clients.rate", { percent: Math.round(rejected / ended * 100), count: ended });
}
