// Makes a user: a name, a profile, a password perhaps, and the backends that get it.

import { useSignal } from "@preact/signals";
import type { UserPage } from "../../../api/users/user_types.ts";
import { ApiFailure } from "../../api_client.ts";
import { useDeed } from "../../models/deed.ts";
import type { Models } from "../../models/models.ts";
import { createUserCall } from "../../models/user_calls.ts";
import { userHref } from "../../user_href.ts";
import { attributesOf } from "../../models/user_changes.ts";
import { EMPTY_FORM, type UserForm } from "../../models/user_form.ts";
import { t } from "../../i18n/translate.ts";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { receiptSentence } from "../receipt_chips.tsx";
import { BackendChoice, noBackend } from "./backend_choice.tsx";
import { UserFields } from "./user_fields.tsx";

interface CreateProps {
  readonly models: Models;
  readonly page: UserPage;
  /** The user name to begin with. */
  readonly name?: string;
  /** What follows instead of the new user's page. */
  readonly onMade?: () => void;
  readonly onClose: () => void;
}

interface Draft extends UserForm {
  readonly name: string;
  readonly password: string;
  readonly mayLogIn: boolean;
}

const BLANK: Draft = { ...EMPTY_FORM, name: "", password: "", mayLogIn: true };
const LAST_ROWS: readonly FieldRow<Draft>[] = [
  {
    name: "password",
    label: "people.password",
    hint: "people.password_hint",
    input: { type: "password", maxLength: 1024, autocomplete: "new-password" },
  },
  { name: "mayLogIn", label: "people.may_log_in" },
];

export function CreateUserDialog({ models, page, name: given = "", onMade, onClose }: CreateProps) {
  const draft = useSignal({ ...BLANK, name: given });
  const chosen = useSignal<readonly string[] | null>(null);
  const deed = useDeed();
  // The address says nothing of the one whose users log in.
  const target = page.logsIn ? "" : page.target;
  const create = async () => {
    const { name, password, mayLogIn, ...form } = draft.value;
    const user = {
      ...attributesOf(form, {}),
      userName: name.trim(),
      active: mayLogIn,
      ...(password === "" ? {} : { password }),
    };
    const { receipt } = await createUserCall(models, { target, user, backends: chosen.value });
    models.toasts.say(`${t("people.created", { name: name.trim() })} ${receiptSentence(receipt.entries)}`);
    if (onMade === undefined) models.router.go(userHref(name.trim(), target));
    else onMade();
  };
  const fault = deed.fault.value;
  const isTaken = fault instanceof ApiFailure && fault.code === "object_exists";
  return (
    <FormDialog
      title={t("people.create")}
      verb={t("people.create")}
      failed={t("people.not_created")}
      isAtField={isTaken}
      deed={deed}
      reason={noBackend(chosen)}
      onSubmit={create}
      onClose={onClose}
      wide
    >
      <Fields
        prefix="create"
        draft={draft}
        rows={[{
          name: "name",
          label: "people.name",
          hint: "people.name_hint",
          problem: isTaken ? t("people.name_taken") : null,
          input: { required: true, maxLength: 256, autofocus: true, autocapitalize: "none" },
        }]}
      />
      <UserFields prefix="create" form={draft} readOnly={page.readOnly} />
      <Fields prefix="create" draft={draft} rows={LAST_ROWS} />
      <BackendChoice backends={page.backends} chosen={chosen} />
    </FormDialog>
  );
}
