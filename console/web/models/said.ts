// What a change did, as the page says it: the sentence, how good it is, and what each backend said.

import type { Receipt } from "../../../scim/ports.ts";
import { ApiFailure, failureText } from "../api_client.ts";

export interface Said {
  readonly text: string;
  readonly tone: "ok" | "wait" | "bad";
  readonly receipt: Receipt | null;
}

/** Of a change that was made; not all is well while a backend has not done it, or has left members of a group out. */
export function saidOf(text: string, receipt: Receipt | null = null): Said {
  const isWhole = receipt === null ||
    receipt.entries.every(({ outcome, notStored }) => outcome === "done" && notStored === undefined);
  return { text, tone: isWhole ? "ok" : "wait", receipt };
}

/** Whether a backend refused a change that others made. */
export function hasFailure(receipt: Receipt): boolean {
  return receipt.entries.some(({ outcome }) => outcome !== "done" && outcome !== "queued");
}

/** Of a change that was not made. */
export function unsaidOf(title: string, fault: unknown): Said {
  const receipt = fault instanceof ApiFailure ? fault.receipt : null;
  return { text: `${title} ${failureText(fault)}`, tone: "bad", receipt };
}
