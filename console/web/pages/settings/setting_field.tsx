// One setting of the form: its label, help and control, where its value comes from, and why it cannot be saved.

import { Icon } from "../../components/icons.tsx";
import { Button } from "../../components/button.tsx";
import { Time } from "../../components/time.tsx";
import type { Models } from "../../app/app_context.ts";
import { t } from "../../i18n/translate.ts";
import {
  defaultText,
  draftText,
  type DraftValue,
  isEdited,
  isStored,
  savedDraft,
  type Setting,
  settingHelp,
  settingValueText,
  shownDraft,
  unitText,
} from "./setting_form.ts";
import { faultText, optionLabel, sentenceText, settingName } from "./setting_problems.ts";
import type { SettingsModel } from "./settings_model.ts";
import { useSignal } from "@preact/signals";

interface SettingFieldProps {
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

interface ControlProps {
  readonly setting: Setting;
  readonly id: string;
  /** What the control shows. */
  readonly value: DraftValue;
  readonly isEdited: boolean;
  /** The ids of the help text and of the problem. */
  readonly describedBy: string;
  readonly isInvalid: boolean;
  readonly onChange: (value: DraftValue) => void;
  /** What the setting can name; `null` if it names nothing. */
  readonly names: readonly string[] | null;
}

function SettingInput(props: ControlProps) {
  const { kind } = props.setting.control;
  if (props.setting.isSecret) return <SecretControl {...props} />;
  if (kind === "switch") return <SwitchControl {...props} />;
  if (kind === "choice" || props.names !== null) return <ChoiceControl {...props} />;
  if (kind === "choices") return <ChoicesControl {...props} />;
  if (kind === "list" || kind === "attributes" || kind === "block") return <LinesControl {...props} />;
  return <TextControl {...props} />;
}

function SwitchControl({ id, value, describedBy, onChange }: ControlProps) {
  return (
    <span class="check">
      <input
        type="checkbox"
        role="switch"
        id={id}
        checked={value === true}
        aria-describedby={describedBy}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span aria-hidden="true">{t(value === true ? "settings.on" : "common.off")}</span>
    </span>
  );
}

function ChoiceControl({ setting, id, value, names, describedBy, isInvalid, onChange }: ControlProps) {
  const chosen = draftText(value);
  const options = names === null
    ? (setting.control.choices ?? []).map((choice) => [choice, optionLabel(setting, choice)])
    : nameOptions(setting, { names, chosen });
  return (
    <select
      class="input"
      id={id}
      value={chosen}
      aria-describedby={describedBy}
      aria-invalid={isInvalid ? "true" : undefined}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {options.map(([choice = "", option = ""]) => (
        <option key={choice} value={choice}>
          {choice === setting.preset && choice !== "" ? t("settings.option_default", { option }) : option}
        </option>
      ))}
    </select>
  );
}

/** A chosen name that is gone stays visible. */
function nameOptions(
  { preset }: Setting,
  { names, chosen }: { names: readonly string[]; chosen: string },
): string[][] {
  const options = names.map((name) => [name, name]);
  if (chosen !== "" && !names.includes(chosen)) {
    options.unshift([chosen, t("common.name_gone", { name: chosen })]);
  }
  if (preset === "") options.unshift(["", t("common.none")]);
  return options;
}

function ChoicesControl({ setting, id, value, describedBy, onChange }: ControlProps) {
  const chosen = Array.isArray(value) ? value as readonly string[] : [];
  const { choices = [] } = setting.control;
  const put = (choice: string, isOn: boolean) =>
    onChange(choices.filter((one) => one === choice ? isOn : chosen.includes(one)));
  return (
    <div class="setting-choices" role="group" aria-labelledby={`${id}-label`} aria-describedby={describedBy}>
      {choices.map((choice) => (
        <label class="check" key={choice}>
          <input
            type="checkbox"
            checked={chosen.includes(choice)}
            onChange={(event) => put(choice, event.currentTarget.checked)}
          />
          <span>{optionLabel(setting, choice)}</span>
        </label>
      ))}
    </div>
  );
}

const MAX_LINES = 8;

function LinesControl({ setting, id, value, describedBy, isInvalid, onChange }: ControlProps) {
  const text = draftText(value);
  return (
    <textarea
      class="input text-area mono"
      id={id}
      rows={Math.min(MAX_LINES, Math.max(2, text.split("\n").length))}
      spellcheck={false}
      autocomplete="off"
      value={text}
      placeholder={defaultText(setting) ?? undefined}
      aria-describedby={describedBy}
      aria-invalid={isInvalid ? "true" : undefined}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function TextControl({ setting, id, value, describedBy, isInvalid, onChange }: ControlProps) {
  const { kind, unit, max } = setting.control;
  const isNumber = kind === "number";
  const length = isNumber ? 15 : max ?? 1024;
  return (
    <span class={isNumber ? "setting-number" : undefined}>
      <input
        class="input"
        id={id}
        inputMode={isNumber ? "numeric" : undefined}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        maxLength={length}
        value={draftText(value)}
        placeholder={defaultText(setting) ?? undefined}
        aria-describedby={unit === undefined ? describedBy : `${id}-unit ${describedBy}`}
        aria-invalid={isInvalid ? "true" : undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {unit !== undefined && <span id={`${id}-unit`}>{unitText(unit)}</span>}
    </span>
  );
}

/** A secret is written, never read: "Set" with a button to replace it. */
function SecretControl({ setting, id, value, isEdited, describedBy, isInvalid, onChange }: ControlProps) {
  const isOpen = useSignal(isEdited && value !== null);
  const name = settingName(setting);
  if (!isOpen.value && !isEdited) {
    return (
      <span class="setting-secret">
        <span>{t(setting.isSet ? "common.is_set" : "settings.secret_unset")}</span>
        <Button small of={name} onClick={() => isOpen.value = true}>
          {t(setting.isSet ? "settings.secret_replace" : "settings.secret_enter")}
        </Button>
      </span>
    );
  }
  return (
    <span class="setting-secret">
      <input
        class="input mono"
        id={id}
        type="password"
        autocomplete="new-password"
        maxLength={1024}
        autofocus
        value={draftText(value)}
        placeholder={t("settings.secret_new")}
        aria-describedby={describedBy}
        aria-invalid={isInvalid ? "true" : undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <Button
        small
        of={name}
        onClick={() => {
          isOpen.value = false;
          onChange("");
        }}
      >
        {t("common.cancel")}
      </Button>
    </span>
  );
}
