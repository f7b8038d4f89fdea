// All phones, numbers and authenticator apps: whose, since when, last used, and taken away.

import { useSignal } from "@preact/signals";
import type { DevicePage, DeviceRow } from "../../api/groups/group_types.ts";
import { whyNot } from "../access_words.ts";
import { listDevices, revokeDevice } from "../models/group_calls.ts";
import { type Filter, useFiltered } from "../models/filters.ts";
import { userHref } from "../user_href.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data_table.tsx";
import { late } from "../parts/late.tsx";
import { ListPage } from "../parts/list_page.tsx";
import { factorLabel } from "../parts/people/user_states.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../i18n/translate.ts";

const ConfirmDialog = late(async () => (await import("../parts/confirm_dialog.tsx")).ConfirmDialog);

const KINDS = ["device", "sms", "voice", "totp"] as const;
const SAYS = {
  filters: "groups.filters",
  failed: "connect.unread",
  old: "connect.old",
  none: ["groups.device_none", "groups.device_none_next"],
  unmatched: ["groups.device_none_match", "groups.none_match_next"],
} as const;
type Models = PageProps["models"];

export default function DevicesPage({ models }: PageProps) {
  const filters = filterRows();
  const { list } = useFiltered<DevicePage>(models, {
    filters,
    fetch: (query) => listDevices(models, query),
  });
  const revoking = useSignal<DeviceRow | null>(null);
  const reason = whyNot(models, "user_manager");
  const row = revoking.value;
  return (
    <ListPage
      models={models}
      title={t("frame.devices")}
      says={SAYS}
      filters={filters}
      resource={list}
      rows={({ rows }) => rows}
      columns={columnsOf(models, { reason, revoke: (chosen) => revoking.value = chosen })}
      keyOf={({ id }) => id}
      hrefOf={({ user }) => `${userHref(user)}#devices`}
    >
      {row !== null && (
        <ConfirmDialog
          title={t("groups.revoke_title", { factor: factorLabel(row.kind), name: row.user })}
          verb={t("groups.revoke")}
          onClose={() => revoking.value = null}
          onConfirm={async () => {
            const words = { factor: factorLabel(row.kind), name: row.user };
            await revokeDevice(models, row.id);
            models.toasts.say(t("groups.revoked", words), { tone: "ok" });
            void list.reload();
          }}
        >
          <p>{t(`groups.revoke_${row.kind}`, { name: row.user })}</p>
          <p>{t("groups.revoke_what")}</p>
          <p class="quiet">
            {t("groups.used")}: <LastUse models={models} row={row} />
          </p>
        </ConfirmDialog>
      )}
    </ListPage>
  );
}

function filterRows(): Filter[] {
  return [
    { name: "q", label: t("groups.device_search"), chip: t("frame.search"), by: "search" },
    {
      name: "kind",
      label: t("groups.kind"),
      by: "choice",
      options: KINDS,
      every: `${t("groups.kind")}: ${t("people.any")}`,
      text: kindText,
    },
  ];
}

/** When the factor was last used; never, or not since the oldest stored login. */
function LastUse({ models, row: { usedMs, unusedSinceMs } }: { models: Models; row: DeviceRow }) {
  if (usedMs !== null) return <Time models={models} atMs={usedMs} />;
  if (unusedSinceMs === null) return <span class="quiet">{t("groups.used_never")}</span>;
  return (
    <span class="quiet">
      {t("groups.unused_since")} <Time models={models} atMs={unusedSinceMs} absolute />
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
): Column<DeviceRow>[] {
  return [
    { label: t("groups.user"), cell: ({ user }) => <bdi class="wrap">{user}</bdi> },
    { label: t("groups.kind"), cell: ({ kind }) => factorLabel(kind) },
    {
      label: t("groups.number"),
      wideOnly: true,
      cell: ({ number, phone }) => <bdi class={number === null ? "" : "mono"}>{number ?? phone}</bdi>,
    },
    {
      label: t("groups.since"),
      wideOnly: true,
      cell: ({ createdMs }) => <Time models={models} atMs={createdMs} />,
    },
    {
      label: t("groups.used"),
      wideOnly: true,
      cell: (row) => <LastUse models={models} row={row} />,
    },
    {
      label: t("groups.revoke"),
      width: "120px",
      narrow: "96px",
      cell: (row) => (
        <Button
          small
          reason={reason}
          of={`${factorLabel(row.kind)} ${row.phone ?? ""} ${row.user}`}
          onClick={() => revoke(row)}
        >
          {t("groups.revoke")}
        </Button>
      ),
    },
  ];
}
