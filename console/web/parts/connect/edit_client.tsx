// The rules of a client that the console made, to be changed; two who change at once are told.

import { useSignal } from "@preact/signals";
import { ApiFailure, failureText } from "../../api_client.ts";
import { changeClient } from "../../models/connect_calls.ts";
import type { ClientPart } from "../../pages/client_page.tsx";
import { t } from "../../words/translate.ts";
import { Checkbox } from "../inputs.tsx";
import { Note } from "../note.tsx";
import { type ClientDraft, ClientFields, formOf } from "./client_fields.tsx";

export function EditClient({ models, one: { client }, page }: ClientPart) {
  const { address, nasIdentifier, disabled, messageAuthenticator, firstFactor, device } = client;
  const { appendMode, unknownUsers } = client;
  const draft = useSignal<ClientDraft>({
    addressText: address.join("\n"),
    nasIdentifier,
    disabled,
    messageAuthenticator,
    firstFactor,
    device,
    appendMode,
    unknownUsers,
  });
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  const stale = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    problem.value = null;
    try {
      const changed = await changeClient(models, client.name, {
        ...formOf(draft.value),
        version: client.version,
      });
      page.put(changed);
      models.toasts.say(t("connect.client_changed", { name: client.name }), { tone: "ok" });
    } catch (fault) {
      stale.value = fault instanceof ApiFailure && fault.code === "changed_meanwhile";
      problem.value = failureText(fault);
    }
    busy.value = false;
  };
  return (
    <form class="form" onSubmit={submit}>
      <ClientFields draft={draft} />
      <Checkbox
        label={t("connect.disable")}
        hint={t("connect.disable_hint")}
        checked={draft.value.disabled}
        onChange={(checked) => draft.value = { ...draft.value, disabled: checked }}
      />
      {problem.value !== null && (
        <Note tone="bad" role="alert">
          {problem.value} {stale.value && (
            <button
              type="button"
              class="button button-small"
              onClick={() => void page.reload()}
            >
              {t("connect.load_again")}
            </button>
          )}
        </Note>
      )}
      <button type="submit" class="button button-primary" disabled={busy.value}>
        {busy.value ? t("frame.working") : t("frame.save")}
      </button>
    </form>
  );
}
