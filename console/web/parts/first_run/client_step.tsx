// The step of the first client: those that are there, and the dialog that adds one by its first packet.

import { useSignal } from "@preact/signals";
import { whyNot } from "../../access_words.ts";
import { fetchClients } from "../../models/connect_calls.ts";
import type { Models } from "../../models/models.ts";
import { useResource } from "../../models/resource.ts";
import { t } from "../../i18n/translate.ts";
import { AddClientDialog } from "../connect/add_client_dialog.tsx";
import { Fetched } from "../connect/fetched.tsx";
import { Empty } from "../note.tsx";
import { Symbol } from "../symbol.tsx";

export interface StepPartProps {
  readonly models: Models;
  /** Asks the server what is done now. */
  readonly look: () => Promise<unknown>;
}

export function ClientStep({ models, look }: StepPartProps) {
  const list = useResource(models, { fetch: () => fetchClients(models), inputs: [] });
  const adding = useSignal(false);
  const reason = whyNot(models, "owner");
  return (
    <section class="panel people-panel" aria-label={t("frame.clients")}>
      <Fetched resource={list}>
        {({ items, ldap }) => (
          <>
            {items.length === 0 && (
              <Empty title={t("connect.clients_none")} next={t("live.first_client_next")} />
            )}
            <ul class="people-list">
              {items.map(({ name, address }) => (
                <li key={name}>
                  <a class="mono" href={`/clients/${encodeURIComponent(name)}`}>{name}</a>
                  <bdi class="mono quiet">{address.join(", ")}</bdi>
                </li>
              ))}
            </ul>
            <button
              type="button"
              class={`button ${items.length === 0 ? "button-primary" : ""}`}
              disabled={reason !== undefined}
              title={reason}
              onClick={() => adding.value = true}
            >
              <Symbol name="plus" /> {t("connect.client_add")}
            </button>
            {adding.value && (
              <AddClientDialog
                models={models}
                ldap={ldap}
                onDone={() => {
                  void list.reload();
                  void look();
                }}
                onClose={() => adding.value = false}
              />
            )}
          </>
        )}
      </Fetched>
    </section>
  );
}
