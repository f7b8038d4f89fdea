// The editor of a policy: its name, its conditions, its outcome, and a replay with the draft.

import { useSignal } from "@preact/signals";
import type { Policy } from "../../../../radius/policy/policy.ts";
import type { PolicyPage } from "../../../api/policies/policy_types.ts";
import type { Models } from "../../app/app_context.ts";
import { type ApiFailure, failureText } from "../../app/api_client.ts";
import { ConflictNote, isChangedMeanwhile } from "../../components/review_dialog.tsx";
import { Checkbox, Field } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { isLockout, LockoutAlert, type PolicyChanges } from "./policy_changes.tsx";
import { ConditionFields } from "./condition_fields.tsx";
import { contentOf, draftOf, type PolicyCalls, type PolicyDraft } from "./policy_form.ts";
import { PolicySentence, PolicyWarning } from "./policy_item.tsx";
import { ReplayPanel } from "./policy_replay.tsx";
import { OutcomeFields } from "./outcome_fields.tsx";

interface DialogProps {
  readonly models: Models;
  /** `null`: a new policy, which becomes the last one. */
  readonly policy: Policy | null;
  readonly page: PolicyPage;
  readonly calls: PolicyCalls;
  readonly changes: PolicyChanges;
  readonly onClose: () => void;
}

/** The id of a new policy in a replay. */
const NEW_ID = "draft";

export function PolicyDialog({ models, policy, page, calls, changes, onClose }: DialogProps) {
  const draft = useSignal(draftOf(policy));
  const conflict = useSignal<ApiFailure | null>(null);
  /** The draft that the server refused because it locks everyone out, and the reason. Saving it again confirms it. */
  const lockout = useSignal<{ readonly draft: PolicyDraft; readonly reason: string } | null>(null);
  const content = contentOf(draft.value);
  const isUnconfirmed = lockout.value?.draft === draft.value;
  const save = async () => {
    try {
      await changes.save(
        (basis) => policy === null ? calls.add(content, basis) : calls.change(policy.id, content, basis),
        { confirm: isUnconfirmed },
      );
      models.toasts.show(t("policies.saved", { name: content.name }), { tone: "ok" });
    } catch (fault) {
      if (isLockout(fault)) lockout.value = { draft: draft.value, reason: failureText(fault) };
      else if (isChangedMeanwhile(fault)) conflict.value = fault;
      else throw fault;
      return "stay" as const;
    }
  };
  return (
    <FormDialog
      title={policy === null ? t("policies.add") : t("common.edit_name", { name: policy.name })}
      submitLabel={t(isUnconfirmed ? "policies.lockout_save" : "policies.save")}
      onSubmit={save}
      onClose={onClose}
      wide
    >
      {conflict.value !== null && (
        <ConflictNote lastChange={conflict.value.lastChange} unknown={t("policies.raced")}>
          {t("policies.raced_next")}
        </ConflictNote>
      )}
      {isUnconfirmed && lockout.value !== null && <LockoutAlert reason={lockout.value.reason} />}
      <Field
        id="policy-name"
        label={t("common.name")}
        input={{
          ...{ required: true, maxLength: 100, autocomplete: "off", autofocus: policy === null },
          value: draft.value.name,
          onInput: ({ currentTarget: { value } }) => draft.value = { ...draft.value, name: value },
        }}
      />
      <ConditionFields models={models} draft={draft} clients={page.clients} />
      <OutcomeFields draft={draft} factors={page.factors} />
      <Checkbox
        label={t("policies.enabled")}
        checked={draft.value.enabled}
        onChange={(enabled) => draft.value = { ...draft.value, enabled }}
      />
      <div class="policy-preview" role="status">
        <p class="policy-sentence">
          <PolicySentence policy={content} />
        </p>
        <PolicyWarning policy={content} unchecked={page.uncheckedClients} missing={page.missing} />
      </div>
      <ReplayPanel calls={calls} draft={draftList(page.policies, policy, content)} />
    </FormDialog>
  );
}

/** The list with the draft in its place. A name is needed for a replay, so a new policy without one has a short one. */
function draftList(
  policies: readonly Policy[],
  policy: Policy | null,
  content: Omit<Policy, "id">,
): readonly Policy[] {
  const named = { ...content, name: content.name || t("policies.unnamed") };
  return policy === null
    ? [...policies, { ...named, id: NEW_ID }]
    : policies.map((one) => one.id === policy.id ? { ...named, id: one.id } : one);
}
