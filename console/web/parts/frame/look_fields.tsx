// How the console looks in this browser, and in which language: in a dialog, and as a part of the settings.

import type { Models } from "../../models/models.ts";
import { DENSITIES, type Density, type Theme, THEMES } from "../../preferences.ts";
import { language, switchLanguage, t } from "../../i18n/translate.ts";
import { type Language, LANGUAGE_NAMES, LANGUAGES } from "../../i18n/catalogue.ts";
import { Checkbox, SelectField } from "../inputs.tsx";

/** @param props.id tells the fields of the dialog from those of a page under it. */
export function LookFields({ models, id }: { models: Models; id: string }) {
  const { preferences, toasts } = models;
  const changeLanguage = (next: string) => {
    switchLanguage(next as Language).catch(() => toasts.say(t("frame.page_unloaded"), { tone: "bad" }));
  };
  return (
    <>
      <SelectField
        id={`${id}-language`}
        label={t("frame.language")}
        value={language.value}
        options={LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))}
        onChoose={changeLanguage}
      />
      <SelectField
        id={`${id}-theme`}
        label={t("frame.theme")}
        value={preferences.theme.value}
        options={THEMES.map((value) => ({ value, label: t(`frame.theme_${value}`) }))}
        onChoose={(value) => preferences.setTheme(value as Theme)}
      />
      <SelectField
        id={`${id}-density`}
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
    </>
  );
}
