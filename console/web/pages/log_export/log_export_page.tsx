// The Log export page: the destinations of logins and audit records, with their state, backlog and last problem.

import { useSignal } from "@preact/signals";
import {
  DESTINATION_FIELDS,
  DESTINATION_KINDS,
  NEW_DESTINATION_FIELDS,
} from "../../../../platform/log_export/destination_choices.ts";
import type { DestinationRow } from "../../../api/log_export/log_export_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { countText } from "../../app/format.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import type { FieldsForm } from "../../components/fields_dialog.tsx";
import { lazy } from "../../components/lazy.tsx";
import { ListPage } from "../../components/list_page.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { type RowActions, useRows } from "../../components/row_actions.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";

const FieldsDialog = lazy(async () => (await import("../../components/fields_dialog.tsx")).FieldsDialog);

const FORM: FieldsForm<typeof DESTINATION_FIELDS & typeof NEW_DESTINATION_FIELDS> = {
  prefix: "destination",
  fields: { ...DESTINATION_FIELDS, ...NEW_DESTINATION_FIELDS },
  key: (name) => `logexport.${name}` as MessageKey,
  isShown: { allowsHttp: ({ url, allowsHttp }) => String(url).startsWith("http:") || allowsHttp === true },
  below: {
    kind: ({ kind }) => kind === "syslog_udp" && <Alert tone="wait">{t("logexport.udp_lossy")}</Alert>,
  },
  labels: {
    pastHours: (hours) =>
      hours === "0" ? t("logexport.past_none") : t("logexport.past_days", { count: Number(hours) / 24 }),
  },
  refused: {
    url: "logexport.url_refused",
    allowsHttp: "logexport.allows_http_refused",
    host: "logexport.host_refused",
    authorization: "logexport.authorization_refused",
    ca: "logexport.pem_refused",
    certificate: "logexport.pem_refused",
    privateKey: "logexport.private_key_refused",
  },
};

const TEXTS = {
  failed: "common.unread",
  old: "common.old",
  empty: ["logexport.none", "logexport.none_next"],
} as const;
const REFRESH_INTERVAL_MS = 5000;

export default function LogExportPage({ models }: PageProps) {
  const calls = destinationCalls(models);
  const list = useResource(models, { fetch: calls.list, inputs: [] });
  useInterval(REFRESH_INTERVAL_MS, list.reload);
  const rows = useRows(models, list);
  const edited = useSignal<DestinationRow | "new" | null>(null);
  return (
    <ListPage
      models={models}
      name="log_export"
      initialSort="name"
      title={t("shell.log_export")}
      texts={TEXTS}
      resource={list}
      actions={
        <Button
          kind="primary"
          icon="plus"
          reason={permissionHint(models, "owner")}
          onClick={() => edited.value = "new"}
        >
          {t("logexport.add")}
        </Button>
      }
      rows={({ items }) => items}
      columns={columnsOf(models)}
      keyOf={(row) => row.name}
      actionsOf={(row) => actionsOf(row, { rows, calls, edit: () => edited.value = row })}
    >
      {edited.value !== null && (
        <DestinationDialog
          models={models}
          item={edited.value === "new" ? null : edited.value}
          onDone={() => void list.reload()}
          onClose={() => edited.value = null}
        />
      )}
      {rows.dialogs}
    </ListPage>
  );
}

interface DestinationDialogProps {
  readonly models: Models;
  /** `null`: a new one. */
  readonly item: DestinationRow | null;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function DestinationDialog({ models, item, onDone, onClose }: DestinationDialogProps) {
  const calls = destinationCalls(models);
  return (
    <FieldsDialog
      form={item === null ? FORM : { ...FORM, fields: DESTINATION_FIELDS }}
      title={item === null ? t("logexport.add") : t("common.edit_name", { name: item.name })}
      submitLabel={item === null ? t("logexport.add") : t("common.save")}
      values={item?.settings ?? null}
      isSet={(secret) =>
        secret === "privateKey" ? item?.hasPrivateKey === true : item?.hasAuthorization === true}
      onClose={onClose}
      onSend={async (body) => {
        if (item !== null) {
          await calls.change(item, body);
          models.toasts.show(t("common.name_changed", { name: item.name }), { tone: "ok" });
          return onDone();
        }
        const { item: { name }, webhookSecret } = await calls.add(body);
        onDone();
        if (webhookSecret === "") return;
        return {
          title: t("common.signature_secret_of", { name }),
          secret: webhookSecret,
          children: <p>{t("logexport.secret_use")}</p>,
        };
      }}
    />
  );
}

function columnsOf(models: Models): readonly TableColumn<DestinationRow>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      sort: ({ name }) => name,
      cell: ({ name }) => <bdi class="cut mono" title={name}>{name}</bdi>,
    },
    {
      id: "kind",
      label: t("logexport.kind"),
      width: "140px",
      priority: 2,
      sort: ({ settings }) => settings.kind,
      cell: ({ settings }) => t(`logexport.kind_${settings.kind}`),
    },
    {
      id: "address",
      label: t("logexport.address"),
      priority: 2,
      cell: ({ address }) => <bdi class="cut mono" title={address}>{address}</bdi>,
    },
    {
      id: "state",
      label: t("common.status"),
      min: 220,
      sort: (row) => destinationState(row).label,
      cell: (row) => (
        <>
          <StateText words={destinationState(row)} />
          {row.problem !== null && (
            <bdi class="cut quiet small" title={row.problem.detail}>{row.problem.detail}</bdi>
          )}
        </>
      ),
    },
    {
      id: "backlog",
      label: t("logexport.backlog"),
      width: "170px",
      isLargestFirst: true,
      sort: ({ backlog }) => backlog,
      cell: (row) => <BacklogText models={models} row={row} />,
    },
    {
      id: "sent",
      label: t("logexport.sent"),
      width: "110px",
      priority: 2,
      isLargestFirst: true,
      sort: ({ sent }) => sent,
      cell: ({ sent }) => countText(sent),
    },
    {
      id: "last",
      label: t("common.last_sent"),
      width: "140px",
      isLargestFirst: true,
      sort: ({ lastSentMs }) => lastSentMs,
      cell: ({ lastSentMs }) =>
        lastSentMs === null ? t("common.never") : <Time models={models} atMs={lastSentMs} />,
    },
  ];
}

function BacklogText(
  { models, row: { backlog, oldestMs, skipped } }: { models: Models; row: DestinationRow },
) {
  return (
    // One element, because a card of a narrow window has one place for the cell.
    <div>
      {countText(backlog)}
      {backlog > 0 && oldestMs !== null && (
        <span class="quiet small">
          {" "}
          <Time models={models} atMs={oldestMs} />
        </span>
      )}
      {skipped > 0 && <div class="quiet small">{t("logexport.skipped", { count: skipped })}</div>}
    </div>
  );
}

interface ActionDeps {
  readonly rows: RowActions;
  readonly calls: ReturnType<typeof destinationCalls>;
  readonly edit: () => void;
}

function actionsOf(row: DestinationRow, { rows, calls, edit }: ActionDeps): readonly MenuItem[] {
  const { name, settings: { isPaused, kind } } = row;
  return [
    rows.action({
      label: t("logexport.test"),
      icon: "send",
      needs: "operator",
      async run() {
        const { result } = await calls.test(name);
        if (result.ok) return t("logexport.test_ok", { name });
        return { failure: t("common.name_and_reason", { name, why: t(`common.call_${result.code}`) }) };
      },
    }),
    rows.dialog({ label: t("common.edit"), icon: "pencil", needs: "owner", open: edit }),
    rows.action({
      label: isPaused ? t("common.resume") : t("common.pause"),
      icon: "play",
      needs: "owner",
      run: async () => void await calls.pause(name, !isPaused),
    }),
    ...!DESTINATION_KINDS[kind].isSigned ? [] : [rows.action({
      label: t("common.renew_signature_secret"),
      icon: "key-round",
      needs: "owner",
      async run() {
        const { webhookSecret } = await calls.renewSecret(row);
        return { title: t("common.signature_secret_of", { name }), secret: webhookSecret };
      },
    })],
    rows.audit(`log-export:${name}`),
    rows.action({
      label: t("common.remove"),
      icon: "trash-2",
      isBad: true,
      needs: "owner",
      ask: { title: t("logexport.remove_title", { name }), text: t("logexport.remove_why") },
      async run() {
        await calls.remove(name);
        return t("common.name_removed", { name });
      },
    }),
  ];
}

type DestinationApi = Models["api"]["log-export"];
type NewDestinationBody = Parameters<DestinationApi["$post"]>[0]["json"];
type DestinationChange = Parameters<DestinationApi[":name"]["$patch"]>[0]["json"]["change"];

/** The calls of the page. The form makes the bodies from the fields. */
function destinationCalls({ api, session }: Pick<Models, "api" | "session">) {
  const all = api["log-export"];
  const one = all[":name"];
  const by = (name: string) => ({ param: escapeParams({ name }) });
  return {
    list: () => take(all.$get()),
    add: (body: Record<string, unknown>) =>
      session.whileSignedIn(() => take(all.$post({ json: body as NewDestinationBody }))),
    change({ name, version }: DestinationRow, change: Record<string, unknown>) {
      const json = { version, change: change as DestinationChange };
      return session.whileSignedIn(() => take(one.$patch({ ...by(name), json })));
    },
    pause: (name: string, paused: boolean) =>
      session.whileSignedIn(() => take(one.pause.$post({ ...by(name), json: { paused } }))),
    renewSecret: ({ name, version }: DestinationRow) =>
      session.whileSignedIn(() => take(one.secret.$post({ ...by(name), json: { version } }))),
    test: (name: string) => session.whileSignedIn(() => take(one.test.$post({ ...by(name), json: {} }))),
    remove: (name: string) => session.whileSignedIn(() => take(one.$delete(by(name)))),
  };
}

/** Whether a destination works. */
function destinationState({ settings, problem, lastSentMs }: DestinationRow) {
  if (settings.isPaused) return { tone: "wait", shape: "pause", label: t("common.paused") } as const;
  if (problem !== null) {
    return { tone: "bad", shape: "cross", label: t(`common.call_${problem.code}`) } as const;
  }
  return lastSentMs === null
    ? { tone: "idle", shape: "ring", label: t("common.nothing_sent") } as const
    : { tone: "ok", shape: "check", label: t("logexport.state_ok") } as const;
}
