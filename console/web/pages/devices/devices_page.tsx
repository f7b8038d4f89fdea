// The list of all phones, phone numbers and authenticator apps, with their last use, and revocation.

import { useSignal } from "@preact/signals";
import type { DevicePage, DeviceRow } from "../../../api/groups/group_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import { userHref } from "../../app/routes.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { ListPage } from "../../components/list_page.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { factorLabel } from "../users/user_states.tsx";

const KINDS = ["device", "sms", "voice", "totp"] as const;
const TEXTS = {
  filters: "common.filters",
  failed: "common.unread",
  old: "common.old",
  empty: ["devices.none", "devices.none_next"],
  noMatch: ["devices.none_match", "common.none_match_next"],
} as const;

export default function DevicesPage({ models }: PageProps) {
  const filters = filterRows();
  const { list } = useFilteredList<DevicePage>(models, {
    filters,
    fetch: (query) => fetchDevices(models, query),
  });
  const revoking = useSignal<DeviceRow | null>(null);
  const reason = permissionHint(models, "user_manager");
  const row = revoking.value;
  return (
    <ListPage
      models={models}
      title={t("shell.devices")}
      texts={TEXTS}
      filters={filters}
      resource={list}
      rows={({ rows }) => rows}
      columns={columnsOf(models, { reason, revoke: (chosen) => revoking.value = chosen })}
      keyOf={({ id }) => id}
      hrefOf={({ user }) => `${userHref(user)}#devices`}
    >
      {row !== null && (
        <ConfirmDialog
          title={t("devices.revoke_title", { factor: factorLabel(row.kind), name: row.user })}
          submitLabel={t("devices.revoke")}
          onClose={() => revoking.value = null}
          onConfirm={async () => {
            const words = { factor: factorLabel(row.kind), name: row.user };
            await revokeDevice(models, row.id);
            models.toasts.show(t("devices.revoked", words), { tone: "ok" });
            void list.reload();
          }}
        >
          <p>{t(`devices.revoke_${row.kind}`, { name: row.user })}</p>
          <p>{t("devices.revoke_what")}</p>
          <p class="quiet">
            {t("devices.used")}: <LastUse models={models} row={row} />
          </p>
        </ConfirmDialog>
      )}
    </ListPage>
  );
}

function filterRows(): ListFilter[] {
  return [
    { name: "q", label: t("devices.search"), chip: t("common.search"), control: "search" },
    {
      name: "kind",
      label: t("devices.kind"),
      control: "choice",
      options: KINDS,
      allLabel: `${t("devices.kind")}: ${t("common.any")}`,
      text: kindText,
    },
  ];
}

/** When the factor was last used; never, or not since the oldest stored login. */
function LastUse({ models, row: { usedMs, unusedSinceMs } }: { models: Models; row: DeviceRow }) {
  if (usedMs !== null) return <Time models={models} atMs={usedMs} />;
  if (unusedSinceMs === null) return <span class="quiet">{t("devices.used_never")}</span>;
  return (
    <span class="quiet">
      {t("devices.unused_since")} <Time models={models} atMs={unusedSinceMs} absolute />
    </span>
  );
}

function kindText(value: string): string {
  const kind = KINDS.find((one) => one === value);
  return kind === undefined ? value : factorLabel(kind);
}

function columnsOf(
  models: Models,
  { reason, revoke }: { reason: string | undefined; revoke: (row: DeviceRow) => void },
): TableColumn<DeviceRow>[] {
  return [
    { label: t("devices.user"), cell: ({ user }) => <bdi class="wrap">{user}</bdi> },
    { label: t("devices.kind"), cell: ({ kind }) => factorLabel(kind) },
    {
      label: t("devices.number"),
      wideOnly: true,
      cell: ({ number, phone }) => <bdi class={number === null ? "" : "mono"}>{number ?? phone}</bdi>,
    },
    {
      label: t("devices.since"),
      wideOnly: true,
      cell: ({ createdMs }) => <Time models={models} atMs={createdMs} />,
    },
    {
      label: t("devices.used"),
      wideOnly: true,
      cell: (row) => <LastUse models={models} row={row} />,
    },
    {
      label: t("devices.revoke"),
      width: "120px",
      narrow: "96px",
      cell: (row) => (
        <Button
          small
          reason={reason}
          of={`${factorLabel(row.kind)} ${row.phone ?? ""} ${row.user}`}
          onClick={() => revoke(row)}
        >
          {t("devices.revoke")}
        </Button>
      ),
    },
  ];
}

/** The server validates the query. */
export function fetchDevices({ api }: Models, query: FilterQuery) {
  return take(api.devices.$get({ query } as Parameters<typeof api.devices.$get>[0])) as Promise<DevicePage>;
}

export function revokeDevice({ api, session }: Models, id: string) {
  const param = escapeParams({ id });
  return session.whileSignedIn(() => take(api.devices[":id"].$delete({ param, json: {} })));
}
