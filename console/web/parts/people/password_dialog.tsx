// Sets a user's password, at the backends that are chosen; it is sent once and shown nowhere.

import { useSignal } from "@preact/signals";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { TextField } from "../field.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { BackendChoice, noBackend } from "./backend_choice.tsx";

export function PasswordDialog({ user, calls, page, onClose }: UserPart & { onClose: () => void }) {
  const password = useSignal("");
  const chosen = useSignal<readonly string[] | null>(null);
  const set = async () => {
    const { user: changed, receipt } = await calls.setPassword({
      password: password.value,
      ...(chosen.value === null ? {} : { backends: [...chosen.value] }),
    });
    if (changed !== null) page.put(changed);
    page.said(t("people.password_set", { name: user.name }), receipt);
    onClose();
  };
  return (
    <FormDialog
      title={t("people.password_title", { name: user.name })}
      verb={t("people.set_password")}
      failed={t("people.password_not_set")}
      reason={noBackend(chosen.value)}
      onSubmit={set}
      onClose={onClose}
    >
      <TextField
        id="new-password"
        label={t("people.new_password")}
        text={password}
        input={{
          type: "password",
          required: true,
          autofocus: true,
          maxLength: 1024,
          autocomplete: "new-password",
        }}
      />
      <BackendChoice
        backends={user.backends}
        chosen={chosen.value}
        onChoose={(next) => chosen.value = next}
      />
    </FormDialog>
  );
}
