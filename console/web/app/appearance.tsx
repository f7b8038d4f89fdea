// Language, theme and density of this browser: as fields of the Settings page, and as a dialog.

import type { Models } from "./app_context.ts";
import { DENSITIES, type Density, type Theme, THEMES } from "./preferences.ts";
import { language, switchLanguage, t } from "../i18n/translate.ts";
import { type Language, LANGUAGE_NAMES, LANGUAGES } from "../i18n/catalogue.ts";
import { Checkbox, SelectField } from "../components/field.tsx";
import { Dialog } from "../components/dialog.tsx";

/** @param props.id the prefix of the element ids: the dialog can be open over the Settings page. */
export function AppearanceFields({ models, id }: { models: Models; id: string }) {
  const { preferences, toasts } = models;
  const changeLanguage = (next: string) => {
    switchLanguage(next as Language).catch(() => toasts.show(t("shell.page_unloaded"), { tone: "bad" }));
  };
  return (
    <>
      <SelectField
        id={`${id}-language`}
        label={t("common.language")}
        value={language.value}
        options={LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value] }))}
        onChoose={changeLanguage}
      />
      <SelectField
        id={`${id}-theme`}
        label={t("common.theme")}
        value={preferences.theme.value}
        options={THEMES.map((value) => ({ value, label: t(`shell.theme_${value}`) }))}
        onChoose={(value) => preferences.setTheme(value as Theme)}
      />
      <SelectField
        id={`${id}-density`}
        label={t("shell.density")}
        value={preferences.density.value}
        options={DENSITIES.map((value) => ({ value, label: t(`shell.density_${value}`) }))}
        onChoose={(value) => preferences.setDensity(value as Density)}
      />
      <Checkbox
        label={t("shell.keys")}
        hint={t("shell.single_keys_hint")}
        checked={preferences.singleKeys.value}
        onChange={preferences.setSingleKeys}
      />
    </>
  );
}

export function AppearanceDialog({ models }: { models: Models }) {
  return (
    <Dialog title={t("shell.look")} lightDismiss onClose={() => models.overlay.value = null}>
      <AppearanceFields models={models} id="look" />
    </Dialog>
  );
}
