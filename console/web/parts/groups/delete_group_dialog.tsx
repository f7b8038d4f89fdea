// Deletes a group, after saying from where, how many members leave it, and what their logins lose.

import { useSignal } from "@preact/signals";
import type { GroupView } from "../../../api/groups/group_types.ts";
import type { GroupCalls } from "../../models/group_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { BackendChoice, noBackend } from "../people/backend_choice.tsx";
import { sayReceipt } from "../people/said_note.tsx";

export function DeleteGroupDialog({ models, group, calls, onClose }: {
  models: Models;
  group: GroupView;
  calls: GroupCalls;
  onClose: () => void;
}) {
  const chosen = useSignal<readonly string[] | null>(null);
  const { name, members, replies, backends, version } = group;
  const from = chosen.value ?? backends.map((backend) => backend.name);
  const remove = async () => {
    const { receipt } = await calls.remove({ backends: chosen.value, version });
    sayReceipt(models, t("groups.deleted", { name }), receipt, "removed");
    models.router.go("/groups");
  };
  return (
    <ConfirmDialog
      title={t("groups.delete_title", { name })}
      verb={t("groups.delete_verb", { name })}
      count={Math.max(1, members)}
      word={name}
      reason={noBackend(chosen)}
      onConfirm={remove}
      onClose={onClose}
    >
      <ul class="people-consequences">
        <li>
          {t("groups.delete_backends", { count: from.length })} <bdi>{from.join(", ")}</bdi>
        </li>
        <li>{t("groups.delete_members", { count: members })}</li>
        {replies.length > 0 && (
          <li>
            {t("groups.delete_replies")}{" "}
            <bdi class="mono">{replies.map(({ name, value }) => `${name} = ${value}`).join(", ")}</bdi>
          </li>
        )}
      </ul>
      <BackendChoice backends={backends} chosen={chosen} />
    </ConfirmDialog>
  );
}
