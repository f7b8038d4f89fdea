// RADIUS clients: who may ask this gateway, how they do, and a way to add one by listening for its first packet.

import { useSignal } from "@preact/signals";
import type { ClientRow } from "../../api/connect/client_shapes.ts";
import { whyNot } from "../access_words.ts";
import { fetchClients } from "../models/connect_calls.ts";
import { useResource } from "../models/resource.ts";
import { Fetched } from "../parts/connect/fetched.tsx";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { late } from "../parts/late.tsx";
import { Note } from "../parts/note.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { SearchBox } from "../parts/search_box.tsx";
import { EmptyState } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { Symbol } from "../parts/symbol.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../words/translate.ts";

const AddClientDialog = late(async () =>
  (await import("../parts/connect/add_client_dialog.tsx")).AddClientDialog
);

export default function ClientsPage({ models }: PageProps) {
  const list = useResource(models, { fetch: () => fetchClients(models), inputs: [] });
  const adding = useSignal(false);
  const reason = whyNot(models, "owner");
  const add = (
    <button
      type="button"
      class="button button-primary"
      disabled={reason !== undefined}
      title={reason}
      onClick={() => adding.value = true}
    >
      <Symbol name="plus" /> {t("connect.client_add")}
    </button>
  );
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.clients")}>{add}</PageBar>
      <Fetched resource={list}>
        {({ items }) => <Rows models={models} items={items} busy={list.busy.value} />}
      </Fetched>
      {adding.value && (
        <AddClientDialog
          models={models}
          ldap={list.state.value.kind === "ready" ? list.state.value.value.ldap : []}
          onDone={() => void list.reload()}
          onClose={() => adding.value = false}
        />
      )}
    </main>
  );
}

interface RowsProps extends Pick<PageProps, "models"> {
  readonly items: readonly ClientRow[];
  readonly busy: boolean;
}

function Rows({ models, items, busy }: RowsProps) {
  const { router } = models;
  const asked = router.param("q").trim().toLowerCase();
  const shown = items.filter(({ name, address }) =>
    [name, ...address].some((text) => text.toLowerCase().includes(asked))
  );
  if (items.length === 0) {
    return (
      <>
        <Note tone="wait">{t("connect.any_address")}</Note>
        <EmptyState title={t("connect.clients_none")} next={t("connect.clients_none_next")} />
      </>
    );
  }
  return (
    <>
      <div class="people-filters" role="search" aria-label={t("frame.search")}>
        <SearchBox models={models} label={t("connect.clients_search")} />
      </div>
      {shown.length === 0
        ? (
          <EmptyState
            title={t("connect.clients_unmatched")}
            next=""
            onClear={() => router.setParams({ q: "" })}
          />
        )
        : (
          <section class="panel">
            <DataTable
              stack
              label={t("frame.clients")}
              columns={columnsOf(models)}
              rows={shown}
              keyOf={({ name }) => name}
              nameOf={({ name }) => name}
              hrefOf={({ name }) => `/clients/${encodeURIComponent(name)}`}
              busy={busy}
            />
          </section>
        )}
    </>
  );
}

function columnsOf(models: PageProps["models"]): readonly Column<ClientRow>[] {
  return [
    { name: "name", label: t("connect.name"), cell: ({ name }) => <bdi class="cut mono">{name}</bdi> },
    {
      name: "address",
      label: t("connect.address"),
      cell: ({ address }) => <bdi class="cut mono">{address.join(", ")}</bdi>,
    },
    {
      name: "state",
      label: t("connect.state"),
      width: "150px",
      wideOnly: true,
      cell: (client) => <Status words={clientState(client)} />,
    },
    {
      name: "last",
      label: t("connect.last_packet"),
      width: "130px",
      narrow: "88px",
      cell: ({ use }) => use.lastMs === 0 ? t("connect.never") : <Time models={models} atMs={use.lastMs} />,
    },
    {
      name: "rejects",
      label: t("connect.reject_rate"),
      width: "150px",
      number: true,
      wideOnly: true,
      cell: rejectRate,
    },
    {
      name: "from",
      label: t("connect.from"),
      width: "130px",
      wideOnly: true,
      cell: ({ from }) => t(`connect.from_${from}`),
    },
  ];
}

/** How a client stands, in words. */
export function clientState({ disabled, overlapUntilMs, use }: ClientRow) {
  if (disabled) return { tone: "idle", shape: "ring", label: t("connect.disabled") } as const;
  if (overlapUntilMs !== null) return { tone: "wait", shape: "key", label: t("connect.overlap") } as const;
  if (use.lastMs === 0) return { tone: "idle", shape: "ring", label: t("connect.unheard") } as const;
  return { tone: "ok", shape: "check", label: t("connect.heard_from") } as const;
}

export function rejectRate({ accepted, rejected }: Pick<ClientRow, "accepted" | "rejected">): string {
  const ended = accepted + rejected;
  if (ended === 0) return t("connect.no_logins");
  return t("connect.rate", { percent: Math.round(rejected / ended * 100), count: ended });
}
