// Makes a user: a name, a profile, a password perhaps, and the backends that get it.

import { useSignal } from "@preact/signals";
import type { UserPage } from "../../../api/user_shapes.ts";
import { ApiFailure, failureText } from "../../api_client.ts";
import type { Models } from "../../models/models.ts";
import { createUserCall, userHref } from "../../models/user_calls.ts";
import { attributesOf, EMPTY_FORM } from "../../models/user_form.ts";
import { t } from "../../words/translate.ts";
import { Dialog } from "../dialog.tsx";
import { Field } from "../field.tsx";
import { Checkbox } from "../inputs.tsx";
import { Note } from "../note.tsx";
import { ReceiptChips, receiptSentence } from "../receipt_chips.tsx";
import { BackendChoice } from "./backend_choice.tsx";
import { UserFields } from "./user_fields.tsx";

const FORM_ID = "create-user";

interface CreateProps {
  readonly models: Models;
  readonly page: UserPage;
  readonly onClose: () => void;
}

export function CreateUserDialog({ models, page, onClose }: CreateProps) {
  const name = useSignal("");
  const form = useSignal(EMPTY_FORM);
  const password = useSignal("");
  const active = useSignal(true);
  const chosen = useSignal<readonly string[] | null>(null);
  const busy = useSignal(false);
  const fault = useSignal<unknown>(null);
  const target = models.router.param("target");
  const create = async () => {
    busy.value = true;
    fault.value = null;
    try {
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
      models.router.go(userHref(name.value.trim(), target));
    } catch (caught) {
      fault.value = caught;
    }
    busy.value = false;
  };
  const none = chosen.value?.length === 0;
  const isTaken = fault.value instanceof ApiFailure && fault.value.code === "object_exists";
  const receipt = fault.value instanceof ApiFailure ? fault.value.receipt : null;
  return (
    <Dialog
      title={t("people.create")}
      onClose={onClose}
      wide
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>{t("frame.cancel")}</button>
          <button type="submit" form={FORM_ID} class="button button-primary" disabled={busy.value || none}>
            {busy.value ? t("frame.working") : t("people.create")}
          </button>
        </>
      }
    >
      <form
        id={FORM_ID}
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        {fault.value !== null && (
          <Note tone="bad" role="alert">
            <strong>{t("people.not_created")}</strong> {failureText(fault.value)}
            {receipt !== null && <ReceiptChips entries={receipt.entries} />}
          </Note>
        )}
        <Field
          id="create-name"
          label={t("people.name")}
          hint={t("people.name_hint")}
          problem={isTaken ? t("people.name_taken") : null}
          input={{
            value: name.value,
            required: true,
            maxLength: 256,
            autofocus: true,
            autocomplete: "off",
            autocapitalize: "none",
            spellcheck: false,
            onInput: (event) => name.value = event.currentTarget.value,
          }}
        />
        <UserFields prefix="create" form={form.value} onChange={(next) => form.value = next} />
        <Field
          id="create-password"
          label={t("people.password")}
          hint={t("people.password_hint")}
          input={{
            type: "password",
            value: password.value,
            maxLength: 1024,
            autocomplete: "new-password",
            onInput: (event) => password.value = event.currentTarget.value,
          }}
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
      </form>
    </Dialog>
  );
}
