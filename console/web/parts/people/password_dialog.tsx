// Sets a user's password, at the backends that are chosen; it is sent once and shown nowhere.

import { useSignal } from "@preact/signals";
import { failureText } from "../../api_client.ts";
import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../words/translate.ts";
import { Dialog } from "../dialog.tsx";
import { Field } from "../field.tsx";
import { Note } from "../note.tsx";
import { BackendChoice } from "./backend_choice.tsx";

const FORM_ID = "set-password";

export function PasswordDialog({ user, calls, page, onClose }: UserPart & { onClose: () => void }) {
  const password = useSignal("");
  const chosen = useSignal<readonly string[] | null>(null);
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const set = async () => {
    busy.value = true;
    problem.value = null;
    try {
      const { user: changed, receipt } = await calls.setPassword({
        password: password.value,
        ...(chosen.value === null ? {} : { backends: [...chosen.value] }),
      });
      if (changed !== null) page.put(changed);
      page.said(t("people.password_set", { name: user.name }), receipt);
      onClose();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  return (
    <Dialog
      title={t("people.password_title", { name: user.name })}
      onClose={onClose}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>{t("frame.cancel")}</button>
          <button
            type="submit"
            form={FORM_ID}
            class="button button-primary"
            disabled={busy.value || chosen.value?.length === 0}
          >
            {busy.value ? t("frame.working") : t("people.set_password")}
          </button>
        </>
      }
    >
      <form
        id={FORM_ID}
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void set();
        }}
      >
        {problem.value !== null && (
          <Note tone="bad" role="alert">
            <strong>{t("people.password_not_set")}</strong> {problem.value}
          </Note>
        )}
        <Field
          id="new-password"
          label={t("people.new_password")}
          input={{
            type: "password",
            value: password.value,
            required: true,
            autofocus: true,
            maxLength: 1024,
            autocomplete: "new-password",
            onInput: (event) => password.value = event.currentTarget.value,
          }}
        />
        <BackendChoice
          backends={user.backends}
          chosen={chosen.value}
          onChoose={(next) => chosen.value = next}
        />
      </form>
    </Dialog>
  );
}
