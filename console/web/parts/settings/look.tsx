// How the console looks in this browser.

import type { SettingsPart } from "../../pages/settings_page.tsx";
import { t } from "../../i18n/translate.ts";
import { LookFields } from "../frame/look_fields.tsx";

export function Look({ models }: SettingsPart) {
  return (
    <section class="panel people-panel" aria-label={t("settings.look")}>
      <h2>{t("settings.look")}</h2>
      <p class="quiet">{t("settings.look_why")}</p>
      <div class="people-fields">
        <LookFields models={models} id="settings" />
      </div>
    </section>
  );
}
