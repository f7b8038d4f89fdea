// What a change did, with what each backend said; or why it was not made.

import type { Signal } from "@preact/signals";
import type { Receipt } from "../../../../scim/ports.ts";
import type { Models } from "../../models/models.ts";
import { type Said, saidOf } from "../../models/said.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { Note } from "../note.tsx";
import { ReceiptChips, receiptMessage, receiptSentence } from "../receipt_chips.tsx";

export function SaidNote({ said, onRetry }: {
  said: Signal<Said | null>;
  onRetry: (backend: string) => Promise<unknown>;
}) {
  const now = said.value;
  if (now === null) return null;
  const entries = now.receipt?.entries ?? [];
  return (
    <Note
      tone={now.tone}
      icon={now.tone === "ok" ? "check" : "alert"}
      role={now.tone === "bad" ? "alert" : "status"}
    >
      <strong>{now.text}</strong> {now.tone !== "bad" && entries.length > 0 && receiptSentence(entries)}
      {entries.length > 0 && <ReceiptChips entries={entries} onRetry={(backend) => void onRetry(backend)} />}
      <Button kind="plain" small onClick={() => said.value = null}>{t("frame.dismiss")}</Button>
    </Note>
  );
}

/** Says in passing what a change did, and where. */
export function sayReceipt(
  { toasts }: Pick<Models, "toasts">,
  text: string,
  receipt: Receipt,
  verb: "saved" | "removed" = "saved",
): void {
  toasts.say(`${text} ${receiptMessage(receipt.entries, verb)}`, { tone: saidOf(text, receipt).tone });
}
