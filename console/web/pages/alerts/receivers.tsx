// The receivers of alerts: the list with its actions, the form of one, and the calls.

import { RECEIVER_FIELDS } from "../../../../platform/alerts/alert_kinds.ts";
import type { ReceiverRow } from "../../../api/alerts/alert_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { Resource } from "../../app/resource.ts";
import { Alert } from "../../components/alert.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import type { FieldsForm } from "../../components/fields_dialog.tsx";
import { lazy } from "../../components/lazy.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { type RowActions, useRows } from "../../components/row_actions.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { LANGUAGE_NAMES, type MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { receiverState } from "./alert_labels.ts";

const FieldsDialog = lazy(async () => (await import("../../components/fields_dialog.tsx")).FieldsDialog);

const FORM: FieldsForm<typeof RECEIVER_FIELDS> = {
  prefix: "receiver",
  fields: RECEIVER_FIELDS,
  key: (name) => `alerts.${name}` as MessageKey,
  isShown: { allowsHttp: ({ url, allowsHttp }) => String(url).startsWith("http:") || allowsHttp === true },
  labels: {
    language: (language) => LANGUAGE_NAMES[language as keyof typeof LANGUAGE_NAMES],
    kinds: (kind) => t(`alerts.kind_${kind}` as MessageKey),
  },
  refused: {
    addresses: "alerts.addresses_refused",
    url: "alerts.url_refused",
    allowsHttp: "alerts.allows_http_refused",
  },
};

interface ReceiverTableProps {
  readonly models: Models;
  readonly items: readonly ReceiverRow[];
  readonly list: Pick<Resource<unknown>, "reload">;
  readonly onEdit: (row: ReceiverRow) => void;
}

export function ReceiverTable({ models, items, list, onEdit }: ReceiverTableProps) {
  const rows = useRows(models, list);
  return (
    <>
      {items.length > 0 && (
        <section class="panel" aria-labelledby="alerts-receivers">
          <div class="panel-head">
            <h2 id="alerts-receivers">{t("alerts.receivers")}</h2>
          </div>
          <DataTable
            label={t("alerts.receivers")}
            columns={columnsOf(models)}
            rows={items}
            keyOf={(row) => row.name}
            actionsOf={(row) => actionsOf(models, row, { rows, edit: () => onEdit(row) })}
          />
        </section>
      )}
      {rows.dialogs}
    </>
  );
}

function columnsOf(models: Models): readonly TableColumn<ReceiverRow>[] {
  return [
    {
      label: t("common.name"),
      min: 120,
      cell: ({ name }) => <bdi class="cut mono" title={name}>{name}</bdi>,
    },
    {
      label: t("alerts.address"),
      priority: 2,
      min: 180,
      cell: ({ address }) => <bdi class="cut" title={address}>{address}</bdi>,
    },
    {
      label: t("alerts.which"),
      priority: 2,
      min: 150,
      cell: ({ settings: { kinds, minSeverity } }) =>
        kinds.length === 0
          ? t(`alerts.min_severity_${minSeverity}`)
          : t(`alerts.kinds_${minSeverity}`, { count: kinds.length }),
    },
    {
      label: t("common.status"),
      min: 180,
      cell: (row) => (
        <>
          <StateText words={receiverState(row)} />
          {row.problem !== null && row.problem.detail !== "" && (
            <bdi class="cut quiet small" title={row.problem.detail}>{row.problem.detail}</bdi>
          )}
          {row.waiting > 0 && (
            <span class="small mail-detail">{t("common.messages_waiting", { count: row.waiting })}</span>
          )}
        </>
      ),
    },
    {
      label: t("common.last_sent"),
      width: "140px",
      cell: ({ lastSentMs }) =>
        lastSentMs === null ? t("common.never") : <Time models={models} atMs={lastSentMs} />,
    },
  ];
}

function actionsOf(
  models: Models,
  row: ReceiverRow,
  { rows, edit }: { readonly rows: RowActions; readonly edit: () => void },
): readonly MenuItem[] {
  const { name, settings: { isPaused, kind } } = row;
  const calls = receiverCalls(models);
  return [
    rows.action({
      label: t("alerts.test"),
      icon: "send",
      needs: "operator",
      async run() {
        const { result } = await calls.test(name);
        if (result.ok) return t(`alerts.test_ok_${kind}`, { name });
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
    ...kind !== "webhook" ? [] : [rows.action({
      label: t("common.renew_signature_secret"),
      icon: "key-round",
      needs: "owner",
      async run() {
        const { webhookSecret } = await calls.renewSecret(row);
        return { title: t("common.signature_secret_of", { name }), secret: webhookSecret };
      },
    })],
    rows.audit(`alert-receiver:${name}`),
    rows.action({
      label: t("common.remove"),
      icon: "trash-2",
      isBad: true,
      needs: "owner",
      ask: { title: t("alerts.remove_title", { name }), text: t("alerts.remove_why") },
      async run() {
        await calls.remove(name);
        return t("common.name_removed", { name });
      },
    }),
  ];
}

interface ReceiverDialogProps {
  readonly models: Models;
  /** `null`: a new one. */
  readonly item: ReceiverRow | null;
  readonly isMailConfigured: boolean;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function ReceiverDialog({ models, item, isMailConfigured, onDone, onClose }: ReceiverDialogProps) {
  const calls = receiverCalls(models);
  const mailOff = <Alert tone="wait">{t("alerts.mail_off")}</Alert>;
  return (
    <FieldsDialog
      form={{
        ...FORM,
        below: { kind: ({ kind }: { kind?: unknown }) => kind === "mail" && !isMailConfigured && mailOff },
      }}
      title={item === null ? t("alerts.add") : t("common.edit_name", { name: item.name })}
      submitLabel={item === null ? t("alerts.add") : t("common.save")}
      values={item?.settings ?? null}
      isSet={() => item !== null}
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
          children: <p>{t("alerts.secret_use")}</p>,
        };
      }}
    />
  );
}

type ReceiverApi = Models["api"]["alerts"]["receivers"];
type NewReceiverBody = Parameters<ReceiverApi["$post"]>[0]["json"];
type ReceiverChange = Parameters<ReceiverApi[":name"]["$patch"]>[0]["json"]["change"];

/** The form makes the bodies from the fields. */
function receiverCalls({ api, session }: Pick<Models, "api" | "session">) {
  const all = api.alerts.receivers;
  const one = all[":name"];
  const by = (name: string) => ({ param: escapeParams({ name }) });
  return {
    add: (body: Record<string, unknown>) =>
      session.whileSignedIn(() => take(all.$post({ json: body as NewReceiverBody }))),
    change({ name, version }: ReceiverRow, change: Record<string, unknown>) {
      const json = { version, change: change as ReceiverChange };
      return session.whileSignedIn(() => take(one.$patch({ ...by(name), json })));
    },
    pause: (name: string, paused: boolean) =>
      session.whileSignedIn(() => take(one.pause.$post({ ...by(name), json: { paused } }))),
    renewSecret: ({ name, version }: ReceiverRow) =>
      session.whileSignedIn(() => take(one.secret.$post({ ...by(name), json: { version } }))),
    test: (name: string) => session.whileSignedIn(() => take(one.test.$post({ ...by(name), json: {} }))),
    remove: (name: string) => session.whileSignedIn(() => take(one.$delete(by(name)))),
  };
}
