// The lists of the page Administrators: the table of each tab, and the administrators with their invitations.

import type { ComponentChildren } from "preact";
import { readyValue, type Resource, useResource } from "../../app/resource.ts";
import { t } from "../../i18n/translate.ts";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { useSignal } from "@preact/signals";
import type { AdminRow, InvitationRow } from "../../../api/api_types.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { currentSort, formatSort, sortRows } from "../../app/sorting.ts";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { fetchAdministrators } from "./access_calls.ts";
import { AdminDialog, InvitationDialog, InviteAdminDialog } from "./admin_dialogs.tsx";

interface AccessTableProps<T> {
  readonly models: Models;
  readonly label: string;
  readonly resource: Resource<{ readonly items: readonly T[] }>;
  readonly columns: readonly TableColumn<T>[];
  readonly keyOf: (row: T) => string;
  readonly nameOf?: (row: T) => string;
  readonly actionsOf?: (row: T) => readonly MenuItem[];
  /** The order without one in the address. */
  readonly initialSort: string;
  readonly empty: { readonly title: string; readonly next: string };
  /** Actions above the rows. */
  readonly children?: ComponentChildren;
}

export function AccessTable<T>(props: AccessTableProps<T>) {
  const { models, resource, columns, label, empty, initialSort, children } = props;
  const order = currentSort(models, columns, initialSort);
  return (
    <section class="access-part" aria-label={label}>
      {children !== undefined && <div class="access-actions">{children}</div>}
      <Fetched resource={resource} failed="common.unread" rows={4}>
        {({ items }) =>
          items.length === 0 ? <EmptyState title={empty.title} next={empty.next} /> : (
            <div class="panel">
              <DataTable
                {...props}
                rows={sortRows(items, columns, order)}
                order={order}
                onOrder={(next) => models.router.setParams({ sort: formatSort(next) })}
                busy={resource.busy.value}
              />
            </div>
          )}
      </Fetched>
    </section>
  );
}

/** An account, or an invitation to create one. */
type Row = { readonly kind: "admin"; readonly admin: AdminRow } | {
  readonly kind: "invitation";
  readonly invitation: InvitationRow;
};
type Open = Row | { readonly kind: "invite" } | null;

export function AdminList({ models }: { models: Models }) {
  const resource = useResource(models, {
    fetch: async () => {
      const { items, invitations } = await fetchAdministrators(models);
      const rows: Row[] = [
        ...items.map((admin) => ({ kind: "admin" as const, admin })),
        ...invitations.map((invitation) => ({ kind: "invitation" as const, invitation })),
      ];
      return { items: rows };
    },
    inputs: [],
  });
  const open = useSignal<Open>(null);
  const reason = permissionHint(models, "owner");
  const close = () => open.value = null;
  const done = () => void resource.reload();
  const shown = open.value;
  return (
    <>
      <AccessTable
        label={t("shell.access")}
        resource={resource}
        models={models}
        columns={columnsOf({ models, reason, onOpen: (row) => open.value = row })}
        keyOf={keyOf}
        nameOf={nameOf}
        initialSort="name"
        actionsOf={(row) => [{
          label: t("shell.audit"),
          icon: "scroll-text",
          href: auditHref(`administrator:${nameOf(row)}`),
        }]}
        empty={{ title: t("shell.access"), next: t("common.owner_why") }}
      >
        <Button
          kind="primary"
          icon="user-plus"
          reason={reason}
          onClick={() => open.value = { kind: "invite" }}
        >
          {t("access.invite")}
        </Button>
      </AccessTable>
      {shown?.kind === "invite" && <InviteAdminDialog models={models} onDone={done} onClose={close} />}
      {shown?.kind === "admin" && (
        <AdminDialog models={models} admin={shown.admin} onDone={done} onClose={close} />
      )}
      {shown?.kind === "invitation" && (
        <InvitationDialog models={models} invitation={shown.invitation} onDone={done} onClose={close} />
      )}
    </>
  );
}

const nameOf = (row: Row): string => row.kind === "admin" ? row.admin.name : row.invitation.name;
const keyOf = (row: Row): string => `${row.kind} ${nameOf(row)}`;

interface ColumnDeps {
  readonly models: Models;
  readonly reason: string | undefined;
  readonly onOpen: (row: Row) => void;
}

function columnsOf({ models, reason, onOpen }: ColumnDeps): readonly TableColumn<Row>[] {
  const me = readyValue(models.session.session.value)?.name;
  return [
    {
      id: "name",
      label: t("common.name"),
      sort: nameOf,
      cell: (row) => (
        <>
          <bdi class="mono cut" title={nameOf(row)}>{nameOf(row)}</bdi>{" "}
          {row.kind === "admin" && row.admin.name === me && <span class="hint">({t("access.you")})</span>}
        </>
      ),
    },
    {
      id: "role",
      label: t("common.role"),
      width: "128px",
      cell: (row) => t(`common.role_${row.kind === "admin" ? row.admin.role : row.invitation.role}`),
    },
    { id: "state", label: t("common.status"), width: "130px", priority: 2, cell: stateCell },
    { id: "ways", label: t("common.sign_in_methods"), priority: 2, cell: factorsText },
    { id: "from", label: t("access.from"), width: "140px", priority: 3, cell: originText },
    {
      label: t("access.change"),
      width: "96px",
      isPinned: true,
      cell: (row) => (
        <Button small reason={reason} of={nameOf(row)} onClick={() => onOpen(row)}>
          {t("access.change")}
        </Button>
      ),
    },
  ];
}

function stateCell(row: Row) {
  const words = row.kind === "invitation"
    ? { label: t("common.invited"), tone: "wait", shape: "clock" } as const
    : row.admin.disabled
    ? { label: t("access.disabled"), tone: "bad", shape: "cross" } as const
    : { label: t("common.active"), tone: "ok", shape: "check" } as const;
  return <StateText words={words} />;
}

function factorsText(row: Row): string {
  if (row.kind === "invitation") return "";
  const { password, totp, passkeys } = row.admin.has;
  const factors = [
    password ? t("access.way_password") : "",
    totp ? t("access.way_totp") : "",
    passkeys > 0 ? t("access.way_passkeys", { count: passkeys }) : "",
  ].filter((one) => one !== "");
  return factors.length === 0 ? t("access.way_none") : factors.join(", ");
}

function originText(row: Row): string {
  return row.kind === "invitation" ? row.invitation.by : t(`access.origin_${row.admin.origin}`);
}
