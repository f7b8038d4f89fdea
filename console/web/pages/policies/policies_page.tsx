// The policies in the order in which they are tried, with their editor, and what they would do.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Policy } from "../../../../radius/policy/policy.ts";
import type { PolicyPage } from "../../../api/policies/policy_types.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icons.tsx";
import { auditHref, PageBar } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { LockoutDialog, type PolicyChanges, usePolicyChanges } from "./policy_changes.tsx";
import { PolicyDialog } from "./policy_dialog.tsx";
import { EvaluationPanel } from "./policy_evaluation.tsx";
import { createPolicyCalls, type PolicyCalls, toContent } from "./policy_form.ts";
import { PolicyItem, PolicySentence } from "./policy_item.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { ReplayPanel } from "./policy_replay.tsx";

/** The dialog that is open: the editor of a policy (`null`: of a new one), or the removal of a policy. */
type OpenDialog = { readonly edits: Policy | null } | { readonly removes: Policy };

export default function PoliciesPage({ models }: PageProps) {
  const calls = useMemo(() => createPolicyCalls(models), []);
  const list = useResource(models, { fetch: calls.read, inputs: [] });
  const changes = usePolicyChanges(models, list);
  const open = useSignal<OpenDialog | null>(null);
  const reason = permissionHint(models, "owner");
  const close = () => open.value = null;
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.policies")}>
        <a class="button" href={auditHref("policy:")}>
          <Icon name="scroll-text" size={14} />
          {t("shell.audit")}
        </a>
        <Button kind="primary" icon="plus" reason={reason} onClick={() => open.value = { edits: null }}>
          {t("policies.add")}
        </Button>
      </PageBar>
      <Fetched resource={list} rows={4}>
        {(page) => (
          <>
            <PolicyRows {...{ models, page, calls, changes, reason }} onOpen={(next) => open.value = next} />
            <EvaluationPanel models={models} page={page} calls={calls} />
            {open.value !== null && "edits" in open.value && (
              <PolicyDialog {...{ models, page, calls, changes }} policy={open.value.edits} onClose={close} />
            )}
            {open.value !== null && "removes" in open.value && (
              <RemovePolicyDialog {...{ page, calls, changes }} policy={open.value.removes} onClose={close} />
            )}
          </>
        )}
      </Fetched>
      <LockoutDialog changes={changes} />
    </main>
  );
}

interface RowsProps {
  readonly models: Models;
  readonly page: PolicyPage;
  readonly calls: PolicyCalls;
  readonly changes: PolicyChanges;
  /** Why the policies cannot be changed. */
  readonly reason: string | undefined;
  readonly onOpen: (next: OpenDialog) => void;
}

function PolicyRows({ models, page, calls, changes, reason, onOpen }: RowsProps) {
  const { policies } = page;
  if (policies.length === 0) {
    return <EmptyState title={t("policies.none")} next={t("policies.none_next")} />;
  }
  const move = async (policy: Policy, step: -1 | 1) => {
    const before = policies.map(({ id }) => id);
    const at = before.indexOf(policy.id);
    const ids = before.toSpliced(at, 1).toSpliced(at + step, 0, policy.id);
    const movedTo = (position: number) => t("policies.moved", { name: policy.name, position });
    const undo = () => changes.saveQuietly((basis) => calls.order(before, basis), movedTo(at + 1));
    await changes.saveQuietly((basis) => calls.order(ids, basis), movedTo(at + step + 1), undo);
    focusMove(policy, step);
  };
  const enable = (policy: Policy, enabled: boolean, undo?: () => Promise<void>): Promise<void> => {
    const done = t(enabled ? "policies.turned_on" : "policies.turned_off", { name: policy.name });
    const content = { ...toContent(policy), enabled };
    return changes.saveQuietly((basis) => calls.change(policy.id, content, basis), done, undo);
  };
  return (
    <section class="panel policies" aria-label={t("policies.order")}>
      <p class="quiet">{t("policies.order_hint")}</p>
      <ol class="policy-list">
        {policies.map((policy, at) => (
          <PolicyItem
            key={policy.id}
            {...{ policy, reason }}
            isChosen={policy.name === models.router.param("name")}
            position={{ at, count: policies.length }}
            unchecked={page.uncheckedClients}
            missing={page.missing}
            onMove={(step) => void move(policy, step)}
            onEnable={(enabled) => void enable(policy, enabled, () => enable(policy, !enabled))}
            onEdit={() => onOpen({ edits: policy })}
            onRemove={() => onOpen({ removes: policy })}
          />
        ))}
      </ol>
      <p class="policy-rest">{t("policies.otherwise")}</p>
      <p class="unseen" role="status">{models.session.hasRole("owner") ? "" : reason}</p>
    </section>
  );
}

/** Keeps the focus at the moved policy. At an end of the list, the button is disabled, so the other one gets it. */
function focusMove({ id }: Policy, step: -1 | 1): void {
  const buttons = document.querySelectorAll<HTMLButtonElement>(`[data-policy="${id}"] [data-step]`);
  const wanted = [...buttons].find((one) => one.dataset.step === String(step) && !one.disabled);
  (wanted ?? [...buttons].find((one) => !one.disabled))?.focus();
}

interface RemoveProps {
  readonly policy: Policy;
  readonly page: PolicyPage;
  readonly calls: PolicyCalls;
  readonly changes: PolicyChanges;
  readonly onClose: () => void;
}

function RemovePolicyDialog({ policy, page, calls, changes, onClose }: RemoveProps) {
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
