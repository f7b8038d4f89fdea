// Old and new values before a change is saved. After a conflict: who changed the object, when, and what is saved on top.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { LastChange } from "../../api/errors.ts";
import { ApiFailure, lastChangeText } from "../api_client.ts";
import { t } from "../i18n/translate.ts";
import { type DiffRow, DiffTable } from "./diff_table.tsx";
import { FormDialog } from "./form_dialog.tsx";
import { Note } from "./note.tsx";

/** A conflict: another change of the object was saved while this form was open. */
interface Conflict {
  /** The labels of the fields that the other change set. */
  readonly fields: readonly string[];
  /** `null`: unknown. */
  readonly lastChange: LastChange | null;
}

interface ReviewProps {
  /** Whose words it speaks. */
  readonly area: "people" | "connect";
  /** Of what is changed. */
  readonly name: string;
  readonly rows: readonly DiffRow[];
  /** Why it cannot be saved. */
  readonly reason?: string | undefined;
  readonly onSave: () => Promise<void>;
  /** Reads the object again and puts the typed changes on top. Resolves to the conflict; `lastChange` only to correct the server's. */
  readonly onRebase: () => Promise<Pick<Conflict, "fields"> & Partial<Conflict>>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function ReviewDialog(props: ReviewProps) {
  const { area, name, rows, reason, onSave, onRebase, onClose, children } = props;
  const conflict = useSignal<Conflict | null>(null);
  const isRaced = conflict.value !== null;
  const save = async () => {
    try {
      await onSave();
    } catch (fault) {
      if (!isStale(fault)) throw fault;
      conflict.value = { lastChange: fault.lastChange, ...await onRebase() };
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
      {conflict.value !== null && (
        <ConflictNote lastChange={conflict.value.lastChange} unknown={t(`${area}.raced`)}>
          {conflict.value.fields.length > 0 &&
            t(`${area}.raced_fields`, { fields: conflict.value.fields.join(", ") })} {t(`${area}.raced_next`)}
        </ConflictNote>
      )}
      {rows.length === 0
        ? <p>{t(`${area}.nothing_changed`)}</p>
        : <DiffTable label={t(`${area}.changes_of`, { name })} rows={rows} />}
      {children}
    </FormDialog>
  );
}

interface ConflictNoteProps {
  readonly lastChange: LastChange | null;
  /** The sentence where the audit log no longer has the change. */
  readonly unknown: string;
  /** What happens to both changes. */
  readonly children: ComponentChildren;
}

export function ConflictNote({ lastChange, unknown, children }: ConflictNoteProps) {
  return (
    <Note tone="wait" role="alert">
      <strong>{lastChange === null ? unknown : lastChangeText(lastChange)}</strong> {children}
    </Note>
  );
}

/** Whether the object was changed since it was read. */
export function isStale(fault: unknown): fault is ApiFailure {
  return fault instanceof ApiFailure && fault.code === "changed_meanwhile";
}
