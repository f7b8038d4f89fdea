// Old and new before something is saved; when somebody else was faster, what they changed and what mine does on top.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ApiFailure } from "../api_client.ts";
import { t } from "../words/translate.ts";
import { type DiffRow, DiffTable } from "./diff_table.tsx";
import { FormDialog } from "./form_dialog.tsx";
import { Note } from "./note.tsx";

interface ReviewProps {
  /** Whose words it speaks. */
  readonly area: "people" | "connect";
  /** Of what is changed. */
  readonly name: string;
  readonly rows: readonly DiffRow[];
  /** Why it cannot be saved. */
  readonly reason?: string | undefined;
  readonly onSave: () => Promise<void>;
  /** Puts what I changed over what somebody else made of it; resolves to the names of what they changed. */
  readonly onRebase: () => Promise<readonly string[]>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function ReviewDialog(props: ReviewProps) {
  const { area, name, rows, reason, onSave, onRebase, onClose, children } = props;
  /** What somebody else changed since the form was opened. */
  const theirs = useSignal<readonly string[] | null>(null);
  const isRaced = theirs.value !== null;
  const save = async () => {
    try {
      await onSave();
    } catch (fault) {
      if (!isStale(fault)) throw fault;
      theirs.value = await onRebase();
      return "stay";
    }
  };
  return (
    <FormDialog
      title={t(isRaced ? `${area}.raced_title` : `${area}.review_title`, { name })}
      verb={t(isRaced ? `${area}.save_over` : "frame.save")}
      keep={t(`${area}.keep_editing`)}
      failed={t(`${area}.not_saved`)}
      reason={reason ?? (rows.length === 0 ? t(`${area}.nothing_changed`) : undefined)}
      onSubmit={save}
      onClose={onClose}
      wide
    >
      {theirs.value !== null && (
        <Note tone="wait" role="alert">
          <strong>{t(`${area}.raced`)}</strong>{" "}
          {theirs.value.length > 0 && t(`${area}.raced_fields`, { fields: theirs.value.join(", ") })}{" "}
          {t(`${area}.raced_next`)}
        </Note>
      )}
      {rows.length === 0
        ? <p>{t(`${area}.nothing_changed`)}</p>
        : <DiffTable label={t(`${area}.changes_of`, { name })} rows={rows} />}
      {children}
    </FormDialog>
  );
}

/** Whether somebody else changed the thing since it was read. */
export function isStale(fault: unknown): boolean {
  return fault instanceof ApiFailure && fault.code === "changed_meanwhile";
}
