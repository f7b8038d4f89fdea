// Old and new before a client's rules are saved; when somebody else was faster, what they changed and what mine does on top.

import { useSignal } from "@preact/signals";
import type { OneClient } from "../../../api/connect/client_shapes.ts";
import { ApiFailure, failureText } from "../../api_client.ts";
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
import { t } from "../../words/translate.ts";
import type { WordKey } from "../../words/words.ts";
import { type DiffRow, DiffTable } from "../diff_table.tsx";
import { Dialog } from "../dialog.tsx";
import { Note } from "../note.tsx";
import { Blast } from "./client_dialogs.tsx";

interface ReviewProps {
  readonly models: Models;
  /** The client as it was when the form was opened. */
  readonly began: OneClient;
  readonly mine: ClientDraft;
  readonly onRebase: (theirs: OneClient, merged: ClientDraft) => void;
  /** `null`: closed without saving. */
  readonly onSaved: (now: OneClient | null) => void;
}

export function ClientReview({ models, began, mine, onRebase, onSaved }: ReviewProps) {
  const { client } = began;
  const { name } = client;
  const busy = useSignal(false);
  const problem = useSignal<string | null>(null);
  /** What somebody else made of it since the form was opened. */
  const theirs = useSignal<readonly string[] | null>(null);
  const isRaced = theirs.value !== null;
  const base = draftOf(client);
  const rows = diffRows(base, mine);
  const rebase = async () => {
    const current = await fetchClient(models, name);
    const other = draftOf(current.client);
    theirs.value = changedFields(base, other).map(labelOf);
    onRebase(current, mergeDrafts({ base, mine, theirs: other }));
  };
  const save = async () => {
    busy.value = true;
    problem.value = null;
    try {
      const now = await changeClient(models, name, { ...formOf(mine), version: client.version });
      models.toasts.say(t("connect.client_changed", { name }), { tone: "ok" });
      onSaved(now);
    } catch (fault) {
      const isStale = fault instanceof ApiFailure && fault.code === "changed_meanwhile";
      if (!isStale) problem.value = failureText(fault);
      else await rebase().catch((other: unknown) => problem.value = failureText(other));
    }
    busy.value = false;
  };
  return (
    <Dialog
      title={t(isRaced ? "connect.raced_title" : "connect.review_title", { name })}
      onClose={() => onSaved(null)}
      wide
      footer={
        <>
          <button type="button" class="button" onClick={() => onSaved(null)}>
            {t("connect.keep_editing")}
          </button>
          <button
            type="button"
            class="button button-primary"
            disabled={busy.value || rows.length === 0}
            title={rows.length === 0 ? t("connect.nothing_changed") : undefined}
            onClick={() => void save()}
          >
            {busy.value ? t("frame.working") : t(isRaced ? "connect.save_over" : "frame.save")}
          </button>
        </>
      }
    >
      {theirs.value !== null && (
        <Note tone="wait" role="alert">
          <strong>{t("connect.raced")}</strong>{" "}
          {theirs.value.length > 0 && t("connect.raced_fields", { fields: theirs.value.join(", ") })}{" "}
          {t("connect.raced_next")}
        </Note>
      )}
      {problem.value !== null && (
        <Note tone="bad" role="alert">
          <strong>{t("connect.not_saved")}</strong> {problem.value}
        </Note>
      )}
      {rows.length === 0
        ? <p>{t("connect.nothing_changed")}</p>
        : <DiffTable label={t("connect.changes_of", { name })} rows={rows} />}
      <Blast one={began} />
    </Dialog>
  );
}

/** The words of fields that have others than their own name. */
const LABELS: Partial<Record<ClientField, WordKey>> = {
  addressText: "connect.addresses",
  nasIdentifier: "connect.nas_identifier",
  firstFactorBackend: "connect.factor_backend",
  serverText: "connect.server",
  serverTimeoutMs: "connect.server_timeout",
  appendMode: "connect.append_short",
  disabled: "connect.disabled",
};

function labelOf(field: ClientField): string {
  return t(LABELS[field] ?? `connect.${field}` as WordKey);
}

function textOf(draft: ClientDraft, field: ClientField): string | null {
  const value = draft[field];
  if (field === "addressText") return formOf(draft).address.join(", ");
  if (field === "serverTimeoutMs") {
    return draft.firstFactor === "radius"
      ? t("connect.seconds", { count: draft.serverTimeoutMs / 1000 })
      : null;
  }
  if (field === "serverText" && draft.firstFactor !== "radius") return null;
  if (field === "firstFactorBackend") return formOf(draft).firstFactorBackend || null;
  if (typeof value === "boolean") return t(value ? "connect.yes" : "connect.no");
  if (field === "nasIdentifier" || field === "serverText") return String(value) || null;
  return t(`connect.${field}_${value}` as WordKey);
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
