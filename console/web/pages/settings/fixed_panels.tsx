// The parts of the Settings page that are no settings of the server: appearance, retention, sign-in rules, and the program.

import type {
  LicenceRow,
  ProviderStatus,
  RetentionRow,
  SettingsAnswer,
} from "../../../api/settings/setting_routes.ts";
import type { PageProps } from "../../app/app_context.ts";
import { AppearanceFields } from "../../app/appearance.tsx";
import { durationText } from "../../app/format.ts";
import { Alert } from "../../components/alert.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { ReadOnlyField } from "../../components/field.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";

interface SettingsPart extends Pick<PageProps, "models"> {
  readonly answer: SettingsAnswer;
}

export function Appearance({ models }: Pick<SettingsPart, "models">) {
  return (
    <Panel title={t("shell.look")}>
      <p class="quiet">{t("settings.look_why")}</p>
      <div class="people-fields">
        <AppearanceFields models={models} id="settings" />
      </div>
    </Panel>
  );
}

/** The values of common mail services; docs/mail.md has the steps at the provider. */
const MAIL_PROVIDERS = ["microsoft", "google", "relay"] as const;

export function MailProviders() {
  return (
    <Panel title={t("settings.mail_providers")}>
      {MAIL_PROVIDERS.map((name) => (
        <ReadOnlyField key={name} label={t(`settings.mail_${name}`)}>
          {t(`settings.mail_${name}_how`)}
        </ReadOnlyField>
      ))}
      <p class="quiet small">
        <a href="/mail">{t("settings.mail_open")}</a>
      </p>
    </Panel>
  );
}

const MIB = 1024 * 1024;

export function Retention({ answer: { kept } }: Pick<SettingsPart, "answer">) {
  return (
    <Panel title={t("settings.kept")}>
      <p class="quiet">{t("settings.kept_why")}</p>
      <DataTable
        label={t("settings.kept")}
        columns={retentionColumns()}
        rows={kept}
        keyOf={({ name }) => name}
      />
    </Panel>
  );
}

function retentionColumns(): TableColumn<RetentionRow>[] {
  return [
    {
      label: t("settings.kept_what"),
      width: "50%",
      cell: ({ name }) => <span class="wrap">{t(`settings.kept_${name}`)}</span>,
    },
    { label: t("settings.kept_most"), cell: amountText },
    {
      label: t("settings.kept_where"),
      priority: 2,
      cell: ({ where }) => t(`settings.in_${where}`),
    },
  ];
}

function amountText({ amount, unit }: RetentionRow): string {
  if (unit === "count") return t("settings.most", { count: amount });
  return unit === "octets"
    ? t("settings.mebibytes", { count: amount / MIB })
    : t(`settings.${unit}`, { count: amount });
}

export function About({ models, answer }: SettingsPart) {
  const { about: { version, runtime, startedMs, licences }, file } = answer;
  return (
    <>
      <Panel title="Countersign">
        <div class="people-fields">
          <ReadOnlyField label={t("common.version")}>
            <span class="mono">{version}</span>
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.runtime")}>
            <span class="mono">{`Deno ${runtime}`}</span>
          </ReadOnlyField>
          <ReadOnlyField label={t("common.started_at")}>
            <Time models={models} atMs={startedMs} absolute />
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.up")}>
            {durationText(models.clock.nowMs.value - startedMs)}
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.file")}>
            <bdi class="mono wrap">{file ?? t("settings.file_none")}</bdi>
          </ReadOnlyField>
        </div>
      </Panel>
      <Panel title={t("settings.docs")}>
        <p>{t("settings.docs_why")}</p>
        <a href="/openapi.json" data-reload="">{t("settings.open_api")}</a>
      </Panel>
      <Panel title={t("settings.licences")}>
        <DataTable
          label={t("settings.licences")}
          columns={licenceColumns()}
          rows={licences}
          keyOf={({ name }) => name}
        />
      </Panel>
    </>
  );
}

function licenceColumns(): TableColumn<LicenceRow>[] {
  return [
    { label: t("common.component"), cell: ({ name }) => <span class="mono">{name}</span> },
    {
      label: t("settings.licence"),
      cell: ({ licence }) => <span class="mono">{licence}</span>,
    },
  ];
}

/** The rules of the console's sign-in that are built in, and the state of the sign-in provider. */
export function SignInRules({ models, answer: { signIn } }: SettingsPart) {
  const isPossible = signIn.passkeys === "possible";
  return (
    <Panel title={t("settings.rules")}>
      <p class="quiet">{t("settings.rules_fixed")}</p>
      <div class="people-fields">
        <ReadOnlyField label={t("common.password")}>
          {t("settings.password_rule", { count: signIn.minPasswordCharacters })}
        </ReadOnlyField>
        <ReadOnlyField label={t("settings.failures")}>
          {t("settings.failures_rule", { count: signIn.failuresPerMinute })}
        </ReadOnlyField>
        <ReadOnlyField label={t("settings.wrong_codes")}>
          {t("settings.wrong_codes_rule", {
            count: signIn.wrongCodes,
            time: durationText(signIn.codeLockMs),
            most: signIn.hardWrongCodes,
          })}
        </ReadOnlyField>
        <ReadOnlyField label={t("settings.step_up")}>
          {t("settings.step_up_rule", { time: durationText(signIn.stepUpMs) })}
        </ReadOnlyField>
      </div>
      <Alert tone={isPossible ? "ok" : "wait"} icon={isPossible ? "check" : "alert"}>
        <strong>{t("common.passkeys")}:</strong>{" "}
        {t(`settings.passkeys_${signIn.passkeys}`, { url: signIn.publicUrl })}{" "}
        {!isPossible && t("settings.passkeys_next")}
      </Alert>
      {signIn.provider !== null && <Provider models={models} provider={signIn.provider} />}
    </Panel>
  );
}

const OK = { tone: "ok", shape: "check" } as const;
const OFF = { tone: "idle", shape: "ring" } as const;
const BAD = { tone: "bad", shape: "cross" } as const;

interface ProviderProps extends Pick<SettingsPart, "models"> {
  readonly provider: ProviderStatus;
}

function Provider({ models, provider: { name, issuer, asked } }: ProviderProps) {
  const words = asked === null
    ? { label: t("settings.provider_unasked"), ...OFF }
    : asked.ok
    ? { label: t("settings.provider_ok"), ...OK }
    : { label: t("settings.provider_bad"), ...BAD };
  return (
    <div class="people-head">
      <strong>{name}</strong>
      <bdi class="mono wrap">{issuer}</bdi>
      <StateText words={words} />
      {asked !== null && <Time models={models} atMs={asked.atMs} />}
    </div>
  );
}
