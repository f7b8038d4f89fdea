// Sets a user's password, at the backends that are chosen; it is sent once and shown nowhere.

import { useSignal } from "@preact/signals";
import { backendsOf } from "../../models/user_calls.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { BackendChoice, noBackend } from "./backend_choice.tsx";

const ROWS: readonly FieldRow<{ password: string }>[] = [{
  name: "password",
  label: "people.new_password",
  input: { type: "password", required: true, autofocus: true, maxLength: 1024, autocomplete: "new-password" },
}];

export function PasswordDialog({ user, calls, page, onClose }: UserPart & { onClose: () => void }) {
  const draft = useSignal({ password: "" });
  const chosen = useSignal<readonly string[] | null>(null);
  const set = async () => {
    const { user: changed, receipt } = await calls.setPassword({
      ...draft.value,
      ...backendsOf(chosen.value),
    });
    if (changed !== null) page.put(changed);
    page.said(t("people.password_set", { name: user.name }), receipt);
  };
  return (
    <FormDialog
      title={t("people.password_title", { name: user.name })}
      verb={t("people.set_password")}
      failed={t("people.password_not_set")}
      reason={noBackend(chosen)}
      onSubmit={set}
      onClose={onClose}
    >
      <Fields prefix="new" draft={draft} rows={ROWS} />
      <BackendChoice backends={user.backends} chosen={chosen} />
    </FormDialog>
  );
}
