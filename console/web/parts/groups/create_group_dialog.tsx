// Makes a group: a name, and the backends that it goes to.

import { useSignal } from "@preact/signals";
import type { GroupPage } from "../../../api/group_shapes.ts";
import { failureText } from "../../api_client.ts";
import { createGroup, groupHref } from "../../models/group_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { Dialog } from "../dialog.tsx";
import { Field } from "../field.tsx";
import { Note } from "../note.tsx";
import { BackendChoice } from "../people/backend_choice.tsx";
import { receiptSentence } from "../receipt_chips.tsx";

export function CreateGroupDialog({ models, page, onClose }: {
  models: Models;
  page: GroupPage;
  onClose: () => void;
}) {
  const name = useSignal("");
  const backends = useSignal<readonly string[] | null>(null);
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const create = async (): Promise<void> => {
    if (backends.value?.length === 0) {
      problem.value = t("people.choose_backend");
      return;
    }
    busy.value = true;
    try {
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
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  return (
    <Dialog
      title={t("groups.create")}
      onClose={onClose}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>{t("frame.cancel")}</button>
          <button type="submit" form="create-group" class="button button-primary" disabled={busy.value}>
            {busy.value ? t("frame.working") : t("groups.create")}
          </button>
        </>
      }
    >
      <form
        id="create-group"
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
        <Field
          id="group-name"
          label={t("groups.name")}
          hint={t("groups.name_hint")}
          input={{
            value: name.value,
            required: true,
            maxLength: 1024,
            autofocus: true,
            autocomplete: "off",
            spellcheck: false,
            onInput: (event) => name.value = event.currentTarget.value,
          }}
        />
        <BackendChoice
          backends={page.backends}
          chosen={backends.value}
          onChoose={(next) => backends.value = next}
        />
      </form>
    </Dialog>
  );
}
