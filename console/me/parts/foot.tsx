// Language, colours, and the way to the phone page.

import { SelectField } from "../../web/parts/inputs.tsx";
import { type Theme, THEMES } from "../../web/preferences.ts";
import { language, switchLanguage, t } from "../../web/words/translate.ts";
import { type Language, LANGUAGES } from "../../web/words/words.ts";
import type { MeModels } from "../me_models.ts";

/** A language is called as those who speak it call it. */
const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: "English", de: "Deutsch" };

export function Foot({ models, showsPhonePage }: { models: MeModels; showsPhonePage: boolean }) {
  const { preferences, toasts } = models;
  return (
    <footer class="me-foot">
      {showsPhonePage && <a href="/device">{t("me.to_phone_page")}</a>}
      <div class="me-look">
        <SelectField
          id="me-language"
          label={t("me.language")}
          value={language.value.language}
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
