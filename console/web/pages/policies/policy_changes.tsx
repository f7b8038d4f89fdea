// Saves changes of the policies. The server refuses a list that locks out every user or administrator until it is confirmed.

import { type Signal, useSignal } from "@preact/signals";
import type { PolicyPage } from "../../../api/policies/policy_types.ts";
import { ApiFailure, failureText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { readyValue, type Resource } from "../../app/resource.ts";
import { Alert } from "../../components/alert.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import type { PolicyBasis } from "./policy_form.ts";

type Change = (basis: PolicyBasis) => Promise<PolicyPage>;

/** A change that waits for a confirmation. */
interface Unconfirmed {
  readonly reason: string;
  readonly confirm: () => Promise<void>;
}

export interface PolicyChanges {
  /**
   * Makes a change and shows the new list.
   *
   * @throws ApiFailure; after `changed_meanwhile`, the list is up to date, so that the change can be tried again
   */
  save(change: Change, options?: { confirm?: boolean }): Promise<void>;
  /** Makes a change for a button of the list, and asks for a confirmation in a dialog. A failure becomes a message. */
  saveQuietly(change: Change, done: string, undo?: () => Promise<void>): Promise<void>;
  readonly unconfirmed: Signal<Unconfirmed | null>;
}

const LOCKOUTS: ReadonlySet<string> = new Set(["policies_lock_out_users", "policies_lock_out_admins"]);

/** Whether the server refused a list because it locks out every user or administrator. */
export function isLockout(fault: unknown): fault is ApiFailure {
  return fault instanceof ApiFailure && LOCKOUTS.has(fault.code);
}

export function usePolicyChanges(models: Models, list: Resource<PolicyPage>): PolicyChanges {
  const unconfirmed = useSignal<Unconfirmed | null>(null);
  const save: PolicyChanges["save"] = async (change, { confirm = false } = {}) => {
    const version = readyValue(list.state.peek())?.version ?? 0;
    try {
      list.set(await change({ version, confirm }));
    } catch (fault) {
      if (fault instanceof ApiFailure && fault.code === "changed_meanwhile") await list.reload();
      throw fault;
    }
  };
  return {
    unconfirmed,
    save,
    async saveQuietly(change, done, undo) {
      const tell = () => models.toasts.show(done, { tone: "ok", ...(undo !== undefined && { undo }) });
      try {
        await save(change);
        tell();
      } catch (fault) {
        if (!isLockout(fault)) {
          models.toasts.show(`${t("policies.not_saved")} ${failureText(fault)}`, { tone: "bad" });
          return;
        }
        const confirm = () => save(change, { confirm: true }).then(tell).then(() => undefined);
        unconfirmed.value = { reason: failureText(fault), confirm };
      }
    },
  };
}

/** Asks again before policies lock out every user or administrator. */
export function LockoutDialog({ changes: { unconfirmed } }: { changes: PolicyChanges }) {
  const { value } = unconfirmed;
  if (value === null) return null;
  return (
    <ConfirmDialog
      title={t("policies.lockout_title")}
      submitLabel={t("policies.lockout_save")}
      onConfirm={value.confirm}
      onClose={() => unconfirmed.value = null}
    >
      <LockoutAlert reason={value.reason} />
    </ConfirmDialog>
  );
}

export function LockoutAlert({ reason }: Pick<Unconfirmed, "reason">) {
  return (
    <Alert tone="bad" role="alert">
      <strong>{reason}</strong> {t("policies.lockout_hint")}
    </Alert>
  );
}
