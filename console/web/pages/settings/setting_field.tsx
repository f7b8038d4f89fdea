// One setting of the form: its label, help and control, where its value comes from, and why it cannot be saved.

import { Icon } from "../../components/icons.tsx";
import { Button } from "../../components/button.tsx";
import { Time } from "../../components/time.tsx";
import type { Models } from "../../app/app_context.ts";
import { t } from "../../i18n/translate.ts";
import { SettingInput } from "./setting_controls.tsx";
import {
  defaultText,
  isEdited,
  isStored,
  savedDraft,
  settingHelp,
  settingValueText,
  shownDraft,
} from "./setting_form.ts";
import { settingName } from "./setting_labels.ts";
import { faultText, sentenceText } from "./setting_problems.ts";
import type { SettingsModel } from "./settings_model.ts";
import type { Setting } from "./setting_types.ts";

export interface SettingFieldProps {
  readonly models: Models;
  readonly model: SettingsModel;
  readonly setting: Setting;
  /** The settings file; `null`: there is none. */
  readonly file: string | null;
  /** The administrator lacks the role to change settings. */
  readonly isReadOnly: boolean;
}

export function SettingField(props: SettingFieldProps) {
  const { models, model, setting, file, isReadOnly } = props;
  const { key } = setting;
  const draft = model.draft.value;
  const isChanged = isEdited(setting, draft);
  const { cause } = setting;
  const problem = model.problems.value.get(key) ??
    (cause && (cause.key === key ? sentenceText : faultText)(cause));
  const warning = model.warningOf(key);
  const isFixed = setting.locked !== null || isReadOnly;
  const ids = { help: `${key}-help`, problem: `${key}-problem` };
  return (
    <div class="setting" id={key} data-edited={isChanged ? "" : undefined}>
      <div class="setting-about">
        {isFixed || setting.control.kind === "choices"
          ? <strong id={`${key}-input-label`}>{settingName(setting)}</strong>
          : <label id={`${key}-input-label`} for={`${key}-input`}>{settingName(setting)}</label>}
        <span class="hint" id={ids.help}>{settingHelp(setting)}</span>
      </div>
      <div class="setting-value">
        {isFixed ? <FixedValue setting={setting} /> : (
          <SettingInput
            key={model.resets.value}
            setting={setting}
            id={`${key}-input`}
            value={shownDraft(setting, draft)}
            isEdited={isChanged}
            isInvalid={problem !== null}
            describedBy={problem === null ? ids.help : `${ids.problem} ${ids.help}`}
            names={model.namesFor(setting)}
            onChange={(value) => model.edit(setting, value)}
          />
        )}
        {problem !== null && (
          <span class="problem" id={ids.problem}>
            <Icon name="line-alert" size={14} />
            {problem}
          </span>
        )}
        {warning !== null && !isChanged && (
          <span class="setting-warning">
            <Icon name="line-alert" size={14} />
            {sentenceText(warning)}
          </span>
        )}
        <Source {...{ models, model, setting, file, isChanged, isFixed }} />
      </div>
    </div>
  );
}

/** A value that cannot be changed here is text, not a disabled control. */
function FixedValue({ setting }: { setting: Setting }) {
  if (setting.isSecret) {
    return <span>{t(setting.isSet ? "common.is_set" : "settings.secret_unset")}</span>;
  }
  const text = settingValueText(setting, setting.value);
  const isVerbatim = ["text", "list", "attributes"].includes(setting.control.kind);
  return text === null
    ? <span class="quiet">{t("common.none")}</span>
    : <bdi class={isVerbatim ? "mono wrap" : "wrap"}>{text}</bdi>;
}

interface SourceProps extends Omit<SettingFieldProps, "isReadOnly"> {
  readonly isChanged: boolean;
  readonly isFixed: boolean;
}

/** Where the value comes from, and the way back to the saved value or the default. */
function Source({ models, model, setting, file, isChanged, isFixed }: SourceProps) {
  const label = settingName(setting);
  const preset = setting.isSecret ? null : defaultText(setting);
  if (isChanged) {
    const isReset = model.draft.value.get(setting.key) === null;
    return (
      <span class="setting-source">
        <span class="chip tone-wait">{t(isReset ? "settings.unsaved_reset" : "settings.unsaved")}</span>
        <Button small kind="plain" of={label} onClick={() => model.edit(setting, savedDraft(setting))}>
          {t("settings.revert")}
        </Button>
      </span>
    );
  }
  return (
    <span class="setting-source quiet">
      {setting.locked === "restart" && <span>{t("settings.locked_restart")}</span>}
      {setting.source === "file" && (
        <span>
          {t("common.set_in")} <bdi class="mono wrap">{file ?? t("settings.file")}</bdi>
        </span>
      )}
      {isStored(setting) && (
        <>
          <span>
            {setting.cause !== null && t("settings.not_used")}
            {t("common.changed_by_name", { name: setting.changed?.by ?? "" })}{" "}
            <Time models={models} atMs={setting.changed?.atMs ?? 0} />
          </span>
          {preset !== null && <span>{preset}</span>}
          {!isFixed && (
            <Button small kind="plain" of={label} onClick={() => model.edit(setting, null)}>
              {t("settings.reset")}
            </Button>
          )}
        </>
      )}
    </span>
  );
}
