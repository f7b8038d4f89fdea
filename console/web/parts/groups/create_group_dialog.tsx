// Makes a group: a name, and the backends that it goes to.

import { useSignal } from "@preact/signals";
import type { GroupPage } from "../../../api/people/group_shapes.ts";
import { createGroup, groupHref } from "../../models/group_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { TextField } from "../field.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { BackendChoice, noBackend } from "../people/backend_choice.tsx";
import { receiptSentence } from "../receipt_chips.tsx";

export function CreateGroupDialog({ models, page, onClose }: {
  models: Models;
  page: GroupPage;
  onClose: () => void;
}) {
  const name = useSignal("");
  const backends = useSignal<readonly string[] | null>(null);
  const create = async () => {
    const target = models.router.param("target");
    const { group, receipt } = await createGroup(models, {
      name: name.value,
      target,
      backends: backends.value,
    });
    const made = group?.name ?? name.value;
    const isWhole = receipt.entries.every(({ outcome }) => outcome === "done");
    models.toasts.say(`${t("groups.created", { name: made })} ${receiptSentence(receipt.entries)}`, {
      tone: isWhole ? "ok" : "wait",
    });
    models.router.go(groupHref(made, target));
  };
  return (
    <FormDialog
      title={t("groups.create")}
      verb={t("groups.create")}
      reason={noBackend(backends.value)}
      onSubmit={create}
      onClose={onClose}
    >
      <TextField
        id="group-name"
        label={t("groups.name")}
        hint={t("groups.name_hint")}
        text={name}
        input={{ required: true, maxLength: 1024, autofocus: true, spellcheck: false }}
      />
      <BackendChoice
        backends={page.backends}
        chosen={backends.value}
        onChoose={(next) => backends.value = next}
      />
    </FormDialog>
  );
}
