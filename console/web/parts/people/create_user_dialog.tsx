// Makes a user: a name, a profile, a password perhaps, and the backends that get it.

import { useSignal } from "@preact/signals";
import type { UserPage } from "../../../api/people/user_shapes.ts";
import { ApiFailure } from "../../api_client.ts";
import { useDeed } from "../../models/deed.ts";
import type { Models } from "../../models/models.ts";
import { createUserCall } from "../../models/user_calls.ts";
import { userHref } from "../../user_href.ts";
import { attributesOf, EMPTY_FORM } from "../../models/user_form.ts";
import { t } from "../../words/translate.ts";
import { TextField } from "../field.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { Checkbox } from "../inputs.tsx";
import { receiptSentence } from "../receipt_chips.tsx";
import { BackendChoice, noBackend } from "./backend_choice.tsx";
import { UserFields } from "./user_fields.tsx";

interface CreateProps {
  readonly models: Models;
  readonly page: UserPage;
  /** What follows instead of the new user's page. */
  readonly onMade?: () => void;
  readonly onClose: () => void;
}

export function CreateUserDialog({ models, page, onMade, onClose }: CreateProps) {
  const name = useSignal("");
  const form = useSignal(EMPTY_FORM);
  const password = useSignal("");
  const active = useSignal(true);
  const chosen = useSignal<readonly string[] | null>(null);
  const deed = useDeed();
  // The address says nothing of the one whose users log in.
  const target = page.logsIn ? "" : page.target;
  const create = async () => {
    const user = {
      ...attributesOf(form.value, {}),
      userName: name.value.trim(),
      active: active.value,
      ...(password.value === "" ? {} : { password: password.value }),
    };
    const { receipt } = await createUserCall(models, { target, user, backends: chosen.value });
    models.toasts.say(
      `${t("people.created", { name: name.value.trim() })} ${receiptSentence(receipt.entries)}`,
    );
    if (onMade === undefined) models.router.go(userHref(name.value.trim(), target));
    else onMade();
  };
  const fault = deed.fault.value;
  const isTaken = fault instanceof ApiFailure && fault.code === "object_exists";
  return (
    <FormDialog
      title={t("people.create")}
      verb={t("people.create")}
      failed={t("people.not_created")}
      deed={deed}
      reason={noBackend(chosen.value)}
      onSubmit={create}
      onClose={onClose}
      wide
    >
      <TextField
        id="create-name"
        label={t("people.name")}
        hint={t("people.name_hint")}
        problem={isTaken ? t("people.name_taken") : null}
        text={name}
        input={{ required: true, maxLength: 256, autofocus: true, autocapitalize: "none", spellcheck: false }}
      />
      <UserFields
        prefix="create"
        form={form.value}
        onChange={(next) => form.value = next}
        readOnly={page.readOnly}
      />
      <TextField
        id="create-password"
        label={t("people.password")}
        hint={t("people.password_hint")}
        text={password}
        input={{ type: "password", maxLength: 1024, autocomplete: "new-password" }}
      />
      <Checkbox
        label={t("people.may_log_in")}
        checked={active.value}
        onChange={(checked) => active.value = checked}
      />
      <BackendChoice
        backends={page.backends}
        chosen={chosen.value}
        onChoose={(next) => chosen.value = next}
      />
    </FormDialog>
  );
}
