// The rules of a client that the console made, to be changed; two who change at once see what the other did.

import { useSignal } from "@preact/signals";
import { changedFields, type ClientDraft, draftOf } from "../../models/client_form.ts";
import type { ClientPart } from "../../pages/client_page.tsx";
import { t } from "../../words/translate.ts";
import { Checkbox } from "../inputs.tsx";
import { late } from "../late.tsx";
import { ClientFields } from "./client_fields.tsx";

const ClientReview = late(async () => (await import("./client_review.tsx")).ClientReview);

export function EditClient({ models, one, page }: ClientPart) {
  /** What the form began with: what is fetched meanwhile does not change it. */
  const began = useSignal(one);
  const draft = useSignal<ClientDraft>(draftOf(one.client));
  const reviewing = useSignal(false);
  const base = draftOf(began.value.client);
  const isSame = changedFields(base, draft.value).length === 0 && draft.value.serverSecret === "";
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    reviewing.value = true;
  };
  return (
    <>
      <form class="form" onSubmit={submit}>
        <ClientFields models={models} draft={draft} ldap={one.ldap} saved={began.value.client} />
        <Checkbox
          label={t("connect.disable")}
          hint={t("connect.disable_hint")}
          checked={draft.value.disabled}
          onChange={(checked) => draft.value = { ...draft.value, disabled: checked }}
        />
        <div class="form-end">
          <button
            type="submit"
            class="button button-primary"
            disabled={isSame}
            title={isSame ? t("connect.nothing_changed") : undefined}
          >
            {t("connect.review")}
          </button>
          {!isSame && (
            <button type="button" class="button" onClick={() => draft.value = base}>
              {t("connect.discard")}
            </button>
          )}
        </div>
      </form>
      {reviewing.value && (
        <ClientReview
          models={models}
          began={began.value}
          mine={draft.value}
          onRebase={(theirs, merged) => {
            began.value = theirs;
            draft.value = merged;
          }}
          onSaved={(now) => {
            reviewing.value = false;
            if (now === null) return;
            began.value = now;
            draft.value = draftOf(now.client);
            page.put(now);
          }}
        />
      )}
    </>
  );
}
