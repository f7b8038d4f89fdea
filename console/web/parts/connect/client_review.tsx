// Old and new values before a client's rules are saved, and the merge after a conflict.

import type { Signal } from "@preact/signals";
import type { OneClient } from "../../../api/connect/client_shapes.ts";
import {
  changedFields,
  type ClientDraft,
  type ClientField,
  draftOf,
  formOf,
  mergeDrafts,
} from "../../models/client_form.ts";
import { changeClient, fetchClient } from "../../models/connect_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import type { MessageKey } from "../../i18n/catalogue.ts";
import type { DiffRow } from "../diff_table.tsx";
import { ReviewDialog } from "../review_dialog.tsx";
import { Blast } from "./client_dialogs.tsx";

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
        const now = await changeClient(models, name, { ...formOf(mine), version: client.version });
        models.toasts.say(t("connect.client_changed", { name }), { tone: "ok" });
        begin(now, draftOf(now.client));
        onSaved(now);
      }}
      onRebase={async () => {
        const current = await fetchClient(models, name);
        const theirs = draftOf(current.client);
        begin(current, mergeDrafts({ base, mine, theirs }));
        return { fields: changedFields(base, theirs).map(labelOf) };
      }}
      onClose={onClose}
    >
      <Blast one={began.value} />
    </ReviewDialog>
  );
}

/** The words of fields that have others than their own name. */
const LABELS: Partial<Record<ClientField, MessageKey>> = {
  addressText: "connect.addresses",
  nasIdentifier: "connect.nas_identifier",
  firstFactorBackend: "connect.factor_backend",
  serverText: "connect.server",
  serverTimeoutMs: "connect.server_timeout",
  appendMode: "connect.append_short",
  disabled: "connect.disabled",
};

/** Fields whose value is shown as it was typed. */
const TYPED: ReadonlySet<ClientField> = new Set(["nasIdentifier", "serverText", "domainsText", "realmsText"]);

function labelOf(field: ClientField): string {
  return t(LABELS[field] ?? `connect.${field}` as MessageKey);
}

function textOf(draft: ClientDraft, field: ClientField): string | null {
  const value = draft[field];
  if (field === "addressText") return formOf(draft).address.join(", ");
  if (field === "serverTimeoutMs") {
    return draft.firstFactor === "radius"
      ? t("connect.seconds", { count: draft.serverTimeoutMs / 1000 })
      : null;
  }
  const isOfServer = field === "serverText" || field === "serverSignature";
  if (isOfServer && draft.firstFactor !== "radius") return null;
  if (field === "firstFactorBackend") return formOf(draft).firstFactorBackend || null;
  if (typeof value === "boolean") return t(value ? "connect.yes" : "connect.no");
  if (field === "appendSeparator") return draft.appendMode ? String(value) || null : null;
  if (TYPED.has(field)) return String(value) || null;
  return t(`connect.${field}_${value}` as MessageKey);
}

function diffRows(base: ClientDraft, mine: ClientDraft): DiffRow[] {
  const rows = changedFields(base, mine).map((field) => ({
    name: labelOf(field),
    now: textOf(base, field),
    after: textOf(mine, field),
  }));
  if (mine.serverSecret === "" || mine.firstFactor !== "radius") return rows;
  return [...rows, { name: t("connect.server_secret"), now: null, after: t("connect.another_secret") }];
}
