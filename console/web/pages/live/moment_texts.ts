// The texts of the timeline of a sign-in.

import {
  messageOrName,
  momentLabel,
  type StateLabel,
  type StateStyle,
} from "../../app/login_state_labels.ts";

/** The place of a decision of the phone or of an administrator (radius/conversation/conversation.ts). */
const DECISION_PLACE = "decided";

/** The label of an entry of the timeline, and what happened there if the label does not say it. */
export interface MomentText extends StateLabel {
  readonly why: string | null;
}

/** The entries of a timeline. A step that an entry repeats is named once. @param phone the phone that was asked */
export function momentTexts(
  moments: readonly { readonly step: string; readonly row: string }[],
  { phone }: { readonly phone?: string | undefined } = {},
): MomentText[] {
  let before = "";
  return moments.map(({ step, row }) => {
    const why = messageOrName(`explain.row_${row}`, row);
    const words = momentLabel(step);
    if (step === DECISION_PLACE) {
      before = "";
      const label = phone !== undefined && ON_PHONE.has(row) ? `${why} · ${phone}` : why;
      return { ...row === "decided_approved" ? DECIDED.yes : DECIDED.no, label, why: null };
    }
    const isRepeated = words.label === before;
    before = words.label;
    if (isRepeated || why === words.label) return { ...words, label: why, why: null };
    return { ...words, why };
  });
}

const DECIDED = {
  yes: { tone: "ok", shape: "phone" },
  no: { tone: "bad", shape: "phone" },
} as const satisfies Record<string, StateStyle>;
/** Decisions that were made on the phone. */
const ON_PHONE: ReadonlySet<string> = new Set(["decided_approved", "decided_phone", "decided_wrong_number"]);
