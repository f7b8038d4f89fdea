// One row of a table, cell by cell, to be put right; a password that stands in the file is not shown.

import { useSignal } from "@preact/signals";
import type { ImportRow } from "../../../api/users/bulk_types.ts";
import type { ImportModel } from "../../models/import_model.ts";
import { t } from "../../i18n/translate.ts";
import { Dialog } from "../dialog.tsx";
import { Field } from "../field.tsx";
import { Note } from "../note.tsx";

export function RowDialog({ model, row, headers, onClose }: {
  model: ImportModel;
  row: ImportRow;
  headers: readonly string[];
  onClose: () => void;
}) {
  const cells = useSignal(headers.map((_header, at) => row.cells[at] ?? ""));
  const isHidden = (at: number) => row.cells[at] === null;
  const save = async (): Promise<void> => {
    const given = cells.value.map((cell, at) => isHidden(at) && cell === "" ? null : cell);
    if (await model.change(row, { cells: given })) onClose();
  };
  return (
    <Dialog
      title={t("groups.put_right_title", { line: row.line })}
      onClose={onClose}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>{t("frame.cancel")}</button>
          <button type="submit" form="import-row" class="button button-primary" disabled={model.busy.value}>
            {t("groups.check_row")}
          </button>
        </>
      }
    >
      <form
        id="import-row"
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {row.reason !== null && <Note tone="bad">{row.reason}</Note>}
        {headers.map((header, at) => (
          <Field
            key={at}
            id={`cell-${at}`}
            label={header}
            {...(isHidden(at) ? { hint: t("groups.password_kept") } : {})}
            input={{
              ...(isHidden(at) ? { type: "password" as const } : { type: "text" as const }),
              value: cells.value[at] ?? "",
              autocomplete: isHidden(at) ? "new-password" : "off",
              spellcheck: false,
              onInput: (event) => {
                const text = event.currentTarget.value;
                cells.value = cells.value.map((cell, one) => one === at ? text : cell);
              },
            }}
          />
        ))}
      </form>
    </Dialog>
  );
}
