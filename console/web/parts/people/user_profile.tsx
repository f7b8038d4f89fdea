// The profile: fields to change, the differences before they are saved, and somebody else's changes meanwhile.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { UserRecord } from "../../../api/people/user_shapes.ts";
import { whyNot } from "../../access_words.ts";
import { changedFields, formOf, otherAttributes, type UserForm } from "../../models/user_form.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { FixedField } from "../inputs.tsx";
import { late } from "../late.tsx";
import { Time } from "../time.tsx";
import { UserFields } from "./user_fields.tsx";

const ReviewDialog = late(async () => (await import("./review_dialog.tsx")).ReviewDialog);

const FORM_ID = "user-profile";

export function UserProfile(part: UserPart) {
  const { record } = part.user;
  return record === null ? null : <Profile {...part} record={record} />;
}

function Profile(part: UserPart & { record: UserRecord }) {
  const { models, record } = part;
  const reason = whyNot(models, "user_manager");
  /** What the form began with; it moves on when nothing was typed. */
  const began = useSignal(record);
  const form = useSignal<UserForm>(formOf(record.attributes));
  const reviewing = useSignal(false);
  const base = formOf(began.value.attributes);
  const changed = changedFields(base, form.value);
  useEffect(() => {
    if (changed.length > 0 && !reviewing.value) return;
    if (changed.length === 0) {
      began.value = record;
      form.value = formOf(record.attributes);
    }
  }, [record.version]);
  const others = useMemo(() => otherAttributes(record.attributes), [record.version]);
  return (
    <section class="panel people-panel" aria-label={t("people.profile")}>
      <form
        id={FORM_ID}
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (changed.length > 0) reviewing.value = true;
        }}
      >
        <FixedField label={t("people.name")} hint={t("people.name_fixed")}>
          <bdi class="mono">{part.user.name}</bdi>
        </FixedField>
        <UserFields
          prefix="profile"
          form={form.value}
          onChange={(next) => form.value = next}
          readOnly={part.user.readOnly}
          reason={reason}
        />
        {others.map(({ name, text }) => (
          <FixedField key={name} label={name}>
            <bdi class="mono">{text}</bdi>
          </FixedField>
        ))}
        <p class="quiet small">
          {t("people.created_at")} <Time models={models} atMs={record.createdMs} /> · {t("people.changed_at")}
          {" "}
          <Time models={models} atMs={record.modifiedMs} />
        </p>
        <div class="form-end">
          <button
            type="submit"
            class="button button-primary"
            disabled={reason !== undefined || changed.length === 0}
            title={reason ?? (changed.length === 0 ? t("people.nothing_changed") : undefined)}
          >
            {t("people.review")}
          </button>
          {changed.length > 0 && (
            <button type="button" class="button" onClick={() => form.value = base}>
              {t("people.discard")}
            </button>
          )}
        </div>
      </form>
      {reviewing.value && (
        <ReviewDialog
          {...part}
          began={began.value}
          mine={form.value}
          onRebase={(theirs, merged) => {
            began.value = theirs;
            form.value = merged;
          }}
          onSaved={(saved) => {
            reviewing.value = false;
            if (saved === null) return;
            began.value = saved;
            form.value = formOf(saved.attributes);
          }}
        />
      )}
    </section>
  );
}
