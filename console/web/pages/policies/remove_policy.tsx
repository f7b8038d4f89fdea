// The dialog that removes a policy.

import type { Policy } from "../../../../radius/policy/policy.ts";
import type { PolicyPage } from "../../../api/policies/policy_types.ts";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import type { PolicyChanges } from "./policy_changes.tsx";
import type { PolicyCalls } from "./policy_form.ts";
import { PolicySentence } from "./policy_item.tsx";
import { ReplayPanel } from "./policy_replay.tsx";

interface RemoveProps {
  readonly policy: Policy;
  readonly page: PolicyPage;
  readonly calls: PolicyCalls;
  readonly changes: PolicyChanges;
  readonly onClose: () => void;
}

export function RemovePolicyDialog({ policy, page, calls, changes, onClose }: RemoveProps) {
  const left = page.policies.filter(({ id }) => id !== policy.id);
  return (
    <ConfirmDialog
      title={t("common.remove_title", { name: policy.name })}
      submitLabel={t("policies.remove_submit")}
      onConfirm={() =>
        changes.saveQuietly(
          (basis) => calls.remove(policy.id, basis),
          t("policies.removed", { name: policy.name }),
        )}
      onClose={onClose}
    >
      <p class="policy-sentence">
        <PolicySentence policy={policy} />
      </p>
      <p>{t("policies.remove_hint")}</p>
      <ReplayPanel calls={calls} draft={left} />
    </ConfirmDialog>
  );
}
