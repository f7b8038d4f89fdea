// Makes a group: a name, and the backends that it goes to.

import { useSignal } from "@preact/signals";
import type { GroupPage } from "../../../api/groups/group_types.ts";
import { createGroup, groupHref } from "../../models/group_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { BackendChoice, noBackend } from "../people/backend_choice.tsx";
import { sayReceipt } from "../people/said_note.tsx";

const ROWS: readonly FieldRow<{ name: string }>[] = [{
  name: "name",
  label: "groups.name",
  hint: "groups.name_hint",
  input: { required: true, maxLength: 1024, autofocus: true },
}];

export function CreateGroupDialog({ models, page, onClose }: {
  models: Models;
  page: GroupPage;
  onClose: () => void;
}) {
  const draft = useSignal({ name: "" });
  const chosen = useSignal<readonly string[] | null>(null);
  const create = async () => {
    const target = models.router.param("target");
    const { name } = draft.value;
    const { group, receipt } = await createGroup(models, { name, target, backends: chosen.value });
    const made = group?.name ?? name;
    sayReceipt(models, t("groups.created", { name: made }), receipt);
    models.router.go(groupHref(made, target));
  };
  return (
    <FormDialog
      title={t("groups.create")}
      verb={t("groups.create")}
      reason={noBackend(chosen)}
      onSubmit={create}
      onClose={onClose}
    >
      <Fields prefix="group" draft={draft} rows={ROWS} />
      <BackendChoice backends={page.backends} chosen={chosen} />
    </FormDialog>
  );
}
