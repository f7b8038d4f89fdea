// RADIUS clients: who may ask this gateway, how they do, and a way to add one by listening for its first packet.

import { useSignal } from "@preact/signals";
import type { ClientRow } from "../../api/clients/client_types.ts";
import { whyNot } from "../access_words.ts";
import { fetchClients } from "../models/connect_calls.ts";
import type { Filter } from "../models/filters.ts";
import { useResource } from "../models/resource.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data_table.tsx";
import { late } from "../parts/late.tsx";
import { ListPage } from "../parts/list_page.tsx";
import { Note } from "../parts/note.tsx";
import { Status } from "../parts/status.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { valueOf } from "../remote.ts";
import { t } from "../i18n/translate.ts";

const AddClientDialog = late(async () =>
  (await import("../parts/connect/add_client_dialog.tsx")).AddClientDialog
);
const SAYS = {
  filters: "frame.search",
  failed: "connect.unread",
  old: "connect.old",
  none: ["connect.clients_none", "connect.clients_none_next"],
  unmatched: ["connect.clients_unmatched"],
} as const;

export default function ClientsPage({ models }: PageProps) {
  const list = useResource(models, { fetch: () => fetchClients(models), inputs: [] });
  const adding = useSignal(false);
  const answer = valueOf(list.state.value);
  const asked = models.router.param("q").trim().toLowerCase();
  return (
    <ListPage
      models={models}
      title={t("frame.clients")}
      says={SAYS}
      filters={answer === null || answer.items.length === 0 ? [] : filterRows()}
      resource={list}
      actions={
        <Button
          kind="primary"
          icon="plus"
          reason={whyNot(models, "owner")}
          onClick={() => adding.value = true}
        >
          {t("connect.client_add")}
        </Button>
      }
      stack
      rows={({ items }) =>
        items.filter(({ name, address }) =>
          [name, ...address].some((text) => text.toLowerCase().includes(asked))
        )}
      columns={columnsOf(models)}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => `/clients/${encodeURIComponent(name)}`}
      note={({ items }) => items.length === 0 && <Note tone="wait">{t("connect.any_address")}</Note>}
    >
      {adding.value && (
        <AddClientDialog
          models={models}
          ldap={answer?.ldap ?? []}
          onDone={() => void list.reload()}
          onClose={() => adding.value = false}
        />
      )}
    </ListPage>
  );
}

/** The list is whole in the browser: the search has no chip besides. */
function filterRows(): Filter[] {
  return [{ name: "q", label: t("connect.clients_search"), chip: "", by: "search" }];
}

function columnsOf(models: PageProps["models"]): readonly Column<ClientRow>[] {
  return [
    { label: t("connect.name"), cell: ({ name }) => <bdi class="cut mono">{name}</bdi> },
    {
      label: t("connect.address"),
      cell: ({ address }) => <bdi class="cut mono">{address.join(", ")}</bdi>,
    },
    {
      label: t("connect.state"),
      width: "150px",
      wideOnly: true,
      cell: (client) => <Status words={clientState(client)} />,
    },
    {
      label: t("connect.last_packet"),
      width: "130px",
      narrow: "88px",
      cell: ({ use }) => use.lastMs === 0 ? t("connect.never") : <Time models={models} atMs={use.lastMs} />,
    },
    {
      label: t("connect.reject_rate"),
      width: "150px",
      number: true,
      wideOnly: true,
      cell: rejectRate,
    },
    {
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
