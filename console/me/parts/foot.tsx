// Language, colours, and the way to the phone page.

import { SelectField } from "../../web/parts/inputs.tsx";
import { type Theme, THEMES } from "../../web/preferences.ts";
import { language, switchLanguage, t } from "../../web/i18n/translate.ts";
import { type Language, LANGUAGE_NAMES, LANGUAGES } from "../../web/i18n/catalogue.ts";
import type { MeModels } from "../me_models.ts";

export function Foot({ models, showsPhonePage }: { models: MeModels; showsPhonePage: boolean }) {
  const { preferences, toasts } = models;
  return (
    <footer class="me-foot">
      {showsPhonePage && <a href="/device">{t("me.to_phone_page")}</a>}
      <div class="me-look">
        <SelectField
          id="me-language"
          label={t("me.language")}
          value={language.value}
          options={LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))}
          onChoose={(next) =>
            void switchLanguage(next as Language).catch(() =>
              toasts.say(t("frame.fail_offline"), { tone: "bad" })
            )}
        />
        <SelectField
          id="me-theme"
          label={t("me.theme")}
          value={preferences.theme.value}
          options={THEMES.map((value) => ({ value, label: t(`me.theme_${value}`) }))}
          onChoose={(next) => preferences.setTheme(next as Theme)}
        />
      </div>
    </footer>
  );
}
