// Deletes a user, after listing what goes with them and where.

import { useSignal } from "@preact/signals";
import type { UserRecord } from "../../../api/people/user_shapes.ts";
import { failureText } from "../../api_client.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { receiptSentence } from "../receipt_chips.tsx";
import { BackendChoice } from "./backend_choice.tsx";
import { UserConsequences } from "./user_consequences.tsx";

export function DeleteUserDialog(
  { models, user, calls, page, record, onClose }: UserPart & {
    readonly record: UserRecord;
    readonly onClose: () => void;
  },
) {
  const chosen = useSignal<readonly string[] | null>(null);
  const { name, backends } = user;
  const remove = async (): Promise<string | null> => {
    if (chosen.value?.length === 0) return t("people.choose_backend");
    try {
      const { receipt, user: left } = await calls.remove({
        version: record.version,
        ...(chosen.value === null ? {} : { backends: [...chosen.value] }),
      });
      const text = t("people.deleted", { name });
      if (left !== null) {
        page.put(left);
        page.said(t("people.deleted_there", { name }), receipt);
        return null;
      }
      models.toasts.say(`${text} ${receiptSentence(receipt.entries)}`);
      models.router.go("/users");
      return null;
    } catch (fault) {
      return failureText(fault);
    }
  };
  const from = chosen.value ?? backends.map((backend) => backend.name);
  return (
    <ConfirmDialog
      title={t("people.delete_title", { name })}
      verb={t("people.delete_verb", { name })}
      onConfirm={remove}
      onClose={onClose}
    >
      <ul class="people-consequences">
        <li>
          {t("people.delete_backends", { count: from.length })} <bdi>{from.join(", ")}</bdi>
        </li>
        <UserConsequences user={user} />
      </ul>
      <BackendChoice backends={backends} chosen={chosen.value} onChoose={(next) => chosen.value = next} />
    </ConfirmDialog>
  );
}
