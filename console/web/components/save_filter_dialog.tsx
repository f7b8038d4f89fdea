// The dialog that saves the filters of a list under a name.

import { useSignal } from "@preact/signals";
import { t } from "../i18n/translate.ts";
import { FormDialog } from "./form_dialog.tsx";
import { type FieldRow, FormFields } from "./form_fields.tsx";

const NAME_ROWS: readonly FieldRow<{ name: string }>[] = [{
  name: "name",
  label: "common.filter_name",
  hint: "common.filter_name_hint",
  input: { required: true, maxLength: 64, autofocus: true },
}];

interface SaveFilterProps {
  readonly name: string;
  readonly onSave: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

export function SaveFilterDialog({ name, onSave, onClose }: SaveFilterProps) {
  const draft = useSignal({ name });
  return (
    <FormDialog
      title={t("common.filter_save")}
      submitLabel={t("common.save")}
      onSubmit={() => onSave(draft.value.name.trim())}
      onClose={onClose}
    >
      <FormFields prefix="saved-filter" draft={draft} rows={NAME_ROWS} />
    </FormDialog>
  );
}
