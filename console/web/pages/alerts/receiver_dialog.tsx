// The form of a receiver of alerts: a new one, or the settings of one.

import { type Signal, useSignal } from "@preact/signals";
import type { ReceiverRow } from "../../../api/alerts/alert_types.ts";
import {
  ALERT_KIND_NAMES,
  ALERT_SEVERITIES,
  type AlertKind,
  MAX_ADDRESSES,
  RECEIVER_DEFAULTS,
  RECEIVER_KINDS,
  RECEIVER_NAME,
  type ReceiverSettings,
} from "../../../../platform/alerts/alert_kinds.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { Checkbox } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { LANGUAGE_NAMES } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { addReceiver, changeReceiver } from "./alert_calls.ts";

interface ReceiverDialogProps {
  readonly models: Models;
  /** `null`: a new one. */
  readonly item: ReceiverRow | null;
  readonly isMailConfigured: boolean;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** The fields; the addresses are one per line. */
interface Draft extends Pick<ReceiverSettings, "kind" | "language" | "allowsHttp" | "minSeverity"> {
  readonly name: string;
  readonly addresses: string;
  readonly url: string;
}

export function ReceiverDialog({ models, item, isMailConfigured, onDone, onClose }: ReceiverDialogProps) {
  const { addresses, ...settings } = item?.settings ?? RECEIVER_DEFAULTS;
  const draft = useSignal<Draft>({
    ...settings,
    name: item?.name ?? "",
    addresses: addresses.join("\n"),
    url: "",
  });
  const kinds = useSignal<readonly AlertKind[]>(settings.kinds);
  const { name, kind } = draft.value;
  const isBadName = name !== "" && !RECEIVER_NAME.test(name);
  const problem = addressProblem(draft.value);
  const send = async () => {
    const body = bodyOf(draft.value, kinds.value);
    if (item !== null) {
      await changeReceiver(models, item.name, { version: item.version, change: body });
      models.toasts.show(t("common.name_changed", { name: item.name }), { tone: "ok" });
      return onDone();
    }
    const { webhookSecret } = await addReceiver(models, { name, kind, ...body });
    onDone();
    return webhookSecret === "" ? undefined : {
      title: t("common.signature_secret_of", { name }),
      secret: webhookSecret,
      children: <p>{t("alerts.secret_use")}</p>,
    };
  };
  return (
    <FormDialog
      title={item === null ? t("alerts.add") : t("common.edit_name", { name: item.name })}
      submitLabel={item === null ? t("alerts.add") : t("common.save")}
      reason={isBadName || problem !== null ? "" : undefined}
      onClose={onClose}
      onSubmit={send}
      wide
    >
      {item === null && <FormFields prefix="receiver" draft={draft} rows={firstRows(isBadName)} />}
      {kind === "mail" && !isMailConfigured && <Alert tone="wait">{t("alerts.mail_off")}</Alert>}
      <FormFields prefix="receiver" draft={draft} rows={addressRows(draft.value, { item, problem })} />
      <FormFields prefix="receiver" draft={draft} rows={LAST_ROWS} />
      <KindChoice kinds={kinds} />
    </FormDialog>
  );
}

/** Without a choice, the receiver gets all kinds. */
function KindChoice({ kinds }: { readonly kinds: Signal<readonly AlertKind[]> }) {
  return (
    <fieldset class="multi" aria-describedby="receiver-kinds-hint">
      <legend>{t("alerts.kinds")}</legend>
      <span class="quiet small" id="receiver-kinds-hint">{t("alerts.kinds_hint")}</span>
      {ALERT_KIND_NAMES.map((kind) => (
        <Checkbox
          key={kind}
          label={t(`alerts.kind_${kind}`)}
          checked={kinds.value.includes(kind)}
          onChange={(checked) =>
            kinds.value = ALERT_KIND_NAMES.filter((one) =>
              one === kind ? checked : kinds.value.includes(one)
            )}
        />
      ))}
    </fieldset>
  );
}

function firstRows(isBadName: boolean): readonly FieldRow<Draft>[] {
  return [
    {
      name: "name",
      label: "common.name",
      hint: "alerts.name_hint",
      problem: isBadName ? t("alerts.name_invalid") : null,
      input: { required: true, maxLength: 40, autofocus: true },
    },
    {
      name: "kind",
      label: "alerts.kind",
      choices: RECEIVER_KINDS,
      choiceLabel: (kind) => t(`alerts.by_${kind}`),
    },
  ];
}

function addressRows(
  { kind, url, allowsHttp }: Draft,
  { item, problem }: { item: ReceiverRow | null; problem: string | null },
): readonly FieldRow<Draft>[] {
  if (kind === "mail") {
    return [{
      name: "addresses",
      label: "alerts.addresses",
      hint: "alerts.addresses_hint",
      problem,
      lines: 3,
      input: { required: true, maxLength: 6000 },
    }];
  }
  return [
    {
      name: "url",
      label: "alerts.url",
      hint: item === null ? "alerts.url_hint" : "alerts.keep_url",
      input: {
        required: item === null,
        maxLength: 2000,
        placeholder: t("common.example", { value: "https://chat.example.com" }),
      },
    },
    ...url.startsWith("http:") || allowsHttp
      ? [{ name: "allowsHttp", label: "alerts.allow_http" } satisfies FieldRow<Draft>]
      : [],
  ];
}

const LAST_ROWS: readonly FieldRow<Draft>[] = [
  {
    name: "language",
    label: "alerts.language",
    choices: ["en", "de"],
    choiceLabel: (language) => LANGUAGE_NAMES[language],
  },
  {
    name: "minSeverity",
    label: "alerts.min_severity",
    choices: ALERT_SEVERITIES,
    choiceLabel: (severity) => t(`alerts.min_${severity}`),
  },
];

const addressesOf = ({ addresses }: Draft): string[] =>
  addresses.split(/[\s,;]+/).filter((one) => one !== "");

function addressProblem(draft: Draft): string | null {
  const isTooMany = draft.kind === "mail" && addressesOf(draft).length > MAX_ADDRESSES;
  return isTooMany ? t("alerts.addresses_many", { count: MAX_ADDRESSES }) : null;
}

/** A URL that stays empty is not sent, so that the stored one stays. */
function bodyOf(draft: Draft, kinds: readonly AlertKind[]) {
  const { kind, language, allowsHttp, minSeverity } = draft;
  const url = draft.url.trim();
  const common = { language, minSeverity, kinds: [...kinds] };
  if (kind === "mail") return { ...common, addresses: addressesOf(draft) };
  return { ...common, allowsHttp, ...url === "" ? {} : { url } };
}
