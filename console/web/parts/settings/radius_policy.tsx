// How logins are decided: RADIUS, the factors, and the services that are asked, as the settings file has it.

import type { SettingsPart } from "../../pages/settings_page.tsx";
import { t } from "../../i18n/translate.ts";
import { SettingTable } from "./setting_table.tsx";

const TABLES = ["radius.", "factors.", "second_factor.", "telephony."] as const;

export function RadiusPolicy({ models, answer }: SettingsPart) {
  return (
    <>
      <p>
        {t("settings.per_client")} <a href="/clients">{t("frame.clients")}</a>
      </p>
      <SettingTable models={models} answer={answer} label={t("settings.radius")} tables={TABLES} />
    </>
  );
}
