// The Settings page: the values of the settings file and fixed limits, read only; and the appearance of this browser.

import type { LicenceRow, ProviderStatus, RetentionRow } from "../../../api/settings/setting_routes.ts";
import { take } from "../../app/api_client.ts";
import type { PageProps } from "../../app/app_context.ts";
import { AppearanceFields } from "../../app/appearance.tsx";
import { durationText } from "../../app/format.ts";
import { useResource } from "../../app/resource.ts";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { Alert, Fetched } from "../../components/alert.tsx";
import { ReadOnlyField } from "../../components/field.tsx";
import { currentTab, PageBar, type Tab, Tabs } from "../../components/page_layout.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { type SettingsPart, SettingTable } from "./setting_table.tsx";
import { StateText } from "../../components/status.tsx";

const PARTS = {
  "": SignInSettings,
  retention: Retention,
  radius: RadiusPolicy,
  look: Appearance,
  about: About,
} as const;

export default function SettingsPage({ models }: PageProps) {
  const page = useResource(models, { fetch: () => take(models.api.settings.$get()), inputs: [] });
  const tabs: readonly Tab[] = [
    { hash: "", label: t("settings.sign_in") },
    { hash: "retention", label: t("settings.retention") },
    { hash: "radius", label: t("settings.radius") },
    { hash: "look", label: t("settings.look") },
    { hash: "about", label: t("settings.about") },
  ];
  const current = currentTab(models, tabs) as keyof typeof PARTS;
  const Part = PARTS[current];
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.settings")} />
      <Tabs models={models} tabs={tabs} label={t("settings.parts")} />
      <Fetched resource={page} failed="settings.failed" old="settings.old" rows={5}>
        {(answer) => <Part key={current} models={models} answer={answer} />}
      </Fetched>
    </main>
  );
}

export function Appearance({ models }: SettingsPart) {
  return (
    <section class="panel people-panel" aria-label={t("settings.look")}>
      <h2>{t("settings.look")}</h2>
      <p class="quiet">{t("settings.look_why")}</p>
      <div class="people-fields">
        <AppearanceFields models={models} id="settings" />
      </div>
    </section>
  );
}

const TABLES = ["radius.", "factors.", "second_factor.", "telephony."] as const;

export function RadiusPolicy({ models, answer }: SettingsPart) {
  return (
    <>
      <p>
        {t("settings.per_client")} <a href="/clients">{t("shell.clients")}</a>
      </p>
      <SettingTable models={models} answer={answer} label={t("settings.radius")} tables={TABLES} />
    </>
  );
}

const MIB = 1024 * 1024;

export function Retention({ answer: { kept } }: SettingsPart) {
  return (
    <section class="panel people-panel" aria-label={t("settings.kept")}>
      <h2>{t("settings.kept")}</h2>
      <p class="quiet">{t("settings.kept_why")}</p>
      <DataTable
        label={t("settings.kept")}
        columns={retentionColumns()}
        rows={kept}
        keyOf={({ name }) => name}
      />
    </section>
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
      wideOnly: true,
      cell: ({ where }) => t(`settings.in_${where}`),
    },
  ];
}

function amountText({ amount, unit }: RetentionRow): string {
  if (unit === "count") return t("settings.most", { count: amount });
  return t(`settings.${unit}`, { count: unit === "octets" ? amount / MIB : amount });
}

export function About({ models, answer }: SettingsPart) {
  const { about: { version, runtime, startedMs, licences }, file } = answer;
  return (
    <>
      <section class="panel people-panel" aria-label={t("settings.about")}>
        <h2>Countersign</h2>
        <div class="people-fields">
          <ReadOnlyField label={t("settings.version")}>
            <span class="mono">{version}</span>
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.runtime")}>
            <span class="mono">{`Deno ${runtime}`}</span>
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.started")}>
            <Time models={models} atMs={startedMs} absolute />
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.up")}>
            <span class="mono">{durationText(models.clock.nowMs.value - startedMs)}</span>
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.file")}>
            <bdi class="mono wrap">{file ?? t("settings.file_none")}</bdi>
          </ReadOnlyField>
        </div>
      </section>
      <section class="panel people-panel" aria-label={t("settings.docs")}>
        <h2>{t("settings.docs")}</h2>
        <p>{t("settings.docs_why")}</p>
        <a href="/openapi.json" data-reload="">{t("settings.open_api")}</a>
      </section>
      <section class="panel people-panel" aria-label={t("settings.licences")}>
        <h2>{t("settings.licences")}</h2>
        <DataTable
          label={t("settings.licences")}
          columns={licenceColumns()}
          rows={licences}
          keyOf={({ name }) => name}
        />
      </section>
      <SettingTable
        models={models}
        answer={answer}
        label={t("settings.server")}
        tables={["server.", "store."]}
      />
    </>
  );
}

function licenceColumns(): TableColumn<LicenceRow>[] {
  return [
    { label: t("settings.part"), cell: ({ name }) => <span class="mono">{name}</span> },
    {
      label: t("settings.licence"),
      cell: ({ licence }) => <span class="mono">{licence}</span>,
    },
  ];
}

export function SignInSettings({ models, answer }: SettingsPart) {
  const { signIn } = answer;
  const isPossible = signIn.passkeys === "possible";
  return (
    <>
      <section class="panel people-panel" aria-label={t("settings.rules")}>
        <h2>{t("settings.rules")}</h2>
        <p class="quiet">{t("settings.rules_fixed")}</p>
        <div class="people-fields">
          <ReadOnlyField label={t("settings.password")}>
            {t("settings.password_rule", { count: signIn.minPasswordCharacters })}
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.failures")}>
            {t("settings.failures_rule", { count: signIn.failuresPerMinute })}
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.wrong_codes")}>
            {t("settings.wrong_codes_rule", {
              count: signIn.wrongCodes,
              time: durationText(signIn.codeLockMs),
            })}
          </ReadOnlyField>
          <ReadOnlyField label={t("settings.step_up")}>
            {t("settings.step_up_rule", { time: durationText(signIn.stepUpMs) })}
          </ReadOnlyField>
        </div>
      </section>
      <section class="panel people-panel" aria-label={t("settings.passkeys")}>
        <h2>{t("settings.passkeys")}</h2>
        <Alert tone={isPossible ? "ok" : "idle"} icon={isPossible ? "check" : "alert"}>
          {t(`settings.passkeys_${signIn.passkeys}`, { url: signIn.publicUrl })}
          {!isPossible && ` ${t("settings.passkeys_next")}`}
        </Alert>
      </section>
      <section class="panel people-panel" aria-label={t("settings.provider")}>
        <h2>{t("settings.provider")}</h2>
        {signIn.provider === null
          ? <p class="quiet">{t("settings.provider_none")}</p>
          : <Provider models={models} provider={signIn.provider} />}
      </section>
      <SettingTable
        models={models}
        answer={answer}
        label={t("settings.sign_in")}
        tables={["console.", "http."]}
      />
    </>
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
