// Old and new values before a client's rules are saved, and the merge after a conflict.

import type { Signal } from "@preact/signals";
import type { OneClient } from "../../../api/clients/client_types.ts";
import {
  changedSettings,
  type ClientDraft,
  draftOf,
  mergeDrafts,
  toClientRequest,
} from "../../models/client_form.ts";
import { changeClient, fetchClient } from "../../models/connect_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import type { DiffRow } from "../diff_table.tsx";
import { ReviewDialog } from "../review_dialog.tsx";
import { Blast } from "./client_dialogs.tsx";
import { settingLabel, settingText } from "./client_words.ts";

interface ReviewProps {
  readonly models: Models;
  /** The client as it was when the form was opened. */
  readonly began: Signal<OneClient>;
  readonly draft: Signal<ClientDraft>;
  readonly onSaved: (now: OneClient) => void;
  readonly onClose: () => void;
}

export function ClientReview({ models, began, draft, onSaved, onClose }: ReviewProps) {
  const { client } = began.value;
  const { name } = client;
  const mine = draft.value;
  const base = draftOf(client);
  const begin = (now: OneClient, next: ClientDraft) => {
    began.value = now;
    draft.value = next;
  };
  return (
    <ReviewDialog
      area="connect"
      name={name}
      rows={diffRows(base, mine)}
      onSave={async () => {
        const now = await changeClient(models, name, { ...toClientRequest(mine), version: client.version });
        models.toasts.say(t("connect.client_changed", { name }), { tone: "ok" });
        begin(now, draftOf(now.client));
        onSaved(now);
      }}
      onRebase={async () => {
        const current = await fetchClient(models, name);
        const theirs = draftOf(current.client);
        begin(current, mergeDrafts({ base, mine, theirs }));
        return { fields: changedSettings(base, theirs).map(settingLabel) };
      }}
      onClose={onClose}
    >
      <Blast one={began.value} />
    </ReviewDialog>
  );
}

function diffRows(base: ClientDraft, mine: ClientDraft): DiffRow[] {
  const rows = changedSettings(base, mine).map((name) => ({
    name: settingLabel(name),
    now: settingText(base, name),
    after: settingText(mine, name),
  }));
  if (!isNewSecret(mine)) return rows;
  const name = settingLabel("firstFactorServer.secret");
  return [...rows, { name, now: null, after: t("connect.another_secret") }];
}

function isNewSecret(draft: ClientDraft): boolean {
  return draft["firstFactorServer.secret"] !== "" && draft.firstFactor === "radius";
}
