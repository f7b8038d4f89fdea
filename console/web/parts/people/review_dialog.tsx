// Old and new before a profile is saved; when somebody else was faster, what they changed and what mine does on top.

import { useSignal } from "@preact/signals";
import type { UserRecord, UserView } from "../../../api/people/user_shapes.ts";
import { ApiFailure, failureText } from "../../api_client.ts";
import {
  attributeName,
  attributesOf,
  changedFields,
  diffRows,
  formOf,
  mergeForms,
  type UserForm,
} from "../../models/user_form.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { DiffTable } from "../diff_table.tsx";
import { Dialog } from "../dialog.tsx";
import { Note } from "../note.tsx";
import { ReceiptChips } from "../receipt_chips.tsx";
import { BackendChoice } from "./backend_choice.tsx";
import { fieldLabel } from "./user_fields.tsx";

interface ReviewProps extends UserPart {
  readonly began: UserRecord;
  readonly mine: UserForm;
  readonly onRebase: (theirs: UserRecord, merged: UserForm) => void;
  /** `null`: closed without saving. */
  readonly onSaved: (record: UserRecord | null) => void;
}

export function ReviewDialog(props: ReviewProps) {
  const { models, user, calls, page, began, mine, onRebase, onSaved } = props;
  const chosen = useSignal<readonly string[] | null>(null);
  const busy = useSignal(false);
  const fault = useSignal<unknown>(null);
  /** What somebody else made of it since the form was opened. */
  const theirs = useSignal<readonly string[] | null>(null);
  const isRaced = theirs.value !== null;
  const base = formOf(began.attributes);
  const changed = changedFields(base, mine);
  const rows = diffRows({ now: base, after: mine }, fieldLabel)
    .map((row, at) => ({ ...row, ...keptNote(user, changed[at]) }));

  const rebase = async () => {
    const current = await models.session.whileSignedIn(calls.read);
    if (current.record === null) throw new ApiFailure("unknown_object", { message: t("people.gone") });
    const other = formOf(current.record.attributes);
    theirs.value = changedFields(base, other).map(fieldLabel);
    page.put(current);
    onRebase(current.record, mergeForms({ base, mine, theirs: other }));
  };
  const save = async () => {
    busy.value = true;
    fault.value = null;
    try {
      const { user: saved, receipt } = await calls.replace({
        user: { ...attributesOf(mine, began.attributes), userName: user.name, active: began.active },
        version: began.version,
        ...(chosen.value === null ? {} : { backends: [...chosen.value] }),
      });
      page.said(t("people.saved", { name: user.name }), receipt);
      if (saved !== null) page.put(saved);
      onSaved(saved?.record ?? null);
    } catch (caught) {
      const raced = caught instanceof ApiFailure && caught.code === "changed_meanwhile";
      if (!raced) fault.value = caught;
      else await rebase().catch((other: unknown) => fault.value = other);
    }
    busy.value = false;
  };
  const receipt = fault.value instanceof ApiFailure ? fault.value.receipt : null;
  return (
    <Dialog
      title={isRaced
        ? t("people.raced_title", { name: user.name })
        : t("people.review_title", { name: user.name })}
      onClose={() => onSaved(null)}
      wide
      footer={
        <>
          <button type="button" class="button" onClick={() => onSaved(null)}>
            {t("people.keep_editing")}
          </button>
          <button
            type="button"
            class="button button-primary"
            disabled={busy.value || rows.length === 0 || chosen.value?.length === 0}
            onClick={() => void save()}
          >
            {busy.value ? t("frame.working") : isRaced ? t("people.save_over") : t("frame.save")}
          </button>
        </>
      }
    >
      {theirs.value !== null && (
        <Note tone="wait" role="alert">
          <strong>{t("people.raced")}</strong>{" "}
          {theirs.value.length > 0 && t("people.raced_fields", { fields: theirs.value.join(", ") })}{" "}
          {t("people.raced_next")}
        </Note>
      )}
      {fault.value !== null && (
        <Note tone="bad" role="alert">
          <strong>{t("people.not_saved")}</strong> {failureText(fault.value)}
          {receipt !== null && <ReceiptChips entries={receipt.entries} />}
        </Note>
      )}
      {rows.length === 0
        ? <p>{t("people.nothing_changed")}</p>
        : <DiffTable label={t("people.changes_of", { name: user.name })} rows={rows} />}
      <BackendChoice
        backends={user.backends}
        chosen={chosen.value}
        onChoose={(next) => chosen.value = next}
      />
    </Dialog>
  );
}

/** Which backends keep what they have instead. */
function keptNote({ backends }: UserView, field: keyof UserForm | undefined): { note?: string } {
  const keepers = field === undefined
    ? []
    : backends.filter(({ keeps }) => keeps?.includes(attributeName(field)) === true);
  if (keepers.length === 0) return {};
  return { note: t("people.kept_by", { backend: keepers.map(({ name }) => name).join(", ") }) };
}
