// Creates a user: name, profile, optional password, and backends.

import { useSignal } from "@preact/signals";
import type { UserPage } from "../../../api/users/user_types.ts";
import { useAction } from "../../app/action.ts";
import { ApiFailure } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { userHref } from "../../app/routes.ts";
import { BackendChoice, backendSummary, noBackendReason } from "../../components/backend_results.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { t } from "../../i18n/translate.ts";
import { addUser } from "./user_calls.ts";
import { EMPTY_FORM, toAttributes, UserFields, type UserForm } from "./user_form.tsx";

interface CreateProps {
  readonly models: Models;
  readonly page: UserPage;
  /** The initial user name. */
  readonly name?: string;
  /** Called instead of opening the page of the new user. */
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
    label: "common.password",
    hint: "users.password_hint",
    input: { type: "password", maxLength: 1024, autocomplete: "new-password" },
  },
  { name: "mayLogIn", label: "users.may_log_in" },
];

export function CreateUserDialog({ models, page, name: given = "", onMade, onClose }: CreateProps) {
  const draft = useSignal({ ...BLANK, name: given });
  const chosen = useSignal<readonly string[] | null>(null);
  const action = useAction();
  // The address omits the target whose users log in.
  const target = page.logsIn ? "" : page.target;
  const create = async () => {
    const { name, password, mayLogIn, ...form } = draft.value;
    const user = {
      ...toAttributes(form, {}),
      userName: name.trim(),
      active: mayLogIn,
      ...(password === "" ? {} : { password }),
    };
    const { receipt } = await addUser(models, { target, user, backends: chosen.value });
    const isStoreAlone = page.backends.every(({ kind }) => kind === "store");
    const where = isStoreAlone ? "" : ` ${backendSummary(receipt.entries)}`;
    models.toasts.show(t("users.created", { name: name.trim() }) + where);
    if (onMade === undefined) models.router.go(userHref(name.trim(), target));
    else onMade();
  };
  const fault = action.fault.value;
  const isTaken = fault instanceof ApiFailure && fault.code === "object_exists";
  return (
    <FormDialog
      title={t("common.create_user")}
      submitLabel={t("common.create_user")}
      failureTitle={t("users.not_created")}
      isAtField={isTaken}
      action={action}
      reason={noBackendReason(chosen, page.backends)}
      onSubmit={create}
      onClose={onClose}
      wide
    >
      <FormFields
        prefix="create"
        draft={draft}
        rows={[{
          name: "name",
          label: "common.user_name",
          hint: "users.name_hint",
          problem: isTaken ? t("users.name_taken") : null,
          input: { required: true, maxLength: 256, autofocus: true, autocapitalize: "none" },
        }]}
      />
      <UserFields prefix="create" form={draft} readOnly={page.readOnly} />
      <FormFields prefix="create" draft={draft} rows={LAST_ROWS} />
      <BackendChoice backends={page.backends} chosen={chosen} />
    </FormDialog>
  );
}
