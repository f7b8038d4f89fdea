// The list of all phones, phone numbers and authenticator apps, with their last use, and revocation.

import type { DevicePage, DeviceRow } from "../../../api/groups/group_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import { userHref } from "../../app/routes.ts";
import { readyValue } from "../../app/resource.ts";
import { useListSelection } from "../../app/selection.ts";
import type { TableColumn } from "../../components/data_table.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import { ListPage } from "../../components/list_page.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { PhonePush, PhoneSeen } from "../../components/phone_note.tsx";
import { type RowActions, useRows } from "../../components/row_actions.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { BulkRevoke } from "./bulk_revoke.tsx";
import { deviceCalled, factorLabel } from "../users/user_states.tsx";

const KINDS = ["device", "sms", "voice", "totp"] as const;
const TEXTS = {
  filters: "common.filters",
  failed: "common.unread",
  old: "common.old",
  empty: ["common.no_second_factors", "devices.none_next"],
  noMatch: ["devices.none_match", "common.none_match_next"],
} as const;

export default function DevicesPage({ models }: PageProps) {
  const filters = filterRows();
  const { list, query } = useFilteredList<DevicePage>(models, {
    filters,
    fetch: (query) => fetchDevices(models, query),
    isSorted: true,
  });
  const actions = useRows(models, list);
  const selection = useListSelection(models, query);
  return (
    <ListPage
      models={models}
      name="devices"
      savedAs="devices"
      initialSort="user"
      title={t("shell.devices")}
      texts={TEXTS}
      filters={filters}
      resource={list}
      rows={({ rows }) => rows}
      columns={columnsOf(models)}
      actionsOf={actionsOf(models, actions)}
      nameOf={rowName}
      keyOf={({ id }) => id}
      hrefOf={({ user }) => `${userHref(user)}#devices`}
      selection={selection}
    >
      <BulkRevoke
        models={models}
        selection={selection}
        rows={readyValue(list.state.value)?.rows ?? []}
        onRevoked={() => void list.reload()}
      />
    </ListPage>
  );
}

function filterRows(): ListFilter[] {
  return [
    { name: "q", label: t("devices.search"), chip: t("common.search"), control: "search" },
    {
      name: "kind",
      label: t("common.type"),
      control: "choice",
      options: KINDS,
      allLabel: `${t("common.type")}: ${t("common.any")}`,
      text: kindText,
    },
  ];
}

/** When the factor was last used; never, or not since the oldest stored login. */
function LastUse({ models, row: { usedMs, unusedSinceMs } }: { models: Models; row: DeviceRow }) {
  if (usedMs !== null) return <Time models={models} atMs={usedMs} />;
  if (unusedSinceMs === null) return <span class="quiet">{t("common.never")}</span>;
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

function columnsOf(models: Models): TableColumn<DeviceRow>[] {
  return [
    {
      id: "user",
      label: t("common.user"),
      min: 160,
      sort: "server",
      cell: ({ user }) => <bdi class="cut" title={user}>{user}</bdi>,
    },
    {
      id: "kind",
      label: t("common.type"),
      min: 130,
      sort: "server",
      cell: ({ kind }) => (
        <CellFilter models={models} to={{ kind, page: "" }} title="common.only" value={factorLabel(kind)} />
      ),
    },
    {
      id: "name",
      label: t("devices.number"),
      priority: 2,
      min: 150,
      sort: "server",
      cell: (row) => (
        <bdi class={row.number === null ? "cut" : "cut mono"} title={deviceCalled(row)}>
          {deviceCalled(row)}
        </bdi>
      ),
    },
    {
      id: "used",
      label: t("common.last_used"),
      priority: 2,
      min: 150,
      cell: (row) => <LastUse models={models} row={row} />,
    },
    {
      id: "device",
      label: t("devices.runs_on"),
      priority: 3,
      min: 100,
      cell: ({ device }) => {
        const kind = device?.kind ?? null;
        return kind !== null && t(`common.phone_kind_${kind}`);
      },
    },
    {
      id: "seen",
      label: t("devices.seen"),
      priority: 3,
      min: 120,
      cell: ({ device }) => device !== null && <PhoneSeen models={models} phone={device} />,
    },
    {
      id: "push",
      label: t("common.notifications"),
      priority: 3,
      min: 130,
      cell: ({ device }) =>
        device !== null && <PhonePush push={device.push} label={t(`devices.push_${device.push}`)} />,
    },
    {
      id: "added",
      label: t("common.added_at"),
      width: "130px",
      priority: 3,
      sort: "server",
      isLargestFirst: true,
      cell: ({ createdMs }) => <Time models={models} atMs={createdMs} />,
    },
  ];
}

function actionsOf(models: Models, rows: RowActions): (row: DeviceRow) => readonly MenuItem[] {
  return (row) => {
    const words = { factor: factorLabel(row.kind), name: row.user };
    return [
      { label: t("common.open_user"), icon: "user", href: `${userHref(row.user)}#devices` },
      {
        label: t("common.show_sign_ins"),
        icon: "activity",
        href: `/history?user=${encodeURIComponent(row.user)}`,
      },
      rows.audit(`user:${row.user}`),
      ...(row.device === null ? [] : [rows.action({
        label: t("devices.test_push"),
        icon: "smartphone",
        needs: "operator",
        reason: row.device.push === "off" ? t("devices.test_push_none") : undefined,
        run: () => testDevice(models, row),
      })]),
      rows.action({
        label: t("common.revoke"),
        icon: "trash-2",
        isBad: true,
        needs: "user_manager",
        ask: {
          title: t("devices.revoke_title", words),
          text: (
            <>
              <p>{t(`devices.revoke_${row.kind}`, { name: row.user })}</p>
              <p>{t("devices.revoke_what")}</p>
              <p class="quiet">
                {t("common.last_used")}: <LastUse models={models} row={row} />
              </p>
            </>
          ),
        },
        async run() {
          await revokeDevice(models, row.id);
          return t("devices.revoked", words);
        },
      }),
    ];
  };
}

function rowName(row: DeviceRow): string {
  const { kind, phone, user } = row;
  return [factorLabel(kind), phone === null ? "" : deviceCalled(row), user].filter((part) => part !== "")
    .join(" ");
}

/** Sends a test notification to a phone, and shows the result. */
async function testDevice({ api, session }: Models, row: DeviceRow) {
  const name = rowName(row);
  const param = escapeParams({ id: row.id });
  const { delivered, problem } = await session.whileSignedIn(() =>
    take(api.devices[":id"]["test-push"].$post({ param, json: {} }))
  );
  if (delivered) return t("devices.test_push_sent", { name });
  return { failure: t("devices.test_push_failed", { name, problem: problem ?? "" }) };
}

/** The server validates the query. */
export function fetchDevices({ api }: Models, query: FilterQuery) {
  return take(api.devices.$get({ query } as Parameters<typeof api.devices.$get>[0])) as Promise<DevicePage>;
}

export function revokeDevice({ api, session }: Models, id: string) {
  const param = escapeParams({ id });
  return session.whileSignedIn(() => take(api.devices[":id"].$delete({ param, json: {} })));
}
