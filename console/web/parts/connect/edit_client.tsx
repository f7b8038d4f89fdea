// The rules of a client that the console made, to be changed; two who change at once see what the other did.

import { useSignal } from "@preact/signals";
import { changedSettings, type ClientDraft, draftOf, EDIT_FIELDS } from "../../models/client_form.ts";
import type { ClientPart } from "../../pages/client_page.tsx";
import { Fields } from "../fields.tsx";
import { late } from "../late.tsx";
import { ReviewedForm } from "../reviewed_form.tsx";
import { ClientFields } from "./client_fields.tsx";
import { clientField } from "./client_words.ts";

const ClientReview = late(async () => (await import("./client_review.tsx")).ClientReview);

export function EditClient({ models, one, page }: ClientPart) {
  /** What the form began with: what is fetched meanwhile does not change it. */
  const began = useSignal(one);
  const draft = useSignal<ClientDraft>(draftOf(one.client));
  const reviewing = useSignal(false);
  const base = draftOf(began.value.client);
  return (
    <>
      <ReviewedForm
        router={models.router}
        area="connect"
        isSame={changedSettings(base, draft.value).length === 0 &&
          draft.value["firstFactorServer.secret"] === ""}
        onReview={() => reviewing.value = true}
        onDiscard={() => draft.value = base}
      >
        <ClientFields models={models} draft={draft} ldap={one.ldap} saved={began.value.client} />
        <Fields prefix="client" draft={draft} rows={EDIT_FIELDS.map(clientField)} />
      </ReviewedForm>
      {reviewing.value && (
        <ClientReview
          models={models}
          began={began}
          draft={draft}
          onSaved={(now) => page.put(now)}
          onClose={() => reviewing.value = false}
        />
      )}
    </>
  );
}
