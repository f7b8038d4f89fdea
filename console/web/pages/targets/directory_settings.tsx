// The settings of a directory besides its connectors and its mapping, and where they come from.

import { useSignal } from "@preact/signals";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { ReadOnlyField, TextAreaField, TextField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { faultText, sentenceText } from "../settings/setting_problems.ts";
import { type Directory, type OnDirectorySaved, saveDirectory } from "./directory_calls.ts";
import { DIRECTORY_ROWS, type DirectoryTable, extensionNames } from "./directory_form.ts";

interface SettingsProps {
  readonly models: Models;
  readonly directory: Directory;
  /** Why they cannot be changed. */
  readonly reason: string | undefined;
  readonly onSaved: OnDirectorySaved;
}

export function DirectorySettings({ models, directory, reason, onSaved }: SettingsProps) {
  const isOpen = useSignal(false);
  const { table, changed } = directory;
  return (
    <Panel title={t("shell.settings")}>
      <div class="people-fields">
        {DIRECTORY_ROWS.map(({ name, preset }) => (
          <ReadOnlyField key={name} label={t(`targets.field_${name}`)} hint={t(`targets.hint_${name}`)}>
            {String(table[name] ?? preset)}
          </ReadOnlyField>
        ))}
        <ReadOnlyField label={t("targets.field_extensions")} hint={t("targets.hint_extensions")}>
          {extensionNames(table).join(", ") || t("targets.no_extensions")}
        </ReadOnlyField>
      </div>
      {changed !== null && (
        <p class="quiet">
          {t("common.changed_by_name", { name: changed.by })} <Time models={models} atMs={changed.atMs} />
        </p>
      )}
      <Button reason={reason} onClick={() => isOpen.value = true}>{t("targets.edit_settings")}</Button>
      {isOpen.value && (
        <SettingsDialog
          {...{ models, directory, onSaved }}
          onClose={() => isOpen.value = false}
        />
      )}
    </Panel>
  );
}

interface DialogProps extends Omit<SettingsProps, "reason"> {
  readonly onClose: () => void;
}

function SettingsDialog({ models, directory, onSaved, onClose }: DialogProps) {
  const texts = {
    page_size: useSignal(textOf(directory.table.page_size)),
    max_drop_percent: useSignal(textOf(directory.table.max_drop_percent)),
  };
  const extensions = useSignal(directory.table.extensions ?? "");
  const problems = useSignal<Readonly<Record<string, string>>>({});
  const save = async () => {
    const { page_size: _size, max_drop_percent: _drop, extensions: _schemas, ...rest } = directory.table;
    const table: Record<string, unknown> = rest;
    const schemas = extensions.value.trim();
    if (schemas !== "") table.extensions = schemas;
    const bad: Record<string, string> = {};
    for (const { name, min, max } of DIRECTORY_ROWS) {
      const text = texts[name].value.trim();
      if (text === "") continue;
      if (/^\d{1,4}$/.test(text) && Number(text) >= min && Number(text) <= max) table[name] = Number(text);
      else bad[name] = t("common.not_in_range", { min, max });
    }
    problems.value = bad;
    if (Object.keys(bad).length > 0) return "stay" as const;
    const saved = await saveDirectory(models, directory, table as DirectoryTable);
    if (saved.kind === "faults") {
      const ofExtensions = saved.faults.filter(({ key }) => key.endsWith(".extensions"));
      const others = saved.faults.filter((fault) => !ofExtensions.includes(fault));
      const texts = { page_size: others, extensions: ofExtensions };
      problems.value = Object.fromEntries(
        Object.entries(texts).map(([name, faults]) => [name, faults.map(sentenceText).join(" ")]),
      );
      return "stay" as const;
    }
    return await onSaved(t("targets.settings_saved"), saved);
  };
  return (
    <FormDialog
      title={t("targets.edit_settings")}
      submitLabel={t("targets.save_settings")}
      failureTitle={t("targets.not_saved")}
      onSubmit={save}
      onClose={onClose}
    >
      {DIRECTORY_ROWS.map(({ name, preset }) => (
        <TextField
          key={name}
          id={`directory-${name}`}
          label={t(`targets.field_${name}`)}
          hint={t(`targets.hint_${name}`)}
          problem={problems.value[name] ?? null}
          text={texts[name]}
          input={{
            inputMode: "numeric",
            maxLength: 4,
            placeholder: t("common.default_value", { value: preset }),
          }}
        />
      ))}
      <TextAreaField
        id="directory-extensions"
        label={t("targets.field_extensions")}
        hint={t("targets.hint_extensions")}
        problem={problems.value.extensions ?? null}
        input={{
          rows: 6,
          spellcheck: false,
          autocomplete: "off",
          maxLength: 24_000,
          value: extensions.value,
          onInput: (event) => extensions.value = event.currentTarget.value,
        }}
      />
    </FormDialog>
  );
}

const textOf = (value: number | undefined) => value === undefined ? "" : String(value);

/** Why a directory cannot be changed here, or that its stored settings are not used. */
export function DirectoryNotes({ directory }: { directory: Directory }) {
  return (
    <>
      {directory.locked === "file" && (
        <Alert tone="idle">
          {t("common.set_in")} <bdi class="mono wrap">{directory.file ?? t("targets.the_file")}</bdi>
        </Alert>
      )}
      {directory.cause !== null && (
        <Alert tone="bad" role="alert">
          {t("targets.not_used")} {faultText(directory.cause)}
        </Alert>
      )}
    </>
  );
}
