// The administrators, and the links that wait to be used.

import { useSignal } from "@preact/signals";
import type { AdminRow, InvitationRow } from "../../../api/api_types.ts";
import { whyNot } from "../../access_words.ts";
import { fetchAdministrators } from "../../models/access_calls.ts";
import type { Models } from "../../models/models.ts";
import { useResource } from "../../models/resource.ts";
import { valueOf } from "../../remote.ts";
import { t } from "../../i18n/translate.ts";
import { AccessTable } from "./access_table.tsx";
import { Button } from "../button.tsx";
import { AuditSign } from "../audit_link.tsx";
import type { Column } from "../data_table.tsx";
import { Status } from "../status.tsx";
import { late } from "../late.tsx";

const AdminDialog = late(async () => (await import("./admin_dialog.tsx")).AdminDialog);
const InvitationDialog = late(async () => (await import("./admin_dialog.tsx")).InvitationDialog);
const InviteDialog = late(async () => (await import("./invite_dialog.tsx")).InviteDialog);

/** An account, or a link for one that is not there yet. */
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
  const reason = whyNot(models, "owner");
  const close = () => {
    open.value = null;
  };
  const done = () => void resource.reload();
  const shown = open.value;
  return (
    <>
      <AccessTable
        label={t("access.administrators")}
        resource={resource}
        columns={columnsOf({ models, reason, onOpen: (row) => open.value = row })}
        keyOf={keyOf}
        empty={{ title: t("access.administrators"), next: t("access.owner_why") }}
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
      {shown?.kind === "invite" && <InviteDialog models={models} onDone={done} onClose={close} />}
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

function columnsOf({ models, reason, onOpen }: ColumnDeps): readonly Column<Row>[] {
  const me = valueOf(models.session.session.value)?.name;
  return [
    {
      label: t("access.name"),
      cell: (row) => (
        <>
          <bdi class="mono">{nameOf(row)}</bdi>{" "}
          {row.kind === "admin" && row.admin.name === me && <span class="hint">({t("access.you")})</span>}
          <AuditSign object={`administrator:${nameOf(row)}`} />
        </>
      ),
    },
    {
      label: t("access.role"),
      width: "128px",
      cell: (row) => t(`frame.role_${row.kind === "admin" ? row.admin.role : row.invitation.role}`),
    },
    { label: t("access.state"), width: "14%", wideOnly: true, cell: stateCell },
    { label: t("access.ways"), width: "18%", wideOnly: true, cell: waysText },
    { label: t("access.from"), width: "14%", wideOnly: true, cell: originText },
    {
      label: t("access.actions"),
      width: "96px",
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
    ? { label: t("access.invited"), tone: "wait", shape: "clock" } as const
    : row.admin.disabled
    ? { label: t("access.disabled"), tone: "bad", shape: "cross" } as const
    : { label: t("access.active"), tone: "ok", shape: "check" } as const;
  return <Status words={words} />;
}

function waysText(row: Row): string {
  if (row.kind === "invitation") return "";
  const { password, totp, passkeys } = row.admin.has;
  const ways = [
    password ? t("access.way_password") : "",
    totp ? t("access.way_totp") : "",
    passkeys > 0 ? t("access.way_passkeys", { count: passkeys }) : "",
  ].filter((one) => one !== "");
  return ways.length === 0 ? t("access.way_none") : ways.join(", ");
}

function originText(row: Row): string {
  return row.kind === "invitation" ? row.invitation.by : t(`access.origin_${row.admin.origin}`);
}
