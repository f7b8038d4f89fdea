// How the console looks in this browser, and in which language.

import type { Models } from "../models/models.ts";
import { DENSITIES, type Density, type Theme, THEMES } from "../preferences.ts";
import { language, switchLanguage, t } from "../words/translate.ts";
import { type Language, LANGUAGES } from "../words/words.ts";
import { Dialog } from "./dialog.tsx";
import { Checkbox, SelectField } from "./inputs.tsx";

/** A language is called as those who speak it call it. */
const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: "English", de: "Deutsch" };

export function LookDialog({ models }: { models: Models }) {
  const { preferences, overlay, toasts } = models;
  const changeLanguage = (next: string) => {
    switchLanguage(next as Language).catch(() => toasts.say(t("frame.page_unloaded"), { tone: "bad" }));
  };
  return (
    <Dialog title={t("frame.look")} light onClose={() => overlay.value = null}>
      <SelectField
        id="look-language"
        label={t("frame.language")}
        value={language.value.language}
        options={LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))}
        onChoose={changeLanguage}
      />
      <SelectField
        id="look-theme"
        label={t("frame.theme")}
        value={preferences.theme.value}
        options={THEMES.map((value) => ({ value, label: t(`frame.theme_${value}`) }))}
        onChoose={(value) => preferences.setTheme(value as Theme)}
      />
      <SelectField
        id="look-density"
        label={t("frame.density")}
        value={preferences.density.value}
        options={DENSITIES.map((value) => ({ value, label: t(`frame.density_${value}`) }))}
        onChoose={(value) => preferences.setDensity(value as Density)}
      />
      <Checkbox
        label={t("frame.single_keys")}
        hint={t("frame.single_keys_hint")}
        checked={preferences.singleKeys.value}
        onChange={preferences.setSingleKeys}
      />
    </Dialog>
  );
}
