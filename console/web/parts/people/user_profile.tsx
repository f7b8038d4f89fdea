// The profile: fields to change, the differences before they are saved, and the changes of other administrators meanwhile.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { UserRecord } from "../../../api/users/user_types.ts";
import { whyNot } from "../../access_words.ts";
import { changedFields, formOf, otherAttributes, type UserForm } from "../../models/user_form.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { FixedField } from "../inputs.tsx";
import { late } from "../late.tsx";
import { ReviewedForm } from "../reviewed_form.tsx";
import { Time } from "../time.tsx";
import { UserFields } from "./user_fields.tsx";

const UserReview = late(async () => (await import("./profile_review.tsx")).UserReview);

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
    // An effect runs late: what was typed since this was drawn counts, too.
    if (changedFields(formOf(began.peek().attributes), form.peek()).length > 0) return;
    began.value = record;
    form.value = formOf(record.attributes);
  }, [record.version]);
  const others = useMemo(() => otherAttributes(record.attributes), [record.version]);
  return (
    <section class="panel people-panel" aria-label={t("people.profile")}>
      <ReviewedForm
        router={models.router}
        id="user-profile"
        area="people"
        isSame={changed.length === 0}
        reason={reason}
        onReview={() => reviewing.value = true}
        onDiscard={() => form.value = base}
      >
        <FixedField label={t("people.name")} hint={t("people.name_fixed")}>
          <bdi class="mono">{part.user.name}</bdi>
        </FixedField>
        <UserFields prefix="profile" form={form} base={base} readOnly={part.user.readOnly} reason={reason} />
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
