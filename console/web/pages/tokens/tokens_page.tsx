// The list of hardware tokens: import, assignment, resynchronization, tests of codes, and removal.

import { useSignal } from "@preact/signals";
import type { HardwareTokenPage, HardwareTokenView } from "../../../api/tokens/token_types.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { type ListFilter, useFilteredList } from "../../app/filters.ts";
import { userHref } from "../../app/routes.ts";
import { readyValue } from "../../app/resource.ts";
import { useListSelection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { lazy } from "../../components/lazy.tsx";
import { CellFilter } from "../../components/filter_chips.tsx";
import { ListPage } from "../../components/list_page.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { auditHref } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { BulkTokens } from "./bulk_tokens.tsx";
import { createTokenCalls, fetchHardwareTokens } from "./token_calls.ts";
import { TOKEN_STATES, tokenStateText, tokenTypeText } from "./token_texts.ts";

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
  readonly does: "assign" | "unassign" | "resync" | "test" | "remove";
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
  const enable = async ({ id, serial }: HardwareTokenView, enabled: boolean) => {
    await createTokenCalls(models, id).enable(enabled);
    models.toasts.show(t(enabled ? "tokens.enabled" : "tokens.disabled", { serial }), { tone: "ok" });
    reload();
  };
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
      actionsOf={actionsOf({ reason, open: (next) => opened.value = next, enable })}
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
  const { id, serial, user } = token;
  const part = { models, token, onClose, onDone };
  if (does === "assign") return <AssignDialog {...part} />;
  if (does === "resync") return <ResynchronizeDialog {...part} />;
  if (does === "test") return <TestCodeDialog {...part} />;
  const calls = createTokenCalls(models, id);
  const words = { serial, name: user ?? "" };
  return (
    <ConfirmDialog
      title={t(`tokens.${does}_title`, words)}
      submitLabel={t(`tokens.do_${does}`)}
      onClose={onClose}
      onConfirm={async () => {
        if (does === "remove") await calls.remove();
        else await calls.unassign();
        onDone(t(does === "remove" ? "tokens.removed" : "tokens.unassigned", words));
      }}
    >
      <p>{t(`tokens.${does}_what`, words)}</p>
      {user !== null && does === "remove" && <p>{t("common.cannot_sign_in_with_it", words)}</p>}
    </ConfirmDialog>
  );
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

interface RowActions {
  readonly reason: string | undefined;
  readonly open: (opened: Opened) => void;
  readonly enable: (token: HardwareTokenView, enabled: boolean) => Promise<void>;
}

function actionsOf({ reason, open, enable }: RowActions): (token: HardwareTokenView) => readonly MenuItem[] {
  return (token) => {
    const item = (does: Opened["does"], icon: MenuItem["icon"], isBad = false): MenuItem => ({
      label: t(`tokens.do_${does}`),
      ...{ icon, reason, isBad },
      run: () => open({ does, token }),
    });
    const isDisabled = token.state === "disabled";
    return [
      ...token.user === null ? [item("assign", "user-plus")] : [
        { label: t("common.open_user"), icon: "user" as const, href: `${userHref(token.user)}#devices` },
        item("unassign", "minus"),
      ],
      item("resync", "refresh-cw"),
      item("test", "play"),
      {
        label: t(isDisabled ? "common.enable" : "common.disable"),
        icon: "shield",
        reason,
        run: () => void enable(token, isDisabled),
      },
      {
        label: t("shell.audit"),
        icon: "scroll-text",
        href: auditHref(token.user === null ? `hardware-token:${token.serial}` : `user:${token.user}`),
      },
      item("remove", "trash-2", true),
    ];
  };
}
