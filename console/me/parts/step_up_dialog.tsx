// Asks for a code before a visit that a phone opened adds a factor.

import { useSignal } from "@preact/signals";
import { Dialog } from "../../web/parts/dialog.tsx";
import { Field } from "../../web/parts/field.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { Account } from "../account.ts";

export function StepUpDialog({ account }: { account: Account }) {
  const code = useSignal("");
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    problem.value = await account.stepUp(code.value);
    busy.value = false;
  };
  return (
    <Dialog title={t("me.step_up")} onClose={account.leaveStepUp}>
      <form class="me-form" onSubmit={submit}>
        <p>{t("me.step_up_why")}</p>
        <Field
          id="me-step-up"
          label={t("me.step_up_code")}
          hint={t("me.step_up_hint")}
          problem={problem.value}
          input={{
            value: code.value,
            required: true,
            autofocus: true,
            inputMode: "numeric",
            autocomplete: "one-time-code",
            maxLength: 8,
            class: "mono",
            onInput: (event) => code.value = event.currentTarget.value,
          }}
        />
        <button type="submit" class="button button-primary me-wide" disabled={busy.value}>
          {busy.value ? t("frame.working") : t("me.step_up_verb")}
        </button>
      </form>
    </Dialog>
  );
}
