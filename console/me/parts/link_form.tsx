// A one-time link, pasted.

import { useSignal } from "@preact/signals";
import { Field } from "../../web/parts/field.tsx";
import { t } from "../../web/i18n/translate.ts";
import { tokenIn } from "../me_session.ts";

/** @param props.onLink gets the link's token; resolves to `null`, or to why it is not good. */
export function LinkForm({ onLink }: { onLink: (token: string) => Promise<string | null> }) {
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value || !(event.currentTarget instanceof HTMLFormElement)) return;
    const token = tokenIn(String(new FormData(event.currentTarget).get("link") ?? ""));
    if (token === null) {
      problem.value = t("me.door_link_bad");
      return;
    }
    busy.value = true;
    problem.value = await onLink(token);
    busy.value = false;
  };
  return (
    <form class="me-form" onSubmit={submit}>
      <Field
        id="me-link"
        label={t("me.door_link_field")}
        problem={problem.value}
        input={{ name: "link", required: true, autocomplete: "off", spellcheck: false, maxLength: 2048 }}
      />
      <button type="submit" class="button" disabled={busy.value}>
        {busy.value ? t("frame.working") : t("me.door_link_use")}
      </button>
    </form>
  );
}
