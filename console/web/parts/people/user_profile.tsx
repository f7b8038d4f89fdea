// The profile: fields to change, the differences before they are saved, and somebody else's changes meanwhile.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { UserRecord } from "../../../api/user_shapes.ts";
import { ApiFailure, failureText } from "../../api_client.ts";
import { whyNot } from "../../access_words.ts";
import {
  attributesOf,
  changedFields,
  diffRows,
  formOf,
  mergeForms,
  otherAttributes,
  type UserForm,
} from "../../models/user_form.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { DiffTable } from "../diff_table.tsx";
import { Dialog } from "../dialog.tsx";
import { FixedField } from "../inputs.tsx";
import { Note } from "../note.tsx";
import { ReceiptChips } from "../receipt_chips.tsx";
import { Time } from "../time.tsx";
import { BackendChoice } from "./backend_choice.tsx";
import { fieldLabel, UserFields } from "./user_fields.tsx";

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
          {...(reason === undefined ? {} : { reason })}
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
        <Review
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

interface ReviewProps extends UserPart {
  readonly began: UserRecord;
  readonly mine: UserForm;
  readonly onRebase: (theirs: UserRecord, merged: UserForm) => void;
  /** `null`: closed without saving. */
  readonly onSaved: (record: UserRecord | null) => void;
}

/** Old and new before saving; when somebody else was faster, theirs and mine. */
function Review(props: ReviewProps) {
  const { models, user, calls, page, began, mine, onRebase, onSaved } = props;
  const chosen = useSignal<readonly string[] | null>(null);
  const busy = useSignal(false);
  const fault = useSignal<unknown>(null);
  /** What somebody else made of it since the form was opened. */
  const theirs = useSignal<readonly string[] | null>(null);
  const isRaced = theirs.value !== null;
  const base = formOf(began.attributes);
  const rows = diffRows({ now: base, after: mine }, fieldLabel);

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
