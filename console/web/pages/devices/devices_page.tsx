// The list of all phones, phone numbers and authenticator apps, with their last use, and revocation.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { DevicePage, DeviceRow, RevocationResult } from "../../../api/groups/group_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type FilterQuery, type ListFilter, useFilteredList } from "../../app/filters.ts";
import { userHref } from "../../app/routes.ts";
import { readyValue } from "../../app/resource.ts";
import { type Selection, useListSelection } from "../../app/selection.ts";
import type { TableColumn } from "../../components/data_table.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import { ListPage } from "../../components/list_page.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { PhonePush, PhoneSeen } from "../../components/phone_note.tsx";
import { type RowActions, useRows } from "../../components/row_actions.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { NameList } from "../../components/name_list.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { factorLabel } from "../users/user_states.tsx";
import { deviceCalled } from "../users/user_summary.tsx";

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
function fetchDevices({ api }: Models, query: FilterQuery) {
  return take(api.devices.$get({ query } as Parameters<typeof api.devices.$get>[0])) as Promise<DevicePage>;
}

function revokeDevice({ api, session }: Models, id: string) {
  const param = escapeParams({ id });
  return session.whileSignedIn(() => take(api.devices[":id"].$delete({ param, json: {} })));
}

// The bar below the list of authenticators with selected rows, and the dialog that revokes them.

/** The server accepts as many in one request. */
const MAX_REVOKED = 100;

interface BulkRevokeProps {
  readonly models: Models;
  readonly selection: Selection;
  /** The rows of the shown page. */
  readonly rows: readonly DeviceRow[];
  readonly onRevoked: () => void;
}

function BulkRevoke({ models, selection, rows, onRevoked }: BulkRevokeProps) {
  const asked = useSignal<readonly DeviceRow[] | null>(null);
  const failures = useSignal<readonly string[]>([]);
  // Rows of other pages stay selected, and the dialog names them, too.
  const seen = useRef(new Map<string, DeviceRow>());
  for (const row of rows) seen.current.set(row.id, row);
  const count = selection.selected.value.size;
  const reason = permissionHint(models, "user_manager") ??
    (count > MAX_REVOKED ? t("devices.bulk_too_many", { count: MAX_REVOKED }) : undefined);
  const revoke = async (chosen: readonly DeviceRow[]) => {
    const { revoked, failed } = await revokeDevices(models, chosen.map(({ id }) => id));
    failures.value = failed.map(({ id, detail }) =>
      `${deviceName(chosen.find((row) => row.id === id))}: ${detail}`
    );
    selection.clear();
    selection.select(failed.map(({ id }) => id));
    if (revoked.length > 0) {
      models.toasts.show(t("devices.bulk_revoked", { count: revoked.length }), { tone: "ok" });
    }
    onRevoked();
  };
  return (
    <>
      {failures.value.length > 0 && (
        <Alert tone="bad" role="alert">
          {t("devices.bulk_failed", { count: failures.value.length })}
          <NameList names={failures.value} />
        </Alert>
      )}
      <SelectionBar
        selection={selection}
        total={null}
        actions={[{
          label: t("common.revoke"),
          isBad: true,
          reason,
          run: () => {
            failures.value = [];
            asked.value = [...selection.selected.peek()].flatMap((id) => seen.current.get(id) ?? []);
          },
        }]}
      />
      {asked.value !== null && (
        <RevokeSeveral
          rows={asked.value}
          onConfirm={revoke}
          onClose={() => asked.value = null}
        />
      )}
    </>
  );
}

interface RevokeSeveralProps {
  readonly rows: readonly DeviceRow[];
  readonly onConfirm: (rows: readonly DeviceRow[]) => Promise<void>;
  readonly onClose: () => void;
}

function RevokeSeveral({ rows, onConfirm, onClose }: RevokeSeveralProps) {
  const users = new Set(rows.map(({ user }) => user)).size;
  return (
    <ConfirmDialog
      title={t("devices.bulk_title", { count: rows.length })}
      submitLabel={t("common.revoke")}
      count={rows.length}
      onConfirm={() => onConfirm(rows)}
      onClose={onClose}
    >
      <p>{t("devices.bulk_users", { count: users })}</p>
      <NameList names={rows.map(deviceName)} />
      <p>{t("devices.bulk_what")}</p>
    </ConfirmDialog>
  );
}

/** "ada, Phone, Pixel of Ada" */
function deviceName(row: DeviceRow | undefined): string {
  if (row === undefined) return "";
  return [row.user, factorLabel(row.kind), deviceCalled(row)].filter((part) => part !== "").join(", ");
}

function revokeDevices({ api, session }: Models, ids: readonly string[]): Promise<RevocationResult> {
  return session.whileSignedIn(() => take(api.devices.revoke.$post({ json: { ids: [...ids] } })));
}
