// The Access page: administrators, your own sign-in methods and sessions, and API tokens.

import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import type { SessionRow } from "../../../api/auth/sessions.ts";
import type { AdminRow, InvitationRow, TokenRow } from "../../../api/api_types.ts";
import type { Role } from "../../../api/auth/admin_records.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { readyValue, type Resource, useResource } from "../../app/resource.ts";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { auditHref, currentTab, PageBar, type Tab, Tabs } from "../../components/page_layout.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { Alert, EmptyState, Fetched } from "../../components/alert.tsx";
import { permissionHint } from "../../app/session_model.ts";
import { currentSort, formatSort, sortRows } from "../../app/sorting.ts";
import type { MenuItem } from "../../components/menu.tsx";
import { StateText } from "../../components/status.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { useRows } from "../../components/row_actions.tsx";
import {
  createApiToken,
  endOwnSession,
  fetchAdministrators,
  fetchOwnSessions,
  fetchTokens,
  revokeToken,
} from "./access_calls.ts";
import { OwnFactors } from "./own_factors.tsx";
import {
  type AccessDialogProps,
  AdminDialog,
  InvitationDialog,
  InviteAdminDialog,
  ROLE_ROW,
} from "./admin_dialogs.tsx";

const PARTS = {
  "": AdminList,
  "sign-in": OwnFactors,
  sessions: OwnSessions,
  tokens: TokenList,
} as const;

export default function AccessPage({ models }: PageProps) {
  const tabs: readonly Tab[] = [
    { hash: "", label: t("shell.access") },
    { hash: "sign-in", label: t("access.your_sign_in") },
    { hash: "sessions", label: t("access.sessions") },
    { hash: "tokens", label: t("access.tokens") },
  ];
  const current = currentTab(models, tabs);
  const Part = PARTS[current as keyof typeof PARTS] ?? AdminList;
  return (
    <main class="page">
      <PageBar title={t("shell.access")} />
      <Tabs models={models} tabs={tabs} label={t("access.parts")} />
      <Part key={current} models={models} />
    </main>
  );
}

type ShownSession = SessionRow & { readonly current: boolean };

function OwnSessions({ models }: { models: Models }) {
  const resource = useResource(models, { fetch: () => fetchOwnSessions(models), inputs: [] });
  const end = ({ id, source }: ShownSession) =>
    models.question.value = {
      title: t("access.session_end_title", { name: source }),
      submitLabel: t("access.session_end"),
      text: t("access.session_end_what"),
      isBad: true,
      async run() {
        await endOwnSession(models, id).finally(() => void resource.reload());
        models.toasts.show(t("access.session_ended_said", { name: source }), { tone: "ok" });
      },
    };
  const columns: readonly TableColumn<ShownSession>[] = [
    {
      id: "source",
      label: t("common.ip_address"),
      cell: ({ source, current }) => (
        <>
          <bdi class="mono">{source}</bdi> {current && <span class="hint">({t("access.session_this")})</span>}
        </>
      ),
    },
    {
      id: "agent",
      label: t("access.session_agent"),
      priority: 2,
      cell: ({ agent }) => <span class="cut" title={agent}>{agent}</span>,
    },
    {
      id: "began",
      label: t("common.started"),
      width: "130px",
      isLargestFirst: true,
      sort: ({ createdMs }) => createdMs,
      priority: 2,
      cell: ({ createdMs }) => <Time models={models} atMs={createdMs} />,
    },
    {
      id: "used",
      label: t("access.session_used"),
      width: "130px",
      isLargestFirst: true,
      sort: ({ usedMs }) => usedMs,
      cell: ({ usedMs }) => <Time models={models} atMs={usedMs} />,
    },
    {
      label: t("common.actions"),
      width: "100px",
      isPinned: true,
      cell: (row) =>
        row.current ? null : (
          <Button
            small
            of={t("access.session_end_named", { name: row.source })}
            onClick={() => end(row)}
          >
            {t("access.session_end")}
          </Button>
        ),
    },
  ];
  return (
    <AccessTable
      models={models}
      initialSort="-used"
      label={t("access.sessions")}
      resource={resource}
      columns={columns}
      keyOf={({ id }) => id}
      empty={{ title: t("access.sessions"), next: "" }}
    />
  );
}

// The lists of the page Administrators: the table of each tab, and the administrators with their invitations.

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

function AccessTable<T>(props: AccessTableProps<T>) {
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

function AdminList({ models }: { models: Models }) {
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
        columns={administratorColumns({ models, reason, onOpen: (row) => open.value = row })}
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

function administratorColumns({ models, reason, onOpen }: ColumnDeps): readonly TableColumn<Row>[] {
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

// The API tokens: the list, creation (the token is shown once), and revocation.

function TokenList({ models }: { models: Models }) {
  const reason = permissionHint(models, "owner");
  return reason === undefined ? <OwnersTokens models={models} /> : <Alert tone="idle">{reason}</Alert>;
}

function OwnersTokens({ models }: { models: Models }) {
  const resource = useResource(models, { fetch: () => fetchTokens(models), inputs: [] });
  const making = useSignal(false);
  const rows = useRows(models, resource);
  return (
    <>
      <AccessTable
        models={models}
        initialSort="name"
        nameOf={({ name }) => name}
        actionsOf={({ id, name }) => [
          rows.action({
            label: t("common.revoke"),
            icon: "trash-2",
            isBad: true,
            ask: {
              title: t("common.token_revoke_title", { name }),
              submitLabel: t("access.token_revoke_verb"),
              text: t("common.token_revoke_what"),
            },
            async run() {
              await revokeToken(models, id);
              return t("common.token_revoked", { name });
            },
          }),
        ]}
        label={t("access.tokens")}
        resource={resource}
        columns={tokenColumns(models)}
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
    </>
  );
}

function tokenColumns(models: Models): readonly TableColumn<TokenRow>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      sort: ({ name }) => name,
      cell: ({ name }) => <bdi class="mono cut" title={name}>{name}</bdi>,
    },
    { id: "role", label: t("common.role"), width: "128px", cell: ({ role }) => t(`common.role_${role}`) },
    {
      id: "by",
      label: t("access.token_by"),
      min: 120,
      priority: 2,
      sort: ({ createdBy }) => createdBy,
      cell: ({ createdBy }) => <bdi class="mono cut" title={createdBy}>{createdBy}</bdi>,
    },
    {
      id: "used",
      label: t("common.last_used"),
      width: "140px",
      isLargestFirst: true,
      sort: ({ usedMs }) => usedMs,
      priority: 2,
      cell: ({ usedMs }) => usedMs === null ? t("common.never") : <Time models={models} atMs={usedMs} />,
    },
    {
      id: "expires",
      label: t("common.expires"),
      width: "140px",
      sort: ({ expiresMs }) => expiresMs,
      priority: 2,
      cell: ({ expiresMs }) => <Time models={models} atMs={expiresMs} />,
    },
  ];
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

function TokenDialog({ models, onDone, onClose }: AccessDialogProps) {
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
