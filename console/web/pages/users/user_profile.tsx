// The profile of a user: an editable form, a review of the differences, and the merge with concurrent changes.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { UserDetails, UserView } from "../../../api/users/user_types.ts";
import { ApiFailure } from "../../app/api_client.ts";
import { permissionHint } from "../../app/session_model.ts";
import { ReadOnlyField } from "../../components/field.tsx";
import { lazy } from "../../components/lazy.tsx";
import { ReviewDialog, ReviewedForm } from "../../components/review_dialog.tsx";
import { Time } from "../../components/time.tsx";
import { findMessage, t } from "../../i18n/translate.ts";
import {
  BackendChoice,
  firstChoice,
  noBackendReason,
  showReceiptToast,
} from "../../components/backend_results.tsx";
import { backendsOf } from "./user_calls.ts";
import { fieldLabel, UserFields } from "./user_fields.tsx";
import {
  attributeName,
  changedFields,
  diffRows,
  mergeForms,
  otherAttributes,
  toAttributes,
  toUserForm,
  type UserForm,
} from "./user_form.ts";
import type { UserPart } from "./user_page_model.ts";

const UserReplyAttributes = lazy(async () => (await import("./user_replies.tsx")).UserReplyAttributes);

export function UserProfile(part: UserPart) {
  const { record, login } = part.user;
  return record === null ? null : (
    <>
      <Profile {...part} record={record} />
      {login !== null && <UserReplyAttributes {...part} />}
    </>
  );
}

function Profile(part: UserPart & { record: UserDetails }) {
  const { models, record } = part;
  const reason = permissionHint(models, "user_manager");
  /** The record that the form started with. A newer record replaces it only while nothing is typed. */
  const began = useSignal(record);
  const form = useSignal<UserForm>(toUserForm(record.attributes));
  const reviewing = useSignal(false);
  const base = toUserForm(began.value.attributes);
  const changed = changedFields(base, form.value);
  useEffect(() => {
    // Effects run late: this also counts input since the last render.
    if (changedFields(toUserForm(began.peek().attributes), form.peek()).length > 0) return;
    began.value = record;
    form.value = toUserForm(record.attributes);
  }, [record.version]);
  const others = useMemo(() => otherAttributes(record.attributes), [record.version]);
  return (
    <section class="panel people-panel" aria-label={t("users.profile")}>
      <ReviewedForm
        router={models.router}
        id="user-profile"
        isSame={changed.length === 0}
        reason={reason}
        onReview={() => reviewing.value = true}
        onDiscard={() => form.value = base}
      >
        <ReadOnlyField label={t("common.user_name")} hint={t("users.name_fixed")}>
          <bdi class="mono">{part.user.name}</bdi>
        </ReadOnlyField>
        <UserFields prefix="profile" form={form} base={base} readOnly={part.user.readOnly} reason={reason} />
        {others.map(({ name, text }) => (
          <ReadOnlyField key={name} label={findMessage(`users.attribute_${name}`) ?? name}>
            <bdi class="mono">{text}</bdi>
          </ReadOnlyField>
        ))}
        <p class="quiet small">
          {t("users.created_at")} <Time models={models} atMs={record.createdMs} /> · {t("common.changed_at")}
          {" "}
          <Time models={models} atMs={record.modifiedMs} />
        </p>
      </ReviewedForm>
      {reviewing.value && (
        <UserReview
          {...part}
          began={began}
          form={form}
          onClose={() => reviewing.value = false}
        />
      )}
    </section>
  );
}

interface ReviewProps extends UserPart {
  /** The profile as it was when the form was opened. */
  readonly began: Signal<UserDetails>;
  readonly form: Signal<UserForm>;
  readonly onClose: () => void;
}

export function UserReview({ models, user, calls, page, began, form, onClose }: ReviewProps) {
  const chosen = useSignal(firstChoice(user.backends));
  const { attributes, active, version, modifiedMs } = began.value;
  const base = toUserForm(attributes);
  const mine = form.value;
  const changed = changedFields(base, mine);
  const begin = (record: UserDetails, next: UserForm) => {
    began.value = record;
    form.value = next;
  };
  return (
    <ReviewDialog
      name={user.name}
      rows={diffRows({ now: base, after: mine }, fieldLabel)
        .map((row, at) => ({ ...row, ...keptNote(user, changed[at]) }))}
      reason={noBackendReason(chosen, user.backends)}
      onSave={async () => {
        const { user: saved, receipt } = await calls.replace({
          user: { ...toAttributes(mine, attributes), userName: user.name, active },
          version,
          ...backendsOf(chosen.value),
        });
        const text = t("common.name_changed", { name: user.name });
        const isStoreAlone = user.backends.every(({ kind }) => kind === "store");
        // A toast does not move the form. What a connector did not take stays on the page.
        const isWhole = receipt.entries.every(({ outcome }) => outcome === "done");
        if (!isWhole) page.said(text, receipt);
        else if (isStoreAlone) models.toasts.show(text, { tone: "ok" });
        else showReceiptToast(models, text, receipt);
        if (saved === null) return;
        page.put(saved);
        if (saved.record !== null) begin(saved.record, toUserForm(saved.record.attributes));
      }}
      onRebase={async () => {
        const current = await models.session.whileSignedIn(calls.read);
        if (current.record === null) throw new ApiFailure("unknown_object", { message: t("users.gone") });
        const theirs = toUserForm(current.record.attributes);
        page.put(current);
        begin(current.record, mergeForms({ base, mine, theirs }));
        // A membership also changes the version of a user, but is recorded with the group.
        if (current.record.modifiedMs === modifiedMs) {
          return { fields: [t("shell.groups")], lastChange: null };
        }
        return { fields: changedFields(base, theirs).map(fieldLabel) };
      }}
      onClose={onClose}
    >
      <BackendChoice backends={user.backends} chosen={chosen} />
    </ReviewDialog>
  );
}

/** Names the backends where the attribute is read-only. */
function keptNote({ backends }: UserView, field: keyof UserForm | undefined): { note?: string } {
  const keepers = field === undefined
    ? []
    : backends.filter(({ keeps }) => keeps?.includes(attributeName(field)) === true);
  if (keepers.length === 0) return {};
  return { note: t("users.kept_by", { backend: keepers.map(({ name }) => name).join(", ") }) };
}
