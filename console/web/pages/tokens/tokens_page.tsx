// The list of hardware tokens: import, assignment, resynchronization, tests of codes, and removal.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type {
  HardwareTokenPage,
  HardwareTokenView,
  TokenBulkAction,
  TokenBulkResult,
} from "../../../api/tokens/token_types.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type ListFilter, useFilteredList } from "../../app/filters.ts";
import { userHref } from "../../app/routes.ts";
import { readyValue } from "../../app/resource.ts";
import { type Selection, useListSelection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { lazy } from "../../components/lazy.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import { ListPage } from "../../components/list_page.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { type RowActions, useRows } from "../../components/row_actions.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { take } from "../../app/api_client.ts";
import { Alert } from "../../components/alert.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { NameList } from "../../components/name_list.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import {
  createTokenCalls,
  fetchHardwareTokens,
  TOKEN_STATES,
  tokenStateText,
  tokenTypeText,
} from "./token_calls.ts";

const ImportDialog = lazy(async () => (await import("./import_dialog.tsx")).ImportDialog);
const dialogs = () => import("./token_dialogs.tsx");
const AssignDialog = lazy(async () => (await dialogs()).AssignDialog);
const ResynchronizeDialog = lazy(async () => (await dialogs()).ResynchronizeDialog);
const TestCodeDialog = lazy(async () => (await dialogs()).TestCodeDialog);

const STATES = ["assigned", "free", "disabled", "expired"] as const;
const KINDS = ["hotp", "totp"] as const;
const TEXTS = {
  filters: "common.filters",
  failed: "common.unread",
  old: "common.old",
  empty: ["tokens.none", "tokens.none_next"],
  noMatch: ["tokens.none_match", "common.none_match_next"],
} as const;

type Opened = {
  readonly does: "assign" | "resync" | "test";
  readonly token: HardwareTokenView;
};

export default function TokensPage({ models }: PageProps) {
  const filters = filterRows();
  const { list, query } = useFilteredList<HardwareTokenPage>(models, {
    filters,
    fetch: (query) => fetchHardwareTokens(models, query),
    isSorted: true,
  });
  const importing = useSignal(false);
  const opened = useSignal<Opened | null>(null);
  const reason = permissionHint(models, "user_manager");
  const reload = () => void list.reload();
  const rows = useRows(models, list);
  const selection = useListSelection(models, query);
  const importButton = (
    <Button
      kind="primary"
      icon="upload"
      reason={reason}
      onClick={() => importing.value = true}
    >
      {t("tokens.import")}
    </Button>
  );
  return (
    <ListPage
      models={models}
      name="tokens"
      initialSort="serial"
      title={t("common.hardware_tokens")}
      texts={TEXTS}
      filters={filters}
      resource={list}
      actions={importButton}
      emptyAction={importButton}
      rows={({ rows }) => rows}
      columns={columnsOf(models)}
      actionsOf={actionsOf(models, { rows, open: (next) => opened.value = next })}
      nameOf={({ serial }) => serial}
      keyOf={({ id }) => id}
      selection={selection}
    >
      <BulkTokens
        models={models}
        selection={selection}
        rows={readyValue(list.state.value)?.rows ?? []}
        onChanged={reload}
      />
      {importing.value && (
        <ImportDialog
          models={models}
          onImported={reload}
          onClose={() => importing.value = false}
        />
      )}
      {opened.value !== null && (
        <OpenedDialog
          models={models}
          opened={opened.value}
          onClose={() => opened.value = null}
          onDone={(message) => {
            models.toasts.show(message, { tone: "ok" });
            reload();
          }}
        />
      )}
    </ListPage>
  );
}

function OpenedDialog({ models, opened: { does, token }, onClose, onDone }: {
  models: Models;
  opened: Opened;
  onClose: () => void;
  onDone: (message: string) => void;
}) {
  const part = { models, token, onClose, onDone };
  if (does === "assign") return <AssignDialog {...part} />;
  return does === "resync" ? <ResynchronizeDialog {...part} /> : <TestCodeDialog {...part} />;
}

function filterRows(): ListFilter[] {
  return [
    { name: "q", label: t("tokens.search"), chip: t("common.search"), control: "search" },
    {
      name: "state",
      label: t("common.state"),
      control: "choice",
      options: STATES,
      allLabel: `${t("common.state")}: ${t("common.any")}`,
      text: (value) => tokenStateText(STATES.find((one) => one === value) ?? "free"),
    },
    {
      name: "kind",
      label: t("common.type"),
      control: "choice",
      options: KINDS,
      allLabel: `${t("common.type")}: ${t("common.any")}`,
      text: (value) => value.toUpperCase(),
    },
  ];
}

function columnsOf(models: Models): TableColumn<HardwareTokenView>[] {
  return [
    {
      id: "serial",
      label: t("tokens.serial"),
      min: 150,
      sort: "server",
      cell: ({ serial }) => <bdi class="cut mono" title={serial}>{serial}</bdi>,
    },
    {
      id: "user",
      label: t("common.user"),
      min: 150,
      sort: "server",
      cell: ({ user }) =>
        user === null
          ? <span class="quiet">{t("tokens.no_user")}</span>
          : <a class="cut" dir="auto" href={`${userHref(user)}#devices`} title={user}>{user}</a>,
    },
    {
      id: "state",
      label: t("common.state"),
      min: 110,
      cell: ({ state }) => <StateText words={{ ...TOKEN_STATES[state], label: tokenStateText(state) }} />,
    },
    {
      id: "kind",
      label: t("common.type"),
      min: 170,
      priority: 2,
      cell: (token) => (
        <CellFilter
          models={models}
          to={{ kind: token.kind, page: "" }}
          title="common.only"
          value={tokenTypeText(token)}
        />
      ),
    },
    {
      id: "manufacturer",
      label: t("tokens.manufacturer"),
      min: 130,
      priority: 3,
      cell: ({ manufacturer, model }) => {
        const text = [manufacturer, model].filter((part) => part !== "").join(" ");
        return <bdi class="cut" title={text}>{text}</bdi>;
      },
    },
    {
      id: "used",
      label: t("common.last_used"),
      width: "130px",
      priority: 2,
      sort: "server",
      isLargestFirst: true,
      cell: ({ usedMs }) =>
        usedMs === null
          ? <span class="quiet">{t("common.never")}</span>
          : <Time models={models} atMs={usedMs} />,
    },
    {
      id: "added",
      label: t("tokens.added"),
      width: "130px",
      priority: 3,
      sort: "server",
      isLargestFirst: true,
      cell: ({ importedMs }) => <Time models={models} atMs={importedMs} />,
    },
  ];
}

function actionsOf(
  models: Models,
  { rows, open }: { readonly rows: RowActions; readonly open: (opened: Opened) => void },
): (token: HardwareTokenView) => readonly MenuItem[] {
  return (token) => {
    const { id, serial, user } = token;
    const calls = createTokenCalls(models, id);
    const words = { serial, name: user ?? "" };
    const item = (does: Opened["does"], icon: MenuItem["icon"]): MenuItem => ({
      label: t(`tokens.do_${does}`),
      ...{ icon, reason: permissionHint(models, "user_manager") },
      run: () => open({ does, token }),
    });
    /** An action that asks first. */
    const asked = (does: "unassign" | "remove", icon: MenuItem["icon"]): MenuItem =>
      rows.action({
        label: t(`tokens.do_${does}`),
        ...{ icon, isBad: does === "remove", needs: "user_manager" },
        ask: {
          isBad: true,
          title: t(`tokens.${does}_title`, words),
          text: (
            <>
              <p>{t(`tokens.${does}_what`, words)}</p>
              {user !== null && does === "remove" && <p>{t("common.cannot_sign_in_with_it", words)}</p>}
            </>
          ),
        },
        async run() {
          await calls[does]();
          return t(does === "remove" ? "tokens.removed" : "tokens.unassigned", words);
        },
      });
    const isDisabled = token.state === "disabled";
    return [
      ...user === null ? [item("assign", "user-plus")] : [
        { label: t("common.open_user"), icon: "user" as const, href: `${userHref(user)}#devices` },
        asked("unassign", "minus"),
      ],
      item("resync", "refresh-cw"),
      item("test", "play"),
      rows.action({
        label: t(isDisabled ? "common.enable" : "common.disable"),
        icon: "shield",
        needs: "user_manager",
        async run() {
          await calls.enable(isDisabled);
          return t(isDisabled ? "tokens.enabled" : "tokens.disabled", { serial });
        },
      }),
      rows.audit(user === null ? `hardware-token:${serial}` : `user:${user}`),
      asked("remove", "trash-2"),
    ];
  };
}

// The bar below the list of hardware tokens with selected rows, and the dialog that unassigns, disables, enables or removes them.

/** The server accepts as many in one request. */
const MAX_CHANGED = 100;
const ACTIONS = ["unassign", "disable", "enable", "remove"] as const satisfies readonly TokenBulkAction[];

interface BulkTokensProps {
  readonly models: Models;
  readonly selection: Selection;
  /** The rows of the shown page. */
  readonly rows: readonly HardwareTokenView[];
  readonly onChanged: () => void;
}

interface Asked {
  readonly does: TokenBulkAction;
  readonly tokens: readonly HardwareTokenView[];
}

function BulkTokens({ models, selection, rows, onChanged }: BulkTokensProps) {
  const asked = useSignal<Asked | null>(null);
  const failures = useSignal<readonly string[]>([]);
  // Rows of other pages stay selected, and the dialog names them, too.
  const seen = useRef(new Map<string, HardwareTokenView>());
  for (const row of rows) seen.current.set(row.id, row);
  const count = selection.selected.value.size;
  const reason = permissionHint(models, "user_manager") ??
    (count > MAX_CHANGED ? t("tokens.bulk_too_many", { count: MAX_CHANGED }) : undefined);
  const change = async ({ does, tokens }: Asked) => {
    const { done, failed } = await changeTokens(models, { does, ids: tokens.map(({ id }) => id) });
    failures.value = failed.map(({ id, detail }) =>
      `${tokens.find((token) => token.id === id)?.serial ?? id}: ${detail}`
    );
    selection.clear();
    selection.select(failed.map(({ id }) => id));
    if (done.length > 0) {
      models.toasts.show(t(`tokens.bulk_${does}_done`, { count: done.length }), { tone: "ok" });
    }
    onChanged();
  };
  return (
    <>
      {failures.value.length > 0 && (
        <Alert tone="bad" role="alert">
          {t("tokens.bulk_failed", { count: failures.value.length })}
          <NameList names={failures.value} />
        </Alert>
      )}
      <SelectionBar
        selection={selection}
        total={null}
        actions={ACTIONS.map((does) => ({
          label: bulkLabel(does),
          isBad: does === "remove",
          reason,
          run: () => {
            failures.value = [];
            const ids = [...selection.selected.peek()];
            asked.value = { does, tokens: ids.flatMap((id) => seen.current.get(id) ?? []) };
          },
        }))}
      />
      {asked.value !== null && (
        <ChangeSeveral
          asked={asked.value}
          onConfirm={change}
          onClose={() => asked.value = null}
        />
      )}
    </>
  );
}

function ChangeSeveral({ asked, onConfirm, onClose }: {
  asked: Asked;
  onConfirm: (asked: Asked) => Promise<void>;
  onClose: () => void;
}) {
  const { does, tokens } = asked;
  const users = new Set(tokens.flatMap(({ user }) => user === null ? [] : [user])).size;
  return (
    <ConfirmDialog
      title={t(`tokens.bulk_${does}_title`, { count: tokens.length })}
      submitLabel={bulkLabel(does)}
      count={tokens.length}
      onConfirm={() => onConfirm(asked)}
      onClose={onClose}
    >
      {users > 0 && <p>{t("tokens.bulk_users", { count: users })}</p>}
      <NameList
        names={tokens.map(({ serial, user }) => user === null ? serial : `${serial}, ${user}`)}
      />
      <p>{t(`tokens.bulk_${does}_what`)}</p>
    </ConfirmDialog>
  );
}

function bulkLabel(does: TokenBulkAction): string {
  switch (does) {
    case "unassign":
      return t("tokens.do_unassign");
    case "disable":
      return t("common.disable");
    case "enable":
      return t("common.enable");
    case "remove":
      return t("tokens.do_remove");
  }
}

function changeTokens(
  { api, session }: Models,
  { does, ids }: { does: TokenBulkAction; ids: readonly string[] },
): Promise<TokenBulkResult> {
  const json = { does, ids: [...ids] };
  return session.whileSignedIn(() => take(api["hardware-tokens"].bulk.$post({ json })));
}
