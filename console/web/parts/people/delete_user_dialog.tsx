// Deletes a user, after listing what goes with them and where.

import { useSignal } from "@preact/signals";
import type { UserRecord } from "../../../api/users/user_types.ts";
import { backendsOf } from "../../models/user_calls.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { receiptSentence } from "../receipt_chips.tsx";
import { BackendChoice, noBackend } from "./backend_choice.tsx";
import { UserConsequences } from "./user_consequences.tsx";

export function DeleteUserDialog(
  { models, user, calls, page, record, onClose }: UserPart & {
    readonly record: UserRecord;
    readonly onClose: () => void;
  },
) {
  const chosen = useSignal<readonly string[] | null>(null);
  const { name, backends } = user;
  const remove = async () => {
    const { receipt, user: left } = await calls.remove({
      version: record.version,
      ...backendsOf(chosen.value),
    });
    if (left !== null) {
      page.put(left);
      return page.said(t("people.deleted_there", { name }), receipt);
    }
    models.toasts.say(`${t("people.deleted", { name })} ${receiptSentence(receipt.entries, "removed")}`);
    models.router.go("/users");
  };
  const from = chosen.value ?? backends.map((backend) => backend.name);
  return (
    <ConfirmDialog
      title={t("people.delete_title", { name })}
      verb={t("people.delete_verb", { name })}
      reason={noBackend(chosen)}
      onConfirm={remove}
      onClose={onClose}
    >
      <ul class="people-consequences">
        <li>
          {t("people.delete_backends", { count: from.length })} <bdi>{from.join(", ")}</bdi>
        </li>
        <UserConsequences user={user} />
      </ul>
      <BackendChoice backends={backends} chosen={chosen} />
    </ConfirmDialog>
  );
}
