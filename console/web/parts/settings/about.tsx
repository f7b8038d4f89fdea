// What is running here, since when, out of what, and where it is explained.

import type { LicenceRow } from "../../../api/settings/setting_types.ts";
import { durationText } from "../../format.ts";
import type { SettingsPart } from "../../pages/settings_page.tsx";
import { t } from "../../i18n/translate.ts";
import { type Column, DataTable } from "../data_table.tsx";
import { FixedField } from "../inputs.tsx";
import { Time } from "../time.tsx";
import { SettingTable } from "./setting_table.tsx";

export function About({ models, answer }: SettingsPart) {
  const { about: { version, runtime, startedMs, licences }, file } = answer;
  return (
    <>
      <section class="panel people-panel" aria-label={t("settings.about")}>
        <h2>Countersign</h2>
        <div class="people-fields">
          <FixedField label={t("settings.version")}>
            <span class="mono">{version}</span>
          </FixedField>
          <FixedField label={t("settings.runtime")}>
            <span class="mono">{`Deno ${runtime}`}</span>
          </FixedField>
          <FixedField label={t("settings.started")}>
            <Time models={models} atMs={startedMs} absolute />
          </FixedField>
          <FixedField label={t("settings.up")}>
            <span class="mono">{durationText(models.clock.nowMs.value - startedMs)}</span>
          </FixedField>
          <FixedField label={t("settings.file")}>
            <bdi class="mono wrap">{file ?? t("settings.file_none")}</bdi>
          </FixedField>
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
          columns={columns()}
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

function columns(): Column<LicenceRow>[] {
  return [
    { label: t("settings.part"), cell: ({ name }) => <span class="mono">{name}</span> },
    {
      label: t("settings.licence"),
      cell: ({ licence }) => <span class="mono">{licence}</span>,
    },
  ];
}
