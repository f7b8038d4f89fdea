// The lists of the Access page: administrators with their invitations, and API tokens.

import type { ComponentChildren } from "preact";
import { readyValue, type Resource, useResource } from "../../app/resource.ts";
import { t } from "../../i18n/translate.ts";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { Alert, EmptyState, ErrorState, Skeleton } from "../../components/alert.tsx";
import { useSignal } from "@preact/signals";
import type { AdminRow, InvitationRow, TokenRow } from "../../../api/api_types.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { AuditIconLink } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { createApiToken, fetchAdministrators, fetchTokens, revokeToken } from "./access_calls.ts";
import {
  type AccessDialogProps,
  AdminDialog,
  InvitationDialog,
  InviteAdminDialog,
  ROLE_ROW,
} from "./admin_dialogs.tsx";
import type { Role } from "../../../api/auth/admin_records.ts";
import { ConfirmDialog, FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { Time } from "../../components/time.tsx";

interface AccessTableProps<T> {
  readonly label: string;
  readonly resource: Resource<{ readonly items: readonly T[] }>;
  readonly columns: readonly TableColumn<T>[];
  readonly keyOf: (row: T) => string;
  readonly empty: { readonly title: string; readonly next: string };
  /** Actions above the rows. */
  readonly children?: ComponentChildren;
}

export function AccessTable<T>(props: AccessTableProps<T>) {
  const { resource, columns, label, keyOf, empty, children } = props;
  const state = resource.state.value;
  const problem = resource.problem.value;
  return (
    <section class="access-part" aria-label={label}>
      {children !== undefined && <div class="access-actions">{children}</div>}
      {problem !== null && (
        <ErrorState title={t("access.not_read")} onRetry={() => void resource.reload()}>{problem}</ErrorState>
      )}
      {(state.kind === "idle" || state.kind === "loading") && <Skeleton rows={4} />}
      {state.kind === "ready" &&
        (state.value.items.length === 0 ? <EmptyState title={empty.title} next={empty.next} /> : (
          <DataTable
            label={label}
            columns={columns}
            rows={state.value.items}
            keyOf={keyOf}
            busy={resource.busy.value}
          />
        ))}
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
        label={t("access.administrators")}
        resource={resource}
        columns={columnsOf({ models, reason, onOpen: (row) => open.value = row })}
        keyOf={keyOf}
        empty={{ title: t("access.administrators"), next: t("common.owner_why") }}
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
      label: t("common.name"),
      cell: (row) => (
        <>
          <bdi class="mono">{nameOf(row)}</bdi>{" "}
          {row.kind === "admin" && row.admin.name === me && <span class="hint">({t("access.you")})</span>}
          <AuditIconLink object={`administrator:${nameOf(row)}`} />
        </>
      ),
    },
    {
      label: t("access.role"),
      width: "128px",
      cell: (row) => t(`common.role_${row.kind === "admin" ? row.admin.role : row.invitation.role}`),
    },
    { label: t("access.state"), width: "14%", wideOnly: true, cell: stateCell },
    { label: t("access.ways"), width: "18%", wideOnly: true, cell: factorsText },
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

export function TokenList({ models }: { models: Models }) {
  const reason = permissionHint(models, "owner");
  return reason === undefined ? <OwnersTokens models={models} /> : <Alert tone="idle">{reason}</Alert>;
}

function OwnersTokens({ models }: { models: Models }) {
  const resource = useResource(models, { fetch: () => fetchTokens(models), inputs: [] });
  const making = useSignal(false);
  const revoking = useSignal<TokenRow | null>(null);
  const columns: readonly TableColumn<TokenRow>[] = [
    { label: t("common.name"), cell: ({ name }) => <bdi class="mono">{name}</bdi> },
    { label: t("access.role"), width: "22%", cell: ({ role }) => t(`common.role_${role}`) },
    {
      label: t("access.token_by"),
      width: "16%",
      wideOnly: true,
      cell: ({ createdBy }) => <bdi class="mono">{createdBy}</bdi>,
    },
    {
      label: t("access.token_used"),
      width: "16%",
      wideOnly: true,
      cell: ({ usedMs }) =>
        usedMs === null ? t("access.passkey_unused") : <Time models={models} atMs={usedMs} />,
    },
    {
      label: t("access.token_expires"),
      width: "16%",
      wideOnly: true,
      cell: ({ expiresMs }) => <Time models={models} atMs={expiresMs} />,
    },
    {
      label: t("access.actions"),
      width: "110px",
      cell: (row) => (
        <Button small of={row.name} onClick={() => revoking.value = row}>
          {t("access.token_revoke")}
        </Button>
      ),
    },
  ];
  const token = revoking.value;
  return (
    <>
      <AccessTable
        label={t("access.tokens")}
        resource={resource}
        columns={columns}
        keyOf={({ id }) => id}
        empty={{ title: t("access.tokens_none"), next: t("access.tokens_none_next") }}
      >
        <Button kind="primary" icon="plus" onClick={() => making.value = true}>
          {t("access.token_make")}
        </Button>
      </AccessTable>
      {making.value && (
        <TokenDialog
          models={models}
          onDone={() => void resource.reload()}
          onClose={() => making.value = false}
        />
      )}
      {token !== null && (
        <ConfirmDialog
          title={t("access.token_revoke_title", { name: token.name })}
          submitLabel={t("access.token_revoke_verb")}
          onClose={() => revoking.value = null}
          onConfirm={async () => {
            await revokeToken(models, token.id);
            models.toasts.show(t("access.token_revoked_said", { name: token.name }), { tone: "ok" });
            void resource.reload();
          }}
        >
          <p>{t("access.token_revoke_why")}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

interface TokenDraft {
  readonly name: string;
  readonly role: Role;
  readonly days: number;
}

const NEW_TOKEN: TokenDraft = { name: "", role: "viewer", days: 90 };
const TOKEN_ROWS: readonly FieldRow<TokenDraft>[] = [
  {
    name: "name",
    label: "access.token_name",
    hint: "access.token_name_hint",
    input: { required: true, maxLength: 64, autofocus: true },
  },
  ROLE_ROW,
  { name: "days", label: "access.token_days", input: { type: "number", min: 1, max: 366, required: true } },
];

export function TokenDialog({ models, onDone, onClose }: AccessDialogProps) {
  const draft = useSignal(NEW_TOKEN);
  return (
    <FormDialog
      title={t("access.token_make")}
      submitLabel={t("access.token_make")}
      onClose={onClose}
      onSubmit={async () => {
        // The value of an input is a text.
        const wanted = { ...draft.value, days: Number(draft.value.days) };
        const { token, item } = await createApiToken(models, wanted);
        onDone();
        return { title: t("access.token_of", { name: item.name }), secret: token };
      }}
    >
      <p>{t("access.token_why")}</p>
      <FormFields prefix="token" draft={draft} rows={TOKEN_ROWS} />
    </FormDialog>
  );
}
