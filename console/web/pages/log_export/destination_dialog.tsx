// The form of a destination of the log export: a new one, or the settings of one.

import { type Signal, useSignal } from "@preact/signals";
import type { DestinationRow } from "../../../api/log_export/log_export_types.ts";
import {
  DEFAULT_PORTS,
  DESTINATION_DEFAULTS,
  DESTINATION_KINDS,
  DESTINATION_NAME,
  type DestinationKind,
  RECORD_KINDS,
  type RecordKind,
  SYSLOG_FORMATS,
  WEBHOOK_FORMATS,
} from "../../../../platform/log_export/destination_choices.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { Checkbox } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { t } from "../../i18n/translate.ts";
import { addDestination, changeDestination } from "./destination_calls.ts";

interface DestinationDialogProps {
  readonly models: Models;
  /** `null`: a new one. */
  readonly item: DestinationRow | null;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

interface Draft {
  readonly name: string;
  readonly kind: DestinationKind;
  readonly url: string;
  readonly allowsHttp: boolean;
  readonly host: string;
  readonly port: string;
  readonly format: string;
  readonly facility: string;
  readonly ca: string;
  readonly certificate: string;
  readonly privateKey: string;
  readonly authorization: string;
  readonly maxHours: string;
  readonly maxRecords: string;
  readonly pastHours: number;
}

const PAST_HOURS = [0, 24, 168, 720];

export function DestinationDialog({ models, item, onDone, onClose }: DestinationDialogProps) {
  const draft = useSignal<Draft>(draftOf(item));
  const records = useSignal<readonly RecordKind[]>((item?.settings ?? DESTINATION_DEFAULTS).records);
  const { name, kind } = draft.value;
  const isBadName = name !== "" && !DESTINATION_NAME.test(name);
  const send = async () => {
    const body = bodyOf(draft.value, records.value);
    if (item !== null) {
      await changeDestination(models, item.name, { version: item.version, change: body });
      models.toasts.show(t("common.name_changed", { name: item.name }), { tone: "ok" });
      return onDone();
    }
    const { pastHours } = draft.value;
    const { webhookSecret } = await addDestination(models, { name, kind, pastHours, ...body });
    onDone();
    return webhookSecret === ""
      ? undefined
      : { title: t("common.signature_secret_of", { name }), secret: webhookSecret, children: <SecretHint /> };
  };
  return (
    <FormDialog
      title={item === null ? t("logexport.add") : t("common.edit_name", { name: item.name })}
      submitLabel={item === null ? t("logexport.add") : t("common.save")}
      reason={isBadName || records.value.length === 0 ? "" : undefined}
      onClose={onClose}
      onSubmit={send}
      wide
    >
      <FormFields prefix="destination" draft={draft} rows={firstRows(item, isBadName)} />
      {kind === "syslog_udp" && <Alert tone="wait">{t("logexport.udp_lossy")}</Alert>}
      <FormFields prefix="destination" draft={draft} rows={addressRows(draft.value, item)} />
      <RecordChoice records={records} />
      <FormFields prefix="destination" draft={draft} rows={boundRows(item)} />
    </FormDialog>
  );
}

/** Also after a renewal. */
export function SecretHint() {
  return <p>{t("logexport.secret_use")}</p>;
}

function RecordChoice({ records }: { readonly records: Signal<readonly RecordKind[]> }) {
  return (
    <fieldset class="multi">
      <legend>{t("logexport.records")}</legend>
      {RECORD_KINDS.map((kind) => (
        <Checkbox
          key={kind}
          label={t(`logexport.records_${kind}`)}
          checked={records.value.includes(kind)}
          onChange={(checked) =>
            records.value = RECORD_KINDS.filter((one) =>
              one === kind ? checked : records.value.includes(one)
            )}
        />
      ))}
    </fieldset>
  );
}

function firstRows(item: DestinationRow | null, isBadName: boolean): readonly FieldRow<Draft>[] {
  if (item !== null) return [];
  return [
    {
      name: "name",
      label: "common.name",
      hint: "logexport.name_hint",
      problem: isBadName ? t("logexport.name_invalid") : null,
      input: { required: true, maxLength: 40, autofocus: true },
    },
    {
      name: "kind",
      label: "logexport.kind",
      choices: DESTINATION_KINDS,
      choiceLabel: (kind) => t(`logexport.kind_${kind}`),
    },
  ];
}

function addressRows(draft: Draft, item: DestinationRow | null): readonly FieldRow<Draft>[] {
  const keeps = item !== null ? "logexport.keep_hint" : undefined;
  const ca = { name: "ca", label: "logexport.ca", hint: "logexport.ca_hint", lines: 3 } as const;
  const format = {
    name: "format",
    label: "logexport.format",
    choices: draft.kind === "webhook" ? WEBHOOK_FORMATS : SYSLOG_FORMATS,
    choiceLabel: (format: string) => t(FORMAT_LABELS[format] ?? "logexport.format_json"),
  } as const;
  if (draft.kind === "webhook") {
    return [
      {
        name: "url",
        label: "logexport.url",
        input: {
          required: true,
          maxLength: 2000,
          placeholder: t("common.example", { value: "https://logs.example.com" }),
        },
      },
      ...draft.url.startsWith("http:") || draft.allowsHttp
        ? [{ name: "allowsHttp", label: "logexport.allow_http" } satisfies FieldRow<Draft>]
        : [],
      format,
      {
        name: "authorization",
        label: "logexport.authorization",
        hint: item?.hasAuthorization === true ? keeps : "logexport.authorization_hint",
        input: { type: "password", maxLength: 2000, autocomplete: "off" },
      },
      ca,
    ];
  }
  return [
    { name: "host", label: "logexport.host", input: { required: true, maxLength: 253 } },
    {
      name: "port",
      label: "logexport.port",
      input: {
        type: "number",
        min: 1,
        max: 65_535,
        placeholder: t("common.default_value", { value: DEFAULT_PORTS[draft.kind] }),
      },
    },
    format,
    {
      name: "facility",
      label: "logexport.facility",
      input: { type: "number", min: 0, max: 23, required: true },
    },
    ...draft.kind === "syslog_udp" ? [] : [
      ca,
      {
        name: "certificate",
        label: "logexport.certificate",
        hint: "logexport.certificate_hint",
        lines: 3,
      } satisfies FieldRow<Draft>,
      {
        name: "privateKey",
        label: "logexport.private_key",
        hint: item?.hasPrivateKey === true ? keeps : undefined,
        lines: 3,
      } satisfies FieldRow<Draft>,
    ],
  ];
}

const FORMAT_LABELS: Readonly<
  Record<string, "logexport.format_ndjson" | "logexport.format_structured_data">
> = {
  ndjson: "logexport.format_ndjson",
  structured_data: "logexport.format_structured_data",
};

function boundRows(item: DestinationRow | null): readonly FieldRow<Draft>[] {
  return [
    {
      name: "maxHours",
      label: "logexport.max_hours",
      hint: "logexport.max_hint",
      input: { type: "number", min: 1, max: 720, required: true },
    },
    {
      name: "maxRecords",
      label: "logexport.max_records",
      input: { type: "number", min: 1000, max: 5_000_000, required: true },
    },
    ...item !== null ? [] : [
      {
        name: "pastHours",
        label: "logexport.past",
        choices: PAST_HOURS,
        choiceLabel: (hours) =>
          hours === 0 ? t("logexport.past_none") : t("logexport.past_days", { count: hours / 24 }),
      } satisfies FieldRow<Draft>,
    ],
  ];
}

function draftOf(item: DestinationRow | null): Draft {
  const settings = item?.settings ?? DESTINATION_DEFAULTS;
  return {
    ...settings,
    name: item?.name ?? "",
    port: item === null ? "" : String(settings.port),
    facility: String(settings.facility),
    maxHours: String(settings.maxHours),
    maxRecords: String(settings.maxRecords),
    privateKey: "",
    authorization: "",
    pastHours: 0,
  };
}

/** Secrets that stay empty are not sent, so that they stay as they are. */
function bodyOf({ kind, privateKey, authorization, ...draft }: Draft, records: readonly RecordKind[]) {
  const isWebhook = kind === "webhook";
  const formats: readonly string[] = isWebhook ? WEBHOOK_FORMATS : SYSLOG_FORMATS;
  return {
    url: isWebhook ? draft.url.trim() : "",
    allowsHttp: isWebhook && draft.allowsHttp,
    host: isWebhook ? "" : draft.host.trim(),
    port: isWebhook ? 0 : Number(draft.port === "" ? DEFAULT_PORTS[kind] : draft.port),
    format: (formats.includes(draft.format) ? draft.format : "json") as "json",
    facility: Number(draft.facility),
    records: [...records],
    ca: kind === "syslog_udp" ? "" : draft.ca.trim(),
    certificate: kind === "syslog_tls" ? draft.certificate.trim() : "",
    maxHours: Number(draft.maxHours),
    maxRecords: Number(draft.maxRecords),
    ...privateKey.trim() === "" ? {} : { privateKey: privateKey.trim() },
    ...authorization === "" ? {} : { authorization },
  };
}
