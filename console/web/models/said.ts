// What a change did, as the page says it: the sentence, how good it is, and what each backend said.

import type { Receipt, ReceiptEntry } from "../../../scim/ports.ts";
import { ApiFailure, failureText } from "../api_client.ts";
import { t } from "../words/translate.ts";
import type { Models } from "./models.ts";

export interface Said {
  readonly text: string;
  readonly tone: "ok" | "wait" | "bad";
  readonly receipt: Receipt | null;
}

/** Of a change that was made; not all is well while a backend has not done it. */
export function saidOf(text: string, receipt: Receipt | null = null): Said {
  const isWhole = receipt === null || receipt.entries.every(({ outcome }) => outcome === "done");
  return { text, tone: isWhole ? "ok" : "wait", receipt };
}

/** Of a change that was not made. */
export function unsaidOf(title: string, fault: unknown): Said {
  const receipt = fault instanceof ApiFailure ? fault.receipt : null;
  return { text: `${title} ${failureText(fault)}`, tone: "bad", receipt };
}

/** "Saved to 2 of 3 backends", or that it is saved everywhere. */
export function receiptSentence(entries: readonly Pick<ReceiptEntry, "outcome">[]): string {
  const done = entries.filter(({ outcome }) => outcome === "done").length;
  return done === entries.length
    ? t("frame.saved_all", { count: done })
    : t("frame.saved_some", { done, count: entries.length });
}

/** Says in passing what a change did, and where. */
export function sayReceipt({ toasts }: Pick<Models, "toasts">, text: string, receipt: Receipt): void {
  toasts.say(`${text} ${receiptSentence(receipt.entries)}`, { tone: saidOf(text, receipt).tone });
}
