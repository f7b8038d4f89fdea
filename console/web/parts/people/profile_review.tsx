// Old and new before a profile is saved, and which backends get it.

import { type Signal, useSignal } from "@preact/signals";
import type { UserRecord, UserView } from "../../../api/users/user_types.ts";
import { ApiFailure } from "../../api_client.ts";
import { attributesOf, diffRows, mergeForms } from "../../models/user_changes.ts";
import { attributeName, changedFields, formOf, type UserForm } from "../../models/user_form.ts";
import { backendsOf } from "../../models/user_calls.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { ReviewDialog } from "../review_dialog.tsx";
import { BackendChoice, noBackend } from "./backend_choice.tsx";
import { fieldLabel } from "./user_fields.tsx";

interface ReviewProps extends UserPart {
  /** The profile as it was when the form was opened. */
  readonly began: Signal<UserRecord>;
  readonly form: Signal<UserForm>;
  readonly onClose: () => void;
}

export function UserReview({ models, user, calls, page, began, form, onClose }: ReviewProps) {
  const chosen = useSignal<readonly string[] | null>(null);
  const { attributes, active, version, modifiedMs } = began.value;
  const base = formOf(attributes);
  const mine = form.value;
  const changed = changedFields(base, mine);
  const begin = (record: UserRecord, next: UserForm) => {
    began.value = record;
    form.value = next;
  };
  return (
    <ReviewDialog
      area="people"
      name={user.name}
      rows={diffRows({ now: base, after: mine }, fieldLabel)
        .map((row, at) => ({ ...row, ...keptNote(user, changed[at]) }))}
      reason={noBackend(chosen)}
      onSave={async () => {
        const { user: saved, receipt } = await calls.replace({
          user: { ...attributesOf(mine, attributes), userName: user.name, active },
          version,
          ...backendsOf(chosen.value),
        });
        page.said(t("people.saved", { name: user.name }), receipt);
        if (saved === null) return;
        page.put(saved);
        if (saved.record !== null) begin(saved.record, formOf(saved.record.attributes));
      }}
      onRebase={async () => {
        const current = await models.session.whileSignedIn(calls.read);
        if (current.record === null) throw new ApiFailure("unknown_object", { message: t("people.gone") });
        const theirs = formOf(current.record.attributes);
        page.put(current);
        begin(current.record, mergeForms({ base, mine, theirs }));
        // Memberships give a user another version, too. They are recorded with the group.
        if (current.record.modifiedMs === modifiedMs) {
          return { fields: [t("frame.groups")], lastChange: null };
        }
        return { fields: changedFields(base, theirs).map(fieldLabel) };
      }}
      onClose={onClose}
    >
      <BackendChoice backends={user.backends} chosen={chosen} />
    </ReviewDialog>
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
